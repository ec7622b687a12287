"""Differentials: one number for how far the error rates of several groups lie apart.

- ``max_min``: the largest over the smallest rate.
- ``max_geometric_mean``: the largest over the geometric mean of all.
- ``gini``: the Gini coefficient with the small-sample factor n / (n - 1), as in GARBE.

All three are pushed up by chance: groups with one true rate still show a largest. So a percentile interval would
miss the truth. The two ratios are maxima of log rates, and a maximum moves by no more than the value that moves most;
the interval is the estimate +- the level's quantile of that largest move, and holds also when groups are alike. The
Gini interval is the reflected one (2 G - percentiles), cut at 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from likewise.analyse.resample import Interval
from likewise.analyse.shares import FEW

Floats = npt.NDArray[np.float64]


def gini(rates: Floats) -> Floats:
    """Return the Gini coefficient over the last axis; 0 when all rates are 0."""
    n = rates.shape[-1]
    apart = np.abs(rates[..., :, None] - rates[..., None, :]).sum(axis=(-1, -2))
    total = rates.sum(axis=-1)
    found: Floats = np.where(total > 0, apart / np.maximum(2 * (n - 1) * total, 1e-300), 0.0)
    return found


def steadied(rates: Floats, trials: Floats) -> tuple[Floats, str]:
    """Add half an error to each group when one has hardly any, so that a ratio exists; say so."""
    if (rates * trials).min() >= FEW:
        return rates, ""
    return (rates * trials + 0.5) / (trials + 1), "; half an error added to each group"


def differentials(
    rates: Floats, resampled: Floats, trials: Floats, *, clusters: int, level: float
) -> list[tuple[str, Interval, str]]:
    """Return (stat, interval, remark) for rates ``[k]`` and their resamples ``[B, k]`` on so many trials ``[k]``."""
    plain, remark = steadied(rates, trials)
    logs = np.log(plain)
    again = (resampled * trials + 0.5) / (trials + 1) if remark else np.maximum(resampled, 0.5 / trials)
    moved = np.log(again) - logs  # [B, k]
    widest = np.quantile(moved.max(axis=1) - moved.min(axis=1), level)
    centred = moved - moved.mean(axis=1, keepdims=True)
    peak = np.quantile(np.abs(centred).max(axis=1), level)
    found = [
        ("max_min", _at_least_one(logs.max() - logs.min(), widest, clusters), remark),
        ("max_geometric_mean", _at_least_one(logs.max() - logs.mean(), peak, clusters), remark),
    ]
    own = float(gini(rates))
    low, high = np.quantile(2 * own - gini(resampled), [(1 - level) / 2, (1 + level) / 2])
    ends = (min(max(float(low), 0.0), own), max(min(float(high), 1.0), own))
    return [*found, ("gini", Interval(own, *ends, clusters), "")]


def _at_least_one(apart: float, reach: float, clusters: int) -> Interval:
    ends = np.exp([apart, max(apart - reach, 0.0), apart + reach])
    return Interval(float(ends[0]), float(ends[1]), float(ends[2]), clusters)
