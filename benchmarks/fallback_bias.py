"""What is left of the bias where no sample is balanced, and the closest pairs are taken instead.

Run: python -m benchmarks.fallback_bias [WORLDS] [--identities 120] [--keep fallback.csv]

Simulated worlds in which no balanced sample exists, because the vectors hold the attribute itself: as one number among
the nine other factors, which separates the groups by 4 (or 2) times their own spread. The design is the one of an audit
then: the closest trials, at most half of the smaller group. Beside it stand the same trials matched without the
attribute's own number (what own_step in [units] does), and the unmatched gap. Printed: the share of the unmatched bias
that is left, and how often the interval holds the truth.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import likewise as lw
from likewise.audit.matching import closest_pairs
from likewise.rating.rate import rate_trials
from likewise.runtime.registry import to_pictures
from likewise.simulation.components import WorldRecognizer
from likewise.simulation.scene import draw, see
from likewise.simulation.world import CONTRAST

SPEC = lw.MatchSpec(method="cardinality", max_smd=0.1)
QUANTITY = "world-recognizer: distance"


def designs(images: lw.Images, factors: np.ndarray, trials: lw.Trials, seed: int) -> dict[str, lw.Matches]:
    """Match by vectors with and without the attribute's own number; no balanced sample exists with it."""
    noise = np.random.default_rng(seed).normal(0, 1, len(images))
    smaller = images.frame.groupby(CONTRAST.column)["identity"].nunique().min()
    found = {}
    for apart in (4.0, 2.0):
        held = np.column_stack([noise + apart / 2 * np.sign(factors[:, 0]), 2 * factors[:, 1:]])
        vectors = lw.Vectors(images.keys, held, source="factors and the attribute")
        if apart == 4.0 and len(lw.match(images, vectors, CONTRAST, SPEC, units=trials)):
            raise SystemExit(f"A balanced sample exists in world {seed}: separate the groups further")
        found[f"closest pairs, attribute {apart:g} sd apart"] = lw.match(
            images, vectors, CONTRAST, closest_pairs(SPEC, int(smaller)), units=trials
        )
    own = lw.Vectors(images.keys, 2 * factors[:, 1:], source="factors")
    found["closest pairs, without the attribute"] = lw.match(
        images, own, CONTRAST, closest_pairs(SPEC, int(smaller)), units=trials
    )
    found["balanced, without the attribute"] = lw.match(images, own, CONTRAST, SPEC, units=trials)
    return found


def world_rows(seed: int, identities: int) -> pd.DataFrame:
    """Rate one world and estimate its gap by every design."""
    world = lw.World(identities=identities, seed=seed)
    images, factors = world.draw()
    pictures = to_pictures(draw(factors))
    trials = lw.trials(images, seed=seed, genuine="all")
    recognizer = WorldRecognizer(effect=world.effect)
    ratings = rate_trials(trials, recognizer.embed(pictures), images.keys, recognizer)
    rows = []
    for name, pairs in designs(images, see(pictures), trials, seed).items():
        found = lw.gaps(ratings, trials, images, CONTRAST, pairs=pairs).where(stat="gap").frame
        for sample, label in (("all", "unmatched"), ("matched", name)):
            line = found[found["sample"].eq(sample)].iloc[0]
            rows.append({"design": label, "estimate": line["estimate"], "low": line["low"], "high": line["high"],
                         "pairs": len(pairs)})  # fmt: skip
    truth = world.truth().frame
    true = truth[truth["quantity"].eq(QUANTITY) & truth["sample"].eq("truth: matched")]["estimate"].iloc[0]
    return pd.DataFrame(rows).drop_duplicates("design").assign(seed=seed, truth=float(true))


def main() -> None:
    """Run the worlds that are missing in the file of results, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", type=int, nargs="?", default=100)
    parser.add_argument("--identities", type=int, default=120)
    parser.add_argument("--keep", type=Path, default=Path("fallback.csv"))
    given = parser.parse_args()
    done = set(pd.read_csv(given.keep)["seed"]) if given.keep.exists() else set()
    for seed in sorted(set(range(given.worlds)) - done):
        rows = world_rows(seed, given.identities)
        rows.to_csv(given.keep, mode="a", header=not given.keep.exists(), index=False)
    rows = pd.read_csv(given.keep)
    rows = rows.assign(
        bias=rows["estimate"] - rows["truth"], inside=rows["low"].le(rows["truth"]) & rows["truth"].le(rows["high"])
    )
    table = rows.groupby("design", sort=False)[["bias", "inside", "pairs"]].mean()
    table["left"] = table["bias"].abs() / abs(float(table["bias"].loc["unmatched"]))
    print(f"{rows['seed'].nunique()} worlds of {given.identities} identities\n{table.round(4).to_string()}")


if __name__ == "__main__":
    main()
