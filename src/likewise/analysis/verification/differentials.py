"""Differentials: one number for how far the error rates of several groups lie apart.

- ``max_min``: the largest over the smallest rate.
- ``max_geometric_mean``: the largest over the geometric mean of all.
- ``gini``: the Gini coefficient with the small-sample factor n / (n - 1), as in GARBE.

All three are pushed up by chance: groups with one true rate still show a largest. So a percentile interval would
miss the truth. The two ratios are maxima of log rates, and a maximum moves by no more than the value that moves most;
the interval is the estimate +- the level's quantile of that largest move, and holds also when groups are alike. The
Gini coefficient is taken on Fisher's scale, on which that of two groups is half the difference of their log rates, and
that of several groups about the mean of these; it moves by no more than that mean of the moves, or (where rates are far
apart) as far as it is seen to. Moves are drawn from a normal distribution with the covariance of the log rates (by the
delta method), scaled to Student's t.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from likewise.stats.intervals import FEW, Interval

Floats = npt.NDArray[np.float64]
_DRAWS = 4000


def gini(rates: Floats) -> Floats:
    """Return the Gini coefficient over the last axis; 0 when all rates are 0."""
    n = rates.shape[-1]
    apart = np.abs(rates[..., :, None] - rates[..., None, :]).sum(axis=(-1, -2))
    total = rates.sum(axis=-1)
    found: Floats = np.where(total > 0, apart / np.maximum(2 * (n - 1) * total, 1e-300), 0.0)
    return found


def differentials(
    rates: Floats, covariance: Floats, trials: Floats, *, clusters: int, level: float
) -> list[tuple[str, Interval, str]]:
    """Return (stat, interval, remark) for rates ``[k]`` with their covariance ``[k, k]`` on so many trials ``[k]``.

    With fewer than five errors in some group half an error is added to each, so that the ratios exist; their
    intervals then do not, nor does Gini's, because a smallest rate that may be zero bounds no ratio.
    """
    rare = bool((rates * trials).min() < FEW)
    steady = (rates * trials + 0.5) / (trials + 1) if rare else rates
    logs, moved = np.log(steady), moves(covariance / np.outer(steady, steady), clusters)  # [k], [B, k]
    widest = np.quantile(moved.max(axis=1) - moved.min(axis=1), level)
    peak = np.quantile(np.abs(moved - moved.mean(axis=1, keepdims=True)).max(axis=1), level)
    remark = "half an error added to each group, too few for an interval" if rare else ""
    found = []
    for stat, apart, reach in (
        ("max_min", logs.max() - logs.min(), widest),
        ("max_geometric_mean", logs.max() - logs.mean(), peak),
    ):
        ends = (np.nan, np.nan) if rare else (np.exp(max(apart - reach, 0.0)), np.exp(apart + reach))
        found.append((stat, Interval(float(np.exp(apart)), float(ends[0]), float(ends[1]), clusters), remark))
    low, high = (np.nan, np.nan) if rare else _gini_ends(rates, moved, level)
    word = "errors too few for an interval" if rare else ""
    return [*found, ("gini", Interval(float(gini(rates)), low, high, clusters), word)]


def moves(covariance: Floats, clusters: int) -> Floats:
    """Draw ``[B, k]`` from a t distribution with this covariance; the draws are always the same."""
    values, vectors = np.linalg.eigh(covariance)
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(_DRAWS, len(values)))
    wide = np.sqrt((clusters - 1) / rng.chisquare(clusters - 1, size=(_DRAWS, 1)))
    drawn: Floats = wide * normal @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return drawn


def _gini_ends(rates: Floats, moved: Floats, level: float) -> tuple[float, float]:
    k, own = len(rates), float(np.arctanh(gini(rates)))
    bound = np.abs(moved[:, :, None] - moved[:, None, :]).sum(axis=(1, 2)) / (2 * k * (k - 1))
    seen = np.abs(np.arctanh(gini(rates * np.exp(moved))) - own)
    reach = float(max(np.quantile(bound, level), np.quantile(seen, level)))
    return float(np.tanh(max(own - reach, 0.0))), float(np.tanh(own + reach))
