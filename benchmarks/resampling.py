"""A million ratings, two thousand crossed resamples: peak memory, and how much faster weights are than copies.

    python benchmarks/resampling.py [--ratings 1000000] [--resamples 2000]

The baseline draws raters and units as ours does, but copies the rows of every resample, as resampling a table does; it
is timed on a few resamples in the same run, and the ratio is per resample.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.stats.bootstrap import bootstrap

Floats = npt.NDArray[np.float64]


def _mean(total: Floats) -> Floats:
    mean: Floats = total[..., 1] / total[..., 0]
    return mean


def _copied(table: pd.DataFrame, raters: int, units: int, rng: np.random.Generator) -> float:
    """Return the mean of one resample in which every row is there as often as it was drawn."""
    times = np.bincount(rng.integers(0, raters, raters), minlength=raters)[table["rater"]]
    times = times * np.bincount(rng.integers(0, units, units), minlength=units)[table["unit"]]
    return float(table.loc[np.repeat(table.index.to_numpy(), times), "value"].mean())


def main() -> None:
    """Run both and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ratings", type=int, default=1_000_000)
    parser.add_argument("--resamples", type=int, default=2000)
    options = parser.parse_args()
    rng, n = np.random.default_rng(0), options.ratings
    raters, units = max(n // 500, 2), max(n // 20, 2)
    rater, unit, value = rng.integers(0, raters, n), rng.integers(0, units, n), rng.random(n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    columns = np.column_stack([np.ones(n), value])
    bootstrap(columns, _mean, [rater, unit], level=0.95, seed=0, resamples=options.resamples)
    ours = (time.process_time() - start) / options.resamples
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    table = pd.DataFrame({"rater": rater, "unit": unit, "value": value})
    start = time.process_time()
    for _ in range(5):
        _copied(table, raters, units, rng)
    copied = (time.process_time() - start) / 5
    print(f"{n:,} ratings x {options.resamples:,} resamples: peak memory {grown:,.0f} MB above the table")
    print(f"copying rows takes {copied / ours:.1f} times as long per resample")


if __name__ == "__main__":
    main()
