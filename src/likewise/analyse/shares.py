"""Intervals of shares: Wilson's, for as many independent answers as there really are."""

from __future__ import annotations

import numpy as np
from scipy import stats

FEW = 5  # independent clusters with an error, below which a rate is called rare


def wilson(share: float, n: float, *, level: float, freedom: float = np.inf) -> tuple[float, float]:
    """Return Wilson's interval for a share among ``n`` (effective) answers.

    The quantile is Student's t with so many degrees of ``freedom``: a variance estimated from few clusters is
    uncertain itself.
    """
    z = float(stats.t.ppf((1 + level) / 2, freedom))
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * (share * (1 - share) / n + z**2 / (4 * n**2)) ** 0.5
    return min(max(centre - half, 0.0), share), max(min(centre + half, 1.0), share)


def share_interval(
    share: float, variance: float, *, n: float, clusters: int, level: float, freedom: float | None = None
) -> tuple[float, float, str]:
    """Return an interval for a share whose variance is known from its clusters, and a word of warning or nothing.

    The variance says how many independent answers the share is worth, n_eff = p (1 - p) / V; Wilson's interval for
    that many stays inside 0 and 1. ``n`` is the most that it can be worth. A share of exactly 0 or 1 has no variance
    to go by: then every cluster counts as one answer and the open end is exact (1 - (1 - level)^(1 / clusters), about
    3 / clusters at 95 %). The variance has clusters - 1 degrees of freedom, unless fewer are known to be behind it.
    """
    if share in (0.0, 1.0):
        reach = 1 - (1 - level) ** (1 / max(clusters, 1))
        ends = (0.0, reach) if share == 0 else (1 - reach, 1.0)
        return *ends, "none seen: rule of three" if share == 0 else "no exception seen: rule of three"
    effective = float(np.clip(share * (1 - share) / variance if variance > 0 else clusters, 1.0, n))
    word = "rare" if min(share, 1 - share) * min(effective, clusters) < FEW else ""
    known = max(clusters - 1 if freedom is None else freedom, 1)
    return *wilson(share, effective, level=level, freedom=known), word
