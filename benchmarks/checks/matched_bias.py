"""How far the plain matched gap is biased by what matching leaves, and whether its interval and its remark say so.

    python -m benchmarks.checks.matched_bias             the bias; coverage of the interval before it is moved out
                                                         around the truth and around truth + bias
    python -m benchmarks.checks.matched_bias --remarks   coverage with and without the remark of the row

Identities with 1 to 28 images, 30 % focal; one covariate, which also varies within a person.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.coverage_hard import _SHAPES, arrays_of, nearest_pairs, sizes
from likewise.analysis.gaps.rows import Gap

EFFECT = 0.05
CELLS = (("linear", 50, 1000), ("linear", 200, 1000), ("exponential", 200, 1000),
         ("linear", 1000, 400), ("hinge", 1000, 400), ("exponential", 1000, 400))  # fmt: skip
REMARKED = (("linear", 200, 600), ("exponential", 200, 600), ("linear", 1000, 150), ("exponential", 1000, 150))


def drawn(shape: str, identities: int, seed: int) -> tuple[Gap, float]:
    """Return the matched gap of one world, and its bias: the difference of the true curve between matched units."""
    rng = np.random.default_rng(seed)
    identity = np.repeat(np.arange(identities), sizes(rng, identities))
    focal = (rng.random(identities) < 0.3).astype(float)[identity]
    x = rng.normal(0.6 * focal, 1) + rng.normal(0, 0.3, identities)[identity]
    curve = _SHAPES[shape](x)
    y = EFFECT * focal + curve + rng.normal(0, 0.05, identities)[identity] + 0.07 * rng.normal(size=len(x))
    pairs = nearest_pairs(x, focal, identity)
    found = Gap(arrays_of(y, focal, x[:, None], identity, pairs), "matched", 0.95)
    return found, float(curve[pairs[0]].mean() - curve[pairs[1]].mean())


def bias(shape: str, identities: int, seeds: int) -> None:
    """Print the bias, how often the interval before it is moved out holds, and how much wider the moved one is."""
    rows = []
    for seed in range(700_000, 700_000 + seeds):
        found, left = drawn(shape, identities, seed)
        gap, moved = found.plain[0], found.gap()[0]
        half = (gap.high - gap.low) / 2
        centered = abs(gap.estimate - EFFECT - left) <= half
        rows.append((left, gap.low <= EFFECT <= gap.high, centered, (moved.high - moved.low) / 2 / half))
    left_over, held, around, wider = np.array(rows, dtype=float).mean(axis=0)
    print(
        f"{shape} {identities}: bias {left_over:.4f}, held {held:.1%}, around truth + bias {around:.1%}; "
        f"moved out {wider:.2f} times as wide", flush=True
    )  # fmt: skip


def remarks(shape: str, identities: int, seeds: int) -> None:
    """Print how often the row has a remark on imbalance, and how often the interval holds with and without it."""
    rows = []
    for seed in range(800_000, 800_000 + seeds):
        found, _ = drawn(shape, identities, seed)
        gap, method = found.gap()
        remarked = "left" in str(found.row("gap", "f - m", gap, method)["method"])
        rows.append((remarked, gap.low <= EFFECT <= gap.high))
    with_it, held = np.array(rows, dtype=bool).T
    print(f"{shape} {identities}: remark in {with_it.mean():.1%}; held without it {held[~with_it].mean():.1%}, "
          f"with it {held[with_it].mean():.1%}", flush=True)  # fmt: skip


def main() -> None:
    """Print all cells."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--remarks", action="store_true")
    parser.add_argument("--share", type=float, default=1.0, help="share of the seeds")
    given = parser.parse_args()
    for shape, identities, seeds in REMARKED if given.remarks else CELLS:
        (remarks if given.remarks else bias)(shape, identities, max(int(seeds * given.share), 2))


if __name__ == "__main__":
    main()
