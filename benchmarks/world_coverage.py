"""How often a reported interval holds the world's true effect, over many worlds.

Run: python benchmarks/world_coverage.py [WORLDS] [--keep worlds.csv] [--design trials|images] [--gaps | --matched]

Each world is drawn, matched, rated by the recognizer and by people, swept and analyzed like an audit; only the
projection is replaced by reading the factors, which it recovers to rounding. All factors but the attribute itself are
scores, as directions in a latent space would give them; nothing is labeled, and eyeglasses and smiles vary within a
person. ``trials`` (the default) balances all genuine trials within an SMD of 0.1 (cardinality matching) and pairs them;
``images`` matches first images, nearest first, and the second image is random. ``gap, matched`` is unadjusted. Beside
the reported interval stands the naive one that takes every answer for independent.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import likewise as lw
from likewise.counterfactuals.sweep import chosen, sweep_faces
from likewise.counterfactuals.sweep_spec import SweepSpec
from likewise.design.balance.weighting import entropy_weights, overlap_weights
from likewise.rating.rate import rate_images, rate_trials
from likewise.runtime.registry import to_pictures
from likewise.simulation.components import WorldClassifier, WorldCrowd, WorldEditor, WorldRecognizer
from likewise.simulation.scene import draw, see
from likewise.simulation.world import CONTRAST, COVARIATES

SPECS = {
    "trials": lw.MatchSpec(method="cardinality", max_smd=0.1),
    "images": lw.MatchSpec.from_dict({"caliper": {"distance": 4.5}}),
}
SAMPLES = ("matched", "counterfactual", "overlap-weighted", "entropy-balanced")
NAMES = [covariate.column for covariate in COVARIATES]


def audit(
    seed: int, design: str = "trials", identities: int = 400, *, parts: str = "everything"
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Audit one world; return its truth and its estimates: everything, gaps, or matched (no weights, no regression)."""
    world = lw.World(identities=identities, seed=seed)
    faces, factors = world.draw()
    pictures = to_pictures(draw(factors))
    row = pd.Series(range(len(faces)), index=faces.keys)
    of_trials = design == "trials"
    asked = lw.trials(faces, seed=seed, genuine="all" if of_trials else "ring")
    scores = lw.Vectors(faces.keys, 2 * see(pictures)[:, 1:], source="factors but the attribute")
    pairs = lw.match(faces, scores, CONTRAST, SPECS[design], units=asked if of_trials else None)
    recognizer = WorldRecognizer(effect=world.effect)
    distances = rate_trials(asked, recognizer.embed(pictures), faces.keys, recognizer)
    people = WorldCrowd(effect=world.people_effect).answers(asked, lambda keys: pictures[row.loc[keys]], seed)
    common: dict[str, Any] = {"pairs": pairs, "balanced": scores}
    if parts != "matched":
        common |= {"weights": weighted(faces, asked, scores), "covariates": NAMES}
    found = [
        lw.gaps(distances, asked, faces, CONTRAST, **common),
        lw.gaps(people, asked, faces, CONTRAST, **common, panel="people"),
        *([sweep(faces, pictures, row, seed)] if parts == "everything" else []),
        naive("world-recognizer: distance", distances, asked, faces),
        naive("people: same", people, asked, faces),
    ]
    return world.truth(SweepSpec().strengths).frame, lw.Estimates.together(found).frame


def weighted(faces: lw.Images, asked: lw.Trials, scores: lw.Vectors) -> dict[str, pd.Series]:
    """Return the weights that exist: in some worlds no weights of the reference group give the focal means."""
    found = {}
    for name, make in (("overlap-weighted", overlap_weights), ("entropy-balanced", entropy_weights)):
        with suppress(lw.errors.SpecError):
            found[name] = make(faces, CONTRAST, units=asked, vectors=scores)
    return found


def sweep(faces: lw.Images, pictures: np.ndarray, row: pd.Series, seed: int) -> lw.Estimates:
    """Turn the attribute and estimate the slopes of the labels."""
    spec = SweepSpec()
    images = chosen(faces, spec, seed=seed)
    made, editor, tagger = sweep_faces(faces, images, spec), WorldEditor(), WorldClassifier()
    scores = [tagger.score(editor.edit(pictures[row.loc[images]], level)) for level in spec.strengths]
    units = [f"{image}@{level:+g}" for level in spec.strengths for image in images]
    table = np.concatenate([np.stack(list(score.values()), axis=1) for score in scores])
    return lw.slopes(rate_images(units, list(scores[0]), table, tagger), made, threshold=tagger.threshold)


def naive(quantity: str, ratings: lw.Ratings, asked: lw.Trials, faces: lw.Images) -> lw.Estimates:
    """The interval that takes every answer for independent: what not to do."""
    frame = ratings.frame
    side = frame["unit"].map(asked.frame.set_index("trial")["a"]).map(CONTRAST.side(faces))
    groups = [frame.loc[side == sign, "value"] for sign in (1, -1)]
    gap = groups[0].mean() - groups[1].mean()
    half = 1.96 * sum(group.var() / len(group) for group in groups) ** 0.5
    row = {"quantity": quantity, "stat": "gap", "sample": "naive", "group": CONTRAST.label, "estimate": gap}
    rest = {
        "low": gap - half,
        "high": gap + half,
        "level": 0.95,
        "n": len(frame),
        "clusters": len(frame),
        "method": "naive",
    }
    return lw.Estimates.of([{**row, **rest}])


def held(truth: pd.DataFrame, found: pd.DataFrame) -> list[dict[str, object]]:
    """Say of each estimate whether its interval holds the truth that it is about."""
    rows: list[dict[str, object]] = []
    for _, true in truth.iterrows():
        crude = true["sample"] == "truth: all"
        stats = ("gap", "adjusted_gap") if true["stat"] == "gap" else (true["stat"],)
        about = found["sample"].isin(("all", "naive") if crude else SAMPLES) & found["stat"].isin(stats)
        about |= (found["stat"] == "regression_gap") & (true["stat"] == "gap") & (not crude)
        hit = found[(found["quantity"] == true["quantity"]) & about]
        for _, row in hit.iterrows():
            inside = row["low"] - 1e-9 <= true["estimate"] <= row["high"] + 1e-9
            miss, width = row["estimate"] - true["estimate"], row["high"] - row["low"]
            rows.append(
                {
                    "quantity": row["quantity"],
                    "stat": row["stat"],
                    "sample": row["sample"],
                    "inside": inside,
                    "miss": miss,
                    "width": width,
                }
            )
    return rows


def every(worlds: int, keep: Path | None, design: str, part: str) -> pd.DataFrame:
    """Audit the worlds that are not kept yet; each is added to the file when it is done."""
    parts = [pd.read_csv(keep)] if keep and keep.exists() else []
    done = set(parts[0]["world"]) if parts else set()
    for seed in sorted(set(range(worlds)) - done):
        parts.append(pd.DataFrame(held(*audit(seed, design, parts=part))).assign(world=seed))
        if keep:
            parts[-1].to_csv(keep, mode="a", header=not keep.exists(), index=False)
    return pd.concat(parts, ignore_index=True)


def main() -> None:
    """Print the share of worlds in which each interval holds its truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worlds", type=int, nargs="?", default=400)
    parser.add_argument("--keep", type=Path, help="CSV to which every world is added, so that a stopped run goes on")
    parser.add_argument("--design", choices=tuple(SPECS), default="trials")
    less = parser.add_mutually_exclusive_group()
    less.add_argument("--gaps", action="store_const", const="gaps", dest="part", help="without counterfactual edits")
    less.add_argument("--matched", action="store_const", const="matched", dest="part", help="matched gaps only")
    options = parser.parse_args()
    rows = every(options.worlds, options.keep, options.design, options.part or "everything")
    worlds = rows["world"].nunique()
    table = rows.groupby(["quantity", "stat", "sample"])
    shown = table.agg(coverage=("inside", "mean"), bias=("miss", "mean"), width=("width", "mean")).reset_index()
    print(f"{worlds} worlds; a coverage of 95 % has a standard error of {(0.95 * 0.05 / worlds) ** 0.5:.1%}")
    print(shown.to_string(index=False, float_format=lambda value: f"{value:.3f}"))


if __name__ == "__main__":
    main()
