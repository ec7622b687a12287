"""Coverage of FNMR and FMR by group: four cells of unequal size, clustered genuine and impostor distances.

    python -m benchmarks.coverage_group_errors [--seeds 400] [--first 800000] [--keep parts.csv]

Every world draws four cells (two columns) of 15 to 120 identities with 2 to 12 images (Pareto). Identities differ in
how far their images lie from each other and from those of others. All cells have the same impostor distribution, so
that the threshold at a pooled FMR has one true value. ``differences`` counts a world as covered when *all* its
simultaneous intervals hold.
"""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import norm

import likewise as lw

SIZES = {("a", "x"): 15, ("a", "y"): 30, ("b", "x"): 60, ("b", "y"): 120}
SHIFT = {("a", "x"): 0.30, ("a", "y"): 0.15, ("b", "x"): 0.05, ("b", "y"): 0.0}
"""How far each cell's genuine distances lie above 0.4."""
PERSON, PAIR = 0.15, 0.15
LEAN, OTHERS = 0.05, 0.20
"""Standard deviations: of identities and trials, genuine; of identities and trials, impostor."""
RATE, THRESHOLD = 0.05, 0.7


def world(seed: int) -> tuple[lw.Ratings, lw.Trials, lw.Images]:
    """Draw distances, trials and images."""
    rng = np.random.default_rng(seed)
    people = [(f"{''.join(cell)}{k}", *cell) for cell, size in SIZES.items() for k in range(size)]
    rows = [(f"{who}-{n}", who, *cell) for who, *cell in people for n in range(2 + min(int(2 * rng.pareto(1.5)), 10))]
    images = pd.DataFrame(rows, columns=["image", "identity", "perceived_one", "perceived_two"])
    trials = _trials(images, rng)
    known = images.set_index("image")
    who = [trials[end].map(known["identity"]) for end in ("a", "b")]
    hard, lean = (
        dict(zip([p[0] for p in people], rng.normal(0, sd, len(people)), strict=True)) for sd in (PERSON, LEAN)
    )
    cell = list(zip(trials["a"].map(known["perceived_one"]), trials["a"].map(known["perceived_two"]), strict=True))
    genuine = 0.4 + pd.Series(cell).map(SHIFT) + who[0].map(hard) + rng.normal(0, PAIR, len(trials))
    impostor = 1.1 + who[0].map(lean) + who[1].map(lean) + rng.normal(0, OTHERS, len(trials))
    value = np.where(trials["same"], genuine, impostor)
    ratings = pd.DataFrame({"unit": trials["trial"], "rater": "net", "question": "distance", "value": value})
    return lw.Ratings(ratings), lw.Trials(trials), lw.Images(images)


def _trials(images: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return all genuine trials, and impostor trials within each cell and across cells."""
    genuine = [pair for _, part in images.groupby("identity") for pair in combinations(part["image"], 2)]
    owner = dict(zip(images["image"], images["identity"], strict=True))
    pools = [images["image"].to_numpy()] + [
        part["image"].to_numpy() for _, part in images.groupby(["perceived_one", "perceived_two"])
    ]
    drawn = [tuple(rng.choice(pool, 2, replace=False)) for pool in pools for _ in range(1200)]
    impostors = [pair for pair in drawn if owner[pair[0]] != owner[pair[1]]]
    pairs = list(dict.fromkeys(tuple(sorted(pair)) for pair in [*genuine, *impostors]))
    rows = [(f"{a}|{b}", a, b, owner[a] == owner[b]) for a, b in pairs]
    return pd.DataFrame(rows, columns=["trial", "a", "b", "same"])


def truth() -> dict[str, dict[str, float]]:
    """Return FNMR and FMR of each cell, at the threshold and at the pooled FMR."""
    apart = float(np.sqrt(2 * LEAN**2 + OTHERS**2))
    limits = {f"its threshold {THRESHOLD:g}": THRESHOLD, f"FMR {RATE:g}": float(norm.ppf(RATE, 1.1, apart))}
    spread = float(np.hypot(PERSON, PAIR))
    known = {}
    for where, limit in limits.items():
        known[f"net: FNMR at {where}"] = {_name(c): float(norm.sf(limit, 0.4 + s, spread)) for c, s in SHIFT.items()}
        known[f"net: FMR within the group at {where}"] = {_name(c): float(norm.cdf(limit, 1.1, apart)) for c in SHIFT}
    return known


def _name(cell: tuple[str, str]) -> str:
    return ", ".join(cell)


def held(seed: int) -> list[tuple[str, str, bool]]:
    """Return for each kind of interval whether it holds the truth in one world."""
    ratings, trials, images = world(seed)
    columns = ["perceived_one", "perceived_two"]
    found = lw.by_group(ratings, trials, images, columns, rates=[RATE], thresholds={"net": THRESHOLD}, reference="b, y")
    rows = []
    for quantity, cells in truth().items():
        part = found.where(quantity=quantity)
        rows += [(quantity, cell, _holds(part, "group_rate", cell, value)) for cell, value in cells.items()]
        others = [(cell, value - cells["b, y"]) for cell, value in cells.items() if cell != "b, y"]
        apart = [_holds(part, "group_difference", f"{cell} - b, y", value) for cell, value in others]
        largest = max(cells.values()) - min(cells.values())
        rows += [(quantity, "differences to b, y, all", all(apart))]
        rows += [(quantity, "max - min", _holds(part, "max_difference", "all groups", largest))]
    return rows


def _holds(found: lw.Estimates, stat: str, group: str, value: float) -> bool:
    row = found.where(stat=stat, group=group).frame.iloc[0]
    return bool(row["low"] - 1e-12 <= value <= row["high"] + 1e-12)


def coverage(seeds: int, first: int) -> pd.DataFrame:
    """Return how often each interval holds the truth."""
    rows = [row for seed in range(first, first + seeds) for row in held(seed)]
    frame = pd.DataFrame(rows, columns=["quantity", "interval", "held"])
    return frame.groupby(["quantity", "interval"], sort=False)["held"].agg(["size", "sum"]).reset_index()


def main() -> None:
    """Print the coverage in parts of 50 seeds; finished parts are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--first", type=int, default=800_000)
    parser.add_argument("--keep", type=Path, help="CSV to which each finished part is appended.")
    given = parser.parse_args()
    parts: list[pd.DataFrame] = []
    for first in range(given.first, given.first + given.seeds, 50):
        parts.append(coverage(min(50, given.first + given.seeds - first), first))
        if given.keep:
            parts[-1].to_csv(given.keep, mode="a", index=False, header=not given.keep.exists())
        sums = pd.concat(parts).groupby(["quantity", "interval"], sort=False)[["size", "sum"]].sum()
        print((100 * sums["sum"] / sums["size"]).round(1).to_string(), f"\n{sums['size'].iloc[0]} seeds", flush=True)


if __name__ == "__main__":
    main()
