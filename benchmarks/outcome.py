"""One interval and what it should hold: what every experiment of the coverage benchmark yields."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd


class Outcome(NamedTuple):
    """One interval and what it should hold."""

    name: str
    truth: float
    low: float
    high: float
    naive: tuple[float, float] | None


def ends(found: pd.DataFrame, **where: str) -> tuple[float, float, float, int]:
    """Return the first row with these values: estimate, low, high and n."""
    hit = np.logical_and.reduce(
        [np.ones(len(found), dtype=bool)] + [found[name].to_numpy() == value for name, value in where.items()]
    )
    row = found.iloc[int(np.flatnonzero(hit)[0])]
    return float(row["estimate"]), float(row["low"]), float(row["high"]), int(row["n"])


def normal(mean: float, variance: float) -> tuple[float, float]:
    """Return the interval that takes rows for independent."""
    half = 1.96 * variance**0.5
    return mean - half, mean + half
