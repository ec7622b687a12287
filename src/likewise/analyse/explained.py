"""The share that is explained: how much of the crude gap goes away when look-alikes are compared, with an interval.

The share is 1 - m / c, with c the crude and m the matched gap on one estimand. A ratio of two estimates has no
variance to speak of when c may be zero, so the interval is Fieller's: all values r for which m - r c cannot be told
from zero. When c itself cannot be told from zero that set has no end, and the row says so instead of giving ends.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import stats

from likewise.errors import InputError

Floats = npt.NDArray[np.float64]


def fieller(matched: float, crude: float, covariance: Floats, quantile: float) -> tuple[float, float] | None:
    """Return the ends of the interval of matched / crude, or None when it has none.

    ``covariance [2, 2]`` is of (matched, crude).
    """
    (v_m, c), (_, v_c) = covariance * quantile**2
    a = crude**2 - v_c
    if a <= 0:
        return None
    b, constant = matched * crude - c, matched**2 - v_m
    root = max(b * b - a * constant, 0.0) ** 0.5
    return (b - root) / a, (b + root) / a


def share_gone(
    matched: float, crude: float, covariance: Floats, *, clusters: int, level: float
) -> tuple[float, float, float, str]:
    """Return (share, low, high, remark) of the crude gap that goes away; both ends are empty when there are none."""
    if crude == 0:
        raise InputError("there is a crude gap of which a share can go away", got="a gap of exactly 0")
    share = 1 - matched / crude
    ends = fieller(matched, crude, covariance, float(stats.t.ppf((1 + level) / 2, clusters - 1)))
    if ends is None:
        return share, np.nan, np.nan, "no interval: the crude gap cannot be told from zero"
    return share, min(1 - ends[1], share), max(1 - ends[0], share), ""
