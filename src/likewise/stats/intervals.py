"""Intervals of proportions: Wilson's for clustered data, Newcombe's for differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special, stats

FEW = 5  # independent clusters with an error, below which a rate is called rare
_EXACT = 10  # (effective) errors, below which the end next to 0 (or 1) is that of the mid-p interval


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
    stays inside 0 and 1. With few errors its lower end is too high: one error in ten clusters excludes a rate of 1 %,
    with which that happens in 10 % of samples. Below ten (effective) errors that end is mid-p's, if that is farther
    out. A share of exactly 0 or 1 has no variance: every cluster then counts as one answer and the open end is mid-p's
    (1 - (1 - level)^(1 / clusters), about 3 / clusters at 95 %). The degrees of freedom are clusters - 1 unless fewer
    are given.

    Examples
    --------
    >>> low, high, remark = share_interval(0.1, 0.009, n=10, clusters=10, level=0.95)
    >>> round(low, 4), round(high, 2), remark
    (0.005, 0.46, 'rare')
    """
    if share in (0.0, 1.0):
        reach = 1 - (1 - level) ** (1 / max(clusters, 1))
        ends = (0.0, reach) if share == 0 else (1 - reach, 1.0)
        return *ends, "none seen: rule of three" if share == 0 else "no exception seen: rule of three"
    effective = float(np.clip(share * (1 - share) / variance if variance > 0 else clusters, 1.0, n))
    word = "rare" if min(share, 1 - share) * min(effective, clusters) < FEW else ""
    known = max(clusters - 1 if dof is None else dof, 1)
    low, high = wilson(share, effective, level=level, dof=known)
    if min(share, 1 - share) * effective < _EXACT:
        below, above = mid_p(share, effective, level=level)
        low, high = (min(low, below), high) if share < 0.5 else (low, max(high, above))
    return low, high, word


def mid_p(share: float, n: float, *, level: float) -> tuple[float, float]:
    """Return the mid-p interval of a share among ``n`` (effective) answers: half of the seen count is in either tail.

    Examples
    --------
    >>> [round(end, 3) for end in mid_p(0.1, 10, level=0.95)]
    [0.005, 0.403]
    """
    tail, seen = (1 - level) / 2, share * n

    def above(p: float) -> float:
        more = special.betainc(seen + 1, n - seen, p) if seen < n else 0.0
        return float(special.betainc(seen, n - seen + 1, p) + more) / 2 if seen > 0 else (1 + float(more)) / 2

    low = optimize.brentq(lambda p: above(p) - tail, 0.0, share) if above(0.0) < tail else 0.0
    high = optimize.brentq(lambda p: above(p) - 1 + tail, share, 1.0) if above(1.0) > 1 - tail else 1.0
    return float(low), float(high)


def shown_shares(rate: float, variance: float, *, n: float, level: float, dof: float = np.inf) -> tuple[float, float]:
    """Return between which shares a sample lies in ``level`` of all cases when its true rate is known.

    These are quantiles of a (clustered) binomial distribution, by Cornish and Fisher's expansion with half a count for
    continuity. Wilson's interval answers the reverse question, and its ends are higher: 9.9 and 26 events where 16 are
    expected, while 9.1 and 24.8 leave 2.5 % at either side.

    Examples
    --------
    >>> low, high = shown_shares(0.01, 0.01 * 0.99 / 1600, n=1600, level=0.95)
    >>> round(1600 * low, 1), round(1600 * high, 1)
    (9.2, 24.8)
    """
    z = float(stats.t.ppf((1 + level) / 2, dof))
    effective = float(np.clip(rate * (1 - rate) / variance, 1.0, n)) if variance > 0 else n
    half, skew = z * (rate * (1 - rate) / effective) ** 0.5, (z**2 - 1) / 6 * (1 - 2 * rate) / effective
    low, high = (rate + skew + 0.5 / n + side * half for side in (-1, 1))
    return max(low, 0.0), min(high, 1.0)


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
