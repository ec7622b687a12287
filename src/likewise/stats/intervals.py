"""Intervals of proportions: Wilson's for clustered data, Newcombe's for differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

FEW = 5  # independent clusters with an error, below which a rate is called rare


@dataclass(frozen=True)
class Interval:
    """An estimate with both ends of its interval, and how many independent clusters it rests on."""

    estimate: float
    low: float
    high: float
    clusters: int


def bare(value: float, clusters: int) -> Interval:
    """Return an estimate that has no interval of its own: a p-value, a bound."""
    return Interval(value, float("nan"), float("nan"), clusters)


def wilson(share: float, n: float, *, level: float, dof: float = np.inf) -> tuple[float, float]:
    """Return Wilson's interval for a share among ``n`` (effective) answers.

    The quantile is Student's t with ``dof`` degrees of freedom: a variance estimated from few clusters is uncertain.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(0.1, 100, level=0.95)]
    [0.055, 0.174]
    """
    z = float(stats.t.ppf((1 + level) / 2, dof))
    center = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * (share * (1 - share) / n + z**2 / (4 * n**2)) ** 0.5
    return min(max(center - half, 0.0), share), max(min(center + half, 1.0), share)


def share_interval(
    share: float, variance: float, *, n: float, clusters: float, level: float, dof: float | None = None
) -> tuple[float, float, str]:
    """Return an interval for a share with a clustered variance, and a remark or nothing.

    The variance gives the effective sample size, n_eff = p (1 - p) / V, at most ``n``; Wilson's interval for n_eff
    stays inside 0 and 1. A share of exactly 0 or 1 has no variance: every cluster then counts as one answer and the
    open end is exact (1 - (1 - level)^(1 / clusters), about 3 / clusters at 95 %). The degrees of freedom are
    clusters - 1 unless fewer are given.
    """
    if share in (0.0, 1.0):
        reach = 1 - (1 - level) ** (1 / max(clusters, 1))
        ends = (0.0, reach) if share == 0 else (1 - reach, 1.0)
        return *ends, "none seen: rule of three" if share == 0 else "no exception seen: rule of three"
    effective = float(np.clip(share * (1 - share) / variance if variance > 0 else clusters, 1.0, n))
    word = "rare" if min(share, 1 - share) * min(effective, clusters) < FEW else ""
    known = max(clusters - 1 if dof is None else dof, 1)
    return *wilson(share, effective, level=level, dof=known), word


def newcombe(one: Interval, other: Interval, *, correlation: float = 0.0) -> Interval:
    """Return the interval of a difference from those of its parts (Newcombe 1998; MOVER for correlated parts).

    Unlike a standard error, it keeps its width when no error was seen in either group.

    Examples
    --------
    >>> found = newcombe(Interval(0.0, 0.0, 0.03, 100), Interval(0.0, 0.0, 0.03, 100))
    >>> found.low, found.high
    (-0.03, 0.03)
    """
    gap = one.estimate - other.estimate
    below = _joined(one.estimate - one.low, other.high - other.estimate, correlation)
    above = _joined(one.high - one.estimate, other.estimate - other.low, correlation)
    return Interval(gap, gap - below, gap + above, min(one.clusters, other.clusters))


def _joined(one: float, other: float, correlation: float) -> float:
    return float(np.sqrt(max(one**2 + other**2 - 2 * correlation * one * other, 0.0)))
