"""How often a reported interval holds the world's true effect, over many worlds.

Run: python benchmarks/world_coverage.py [WORLDS] [--keep worlds.csv]   (400 worlds take some minutes)

Each world is drawn, matched, rated by the recogniser and by people, swept and analysed like an audit; only the
projection is replaced by reading the factors, which it recovers to rounding (tests/make/test_project.py). Beside
the reported interval stands the naive one that takes every answer for independent.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import likewise as lw
from likewise.make.counterfactual import chosen, sweep_faces
from likewise.make.rate import rate_images, rate_trials
from likewise.make.sweep_spec import SweepSpec
from likewise.plugins import to_pictures
from likewise.world.model import CONTRAST, COVARIATES
from likewise.world.occupants import WorldClassifier, WorldCrowd, WorldEditor, WorldRecogniser
from likewise.world.scene import draw, see

SPEC = lw.MatchSpec.from_dict({"caliper": {"distance": 4.5}})
NAMES = [covariate.column for covariate in COVARIATES]


def audit(seed: int, identities: int = 400) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Audit one world; return its truth and its estimates."""
    world = lw.World(identities=identities, seed=seed)
    faces, factors = world.draw()
    pictures = to_pictures(draw(factors))
    row = pd.Series(range(len(faces)), index=faces.images)
    pairs = lw.match(faces, lw.Vectors(faces.images, 2 * see(pictures), source="factors"), CONTRAST, SPEC)
    asked, recogniser = lw.trials(faces, seed=seed), WorldRecogniser(effect=world.effect)
    distances = rate_trials(asked, recogniser.embed(pictures), faces.images, recogniser)
    people = WorldCrowd(effect=world.people_effect).answers(asked, lambda keys: pictures[row.loc[keys]], seed)
    parts = [
        lw.gaps(distances, asked, faces, CONTRAST, pairs=pairs, covariates=NAMES),
        lw.gaps(people, asked, faces, CONTRAST, pairs=pairs, covariates=NAMES, panel="people"),
        sweep(faces, pictures, row, seed),
        naive("world-recogniser: distance", distances, asked, faces),
        naive("people: same", people, asked, faces),
    ]
    return world.truth(SweepSpec().levels).frame, lw.Estimates.together(parts).frame


def sweep(faces: lw.Faces, pictures: np.ndarray, row: pd.Series, seed: int) -> lw.Estimates:
    """Turn the attribute and estimate the slopes of the labels."""
    spec = SweepSpec()
    images = chosen(faces, spec, seed=seed)
    made, editor, tagger = sweep_faces(faces, images, spec), WorldEditor(), WorldClassifier()
    scores = [tagger.score(editor.edit(pictures[row.loc[images]], level)) for level in spec.levels]
    units = [f"{image}@{level:+g}" for level in spec.levels for image in images]
    table = np.concatenate([np.stack(list(score.values()), axis=1) for score in scores])
    return lw.slopes(rate_images(units, list(scores[0]), table, tagger), made, threshold=tagger.threshold)


def naive(quantity: str, ratings: lw.Ratings, asked: lw.Pairs, faces: lw.Faces) -> lw.Estimates:
    """The interval that takes every answer for independent: what not to do."""
    frame = ratings.frame
    side = frame["unit"].map(asked.frame.set_index("pair")["a"]).map(CONTRAST.side(faces))
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
        samples = ("all", "naive") if true["sample"] == "truth: all" else ("matched", "counterfactual")
        stats = ("gap", "adjusted_gap") if true["stat"] == "gap" else (true["stat"],)
        hit = found[(found["quantity"] == true["quantity"]) & found["sample"].isin(samples) & found["stat"].isin(stats)]
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


def every(worlds: int, keep: Path | None) -> pd.DataFrame:
    """Audit the worlds that are not kept yet; each is added to the file when it is done."""
    parts = [pd.read_csv(keep)] if keep and keep.exists() else []
    done = set(parts[0]["world"]) if parts else set()
    for seed in sorted(set(range(worlds)) - done):
        parts.append(pd.DataFrame(held(*audit(seed))).assign(world=seed))
        if keep:
            parts[-1].to_csv(keep, mode="a", header=not keep.exists(), index=False)
    return pd.concat(parts, ignore_index=True)


def main() -> None:
    """Print the share of worlds in which each interval holds its truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("worlds", type=int, nargs="?", default=400)
    parser.add_argument("--keep", type=Path, help="CSV to which every world is added, so that a stopped run goes on")
    options = parser.parse_args()
    rows = every(options.worlds, options.keep)
    worlds = rows["world"].nunique()
    table = rows.groupby(["quantity", "stat", "sample"])
    shown = table.agg(coverage=("inside", "mean"), bias=("miss", "mean"), width=("width", "mean")).reset_index()
    print(f"{worlds} worlds; a coverage of 95 % has a standard error of {(0.95 * 0.05 / worlds) ** 0.5:.1%}")
    print(shown.to_string(index=False, float_format=lambda value: f"{value:.3f}"))


if __name__ == "__main__":
    main()
