"""The explained share: how much of the unmatched gap disappears with matching, with an interval.

The share is 1 - m / u, with u the unmatched and m the matched gap of one estimand. A ratio of two estimates has no
variance when u may be zero, so the interval is Fieller's: all values r for which m - r u is not significantly different
from zero. When u itself is not, that set is unbounded, and the row has no interval and says why.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import stats

from likewise.errors import InputError

Floats = npt.NDArray[np.float64]


def fieller(matched: float, unmatched: float, covariance: Floats, quantile: float) -> tuple[float, float] | None:
    """Return the ends of the interval of matched / unmatched, or None when it is unbounded.

    ``covariance [2, 2]`` is of (matched, unmatched).
    """
    (v_m, c), (_, v_u) = covariance * quantile**2
    a = unmatched**2 - v_u
    if a <= 0:
        return None
    b, constant = matched * unmatched - c, matched**2 - v_m
    root = max(b * b - a * constant, 0.0) ** 0.5
    return (b - root) / a, (b + root) / a


def explained_share(
    matched: float, unmatched: float, covariance: Floats, *, dof: float, level: float
) -> tuple[float, float, float, str]:
    """Return (share, low, high, remark) of the unmatched gap that matching removes; NaN ends without an interval."""
    if unmatched == 0:
        raise InputError(
            "The unmatched gap is exactly 0: no share of it can be explained", fix="Report the matched gap alone."
        )
    share = 1 - matched / unmatched
    ends = fieller(matched, unmatched, covariance, float(stats.t.ppf((1 + level) / 2, max(dof, 1))))
    if ends is None:
        return share, np.nan, np.nan, "no interval: the unmatched gap is not significantly different from zero"
    return share, min(1 - ends[1], share), max(1 - ends[0], share), ""


def widened(covariance: Floats, half: Floats, quantile: float) -> Floats:
    """Return the covariance with variances raised to those of intervals that reach ``half`` to either side.

    A jackknife of rare errors has hardly any variance (none, if no error was seen), while Wilson's and Newcombe's
    intervals keep their width. Correlations stay as they are, and are none where a variance is.
    """
    own = np.sqrt(np.maximum(np.diag(covariance), 0.0))  # dyadic variances may come out negative
    wide = np.maximum(own, np.asarray(half) / quantile)
    spread = np.outer(own, own)
    correlation = np.clip(np.divide(covariance, spread, out=np.zeros_like(covariance), where=spread > 0), -1.0, 1.0)
    np.fill_diagonal(correlation, 1.0)
    raised: Floats = correlation * np.outer(wide, wide)
    return raised
