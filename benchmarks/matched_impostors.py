"""How often the interval of the matched gap in false match rates holds the truth, over many simulated recognizers.

Run: python -m benchmarks.matched_impostors [WORLDS] [--identities 120] [--keep impostors.csv]

Photographs of one group are darker, and in the dark two people are more often mistaken for one. Impostor trials within
the groups are balanced in the light (mean and difference of the two images) and rated; the truth is the gap that the
attribute alone makes among the matched trials. Every world is drawn twice: without an effect and with one. Identities
are in many trials. Printed: coverage, bias and width by operating point, matched and unmatched.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

import likewise as lw
from likewise.simulation.impostor_ratings import ConfoundedImpostors
from likewise.simulation.system_ratings import CONTRAST

SPEC = lw.MatchSpec(method="cardinality", max_smd=0.1, antiexact=())
RATE, THRESHOLD = 0.05, 0.62


def world_rows(seed: int, effect: float, identities: int) -> pd.DataFrame:
    """Match and rate one world; return its gaps with their truth."""
    world = ConfoundedImpostors(identities=identities, seed=seed, effect=effect)
    trials = lw.trials(world.images, seed=seed, impostors=10, contrast=CONTRAST, groups="any")
    pairs = lw.match(world.images, world.vectors, CONTRAST, SPEC, units=trials.impostors())
    found = lw.error_rates(
        world.ratings(trials), trials, world.images, CONTRAST,
        impostor_pairs=pairs, rates=[RATE], thresholds={"simulated": THRESHOLD},
    ).frame  # fmt: skip
    limits = found[found["stat"].eq("threshold")].set_index("quantity")["estimate"]
    rows = found[found["stat"].eq("fmr_gap")].assign(seed=seed, effect=effect, pairs=len(pairs))
    truth = [world.true_gap(trials, pairs, limits[quantity]) for quantity in rows["quantity"]]
    return rows.assign(truth=truth)[
        ["seed", "effect", "quantity", "sample", "estimate", "low", "high", "truth", "pairs"]
    ]


def main() -> None:
    """Run the worlds that are missing in the file of results, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", type=int, nargs="?", default=200)
    parser.add_argument("--identities", type=int, default=120)
    parser.add_argument("--keep", type=Path, default=Path("matched_impostors.csv"))
    given = parser.parse_args()
    done = set(pd.read_csv(given.keep)["seed"]) if given.keep.exists() else set()
    for seed in sorted(set(range(given.worlds)) - done):
        rows = pd.concat([world_rows(seed, effect, given.identities) for effect in (0.0, -0.03)])
        rows.to_csv(given.keep, mode="a", header=not given.keep.exists(), index=False)
    rows = pd.read_csv(given.keep)
    rows = rows.assign(
        inside=rows["low"].le(rows["truth"]) & rows["truth"].le(rows["high"]),
        bias=rows["estimate"] - rows["truth"], width=rows["high"] - rows["low"],
    )  # fmt: skip
    table = rows.groupby(["quantity", "effect", "sample"])[["inside", "bias", "width", "truth", "pairs"]].mean()
    print(f"{rows['seed'].nunique()} worlds of {given.identities} identities\n{table.round(4).to_string()}")


if __name__ == "__main__":
    main()
