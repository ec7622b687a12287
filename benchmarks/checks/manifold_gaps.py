"""Gaps in precision, recall, density and coverage where there is none: how often their 95 % intervals hold zero.

Run: python -m benchmarks.checks.manifold_gaps [SEEDS] [--people 40] [--width 8]

Real and generated images of both groups are drawn from one distribution with heavy tails, two images an identity, which
are alike. Both groups have as many images, so the true gap of every statistic is zero.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

from likewise.analysis.images.manifold import STATS, manifold_estimates
from likewise.tables import Contrast, Images, Vectors

CONTRAST = Contrast("perceived_gender", "female", "male")


def world(seed: int, people: int, width: int) -> tuple[Vectors, Images]:
    """Draw the features of both groups, real and generated."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"{group}-{source}-{person}-{number}", f"{group}-{source}-{person}", group, source)
        for group in ("female", "male")
        for source in ("real", "drawn")
        for person in range(people)
        for number in range(2)
    ]
    frame = pd.DataFrame(rows, columns=["image", "identity", "perceived_gender", "source"])
    middle = rng.standard_t(4, size=(len(frame) // 2, width)).repeat(2, axis=0)  # two images of each identity
    values = middle + 0.3 * rng.normal(size=middle.shape)
    return Vectors(list(frame["image"]), values.astype(np.float32), source="drawn"), Images(frame)


def held(seeds: int, people: int, width: int) -> dict[str, float]:
    """Return the share of the worlds in which the interval of each gap holds zero."""
    inside = dict.fromkeys(STATS, 0)
    for seed in range(seeds):
        found = manifold_estimates(*world(seed, people, width), CONTRAST, made_by="source", generated="drawn")
        gaps = found.where(stat="gap").frame
        for stat in STATS:
            each = gaps[gaps["quantity"].str.endswith(stat)].iloc[0]
            inside[stat] += bool(each["low"] <= 0 <= each["high"])
    return {stat: count / seeds for stat, count in inside.items()}


def main() -> None:
    """Print the coverage of each statistic's gap."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", type=int, nargs="?", default=200)
    parser.add_argument("--people", type=int, default=40)
    parser.add_argument("--width", type=int, default=8)
    given = parser.parse_args()
    for stat, share in held(given.seeds, given.people, given.width).items():
        print(f"{stat:<10} {share:.1%} of {given.seeds}")


if __name__ == "__main__":
    main()
