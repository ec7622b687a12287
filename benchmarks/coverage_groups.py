"""Coverage of by_group: six cells of unequal size, identities with unequal numbers of images, rare events.

    python -m benchmarks.coverage_groups [--only "means, equal"] [--seeds 400] [--first 300000] [--keep parts.csv]

Every world draws six cells (two columns) with 12 to 150 identities; identities have 1 to 20 images (Pareto) and differ
in how likely they fail (beta) or in their mean (normal). The truth of a cell is the mean over its identities'
population. ``differences`` counts a world as covered when *all* its simultaneous intervals hold.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import likewise as lw

SIZES = {("a", "x"): 12, ("a", "y"): 25, ("b", "x"): 40, ("b", "y"): 60, ("c", "x"): 90, ("c", "y"): 150}
WORLDS: dict[str, tuple[float, ...]] = {
    "shares, equal": (0.3, 0.3, 0.3, 0.3, 0.3, 0.3),
    "shares, unequal": (0.5, 0.2, 0.35, 0.3, 0.25, 0.3),
    "shares, rare": (0.02, 0.05, 0.02, 0.04, 0.03, 0.02),
    "means, equal": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    "means, unequal": (1.0, 0.3, 0.0, 0.4, 0.2, 0.1),
}
"""The true value of each cell."""


def world(name: str, seed: int) -> tuple[lw.Ratings, lw.Images]:
    """Draw ratings of images, and the images."""
    rng, rows = np.random.default_rng(seed), []
    for (cell, size), truth in zip(SIZES.items(), WORLDS[name], strict=True):
        for person in range(size):
            images = min(1 + int(2 * rng.pareto(1.5)), 20)
            values = _person(name, truth, images, rng)
            who = f"{''.join(cell)}{person}"
            rows += [(f"{who}-{k}", who, *cell, value) for k, value in enumerate(values)]
    frame = pd.DataFrame(rows, columns=["image", "identity", "perceived_one", "perceived_two", "value"])
    ratings = pd.DataFrame({"unit": frame["image"], "rater": "net", "question": "label", "value": frame["value"]})
    return lw.Ratings(ratings), lw.Images(frame.drop(columns="value"))


def _person(name: str, truth: float, images: int, rng: np.random.Generator) -> np.ndarray:
    if name.startswith("means"):
        return rng.normal(truth + rng.normal(0, 0.7), 1.0, images)
    spread = 3.0  # a + b of the beta distribution: intraclass correlation 1 / 4
    return (rng.random(images) < rng.beta(truth * spread, (1 - truth) * spread)).astype(float)


def held(name: str, seed: int) -> list[tuple[str, str, bool]]:
    """Return for each kind of interval whether it holds the truth in one world."""
    ratings, images = world(name, seed)
    cells, truth = (
        [", ".join(cell) for cell in SIZES],
        dict(zip([", ".join(c) for c in SIZES], WORLDS[name], strict=True)),
    )
    share = np.array(list(SIZES.values())) / sum(SIZES.values())
    overall = float(share @ np.array(WORLDS[name]))
    found = lw.by_group(ratings, None, images, ["perceived_one", "perceived_two"])
    paired = lw.by_group(ratings, None, images, ["perceived_one", "perceived_two"], reference="c, y")
    stat = "group_rate" if name.startswith("shares") else "group_mean"
    rows = [(name, f"value, {cell}", _holds(found, stat, cell, truth[cell])) for cell in cells]
    to_overall = [_holds(found, "group_difference", f"{cell} - overall", truth[cell] - overall) for cell in cells]
    others = [_holds(paired, "group_difference", f"{cell} - c, y", truth[cell] - truth["c, y"]) for cell in cells[:-1]]
    rows += [(name, "differences to overall, all", all(to_overall)), (name, "differences to a cell, all", all(others))]
    apart = max(truth.values()) - min(truth.values())
    rows.append((name, "max - min", _holds(found, "max_difference", "all groups", apart)))
    ratio = found.where(stat="max_min").frame
    if len(ratio) and ratio["low"].notna().all():
        largest = max(truth.values()) / min(truth.values())
        rows.append((name, "max / min", _holds(found, "max_min", "all groups", largest)))
    return rows


def _holds(found: lw.Estimates, stat: str, group: str, truth: float) -> bool:
    row = found.where(stat=stat, group=group).frame.iloc[0]
    return bool(row["low"] - 1e-12 <= truth <= row["high"] + 1e-12)


def coverage(name: str, seeds: int, first: int) -> pd.DataFrame:
    """Return how often each kind of interval holds the truth."""
    rows = [row for seed in range(first, first + seeds) for row in held(name, seed)]
    frame = pd.DataFrame(rows, columns=["world", "interval", "held"])
    return frame.groupby(["world", "interval"], sort=False)["held"].agg(["size", "mean"]).reset_index()


def main() -> None:
    """Print the coverage of every world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--first", type=int, default=300_000)
    parser.add_argument("--only", choices=sorted(WORLDS), nargs="*", default=list(WORLDS))
    parser.add_argument("--keep", type=Path, help="CSV to which each finished world is appended.")
    given = parser.parse_args()
    for name in given.only:
        part = coverage(name, given.seeds, given.first)
        print(part.to_string(index=False, header=name == given.only[0]), flush=True)
        if given.keep:
            part.to_csv(given.keep, mode="a", index=False, header=not given.keep.exists())


if __name__ == "__main__":
    main()
