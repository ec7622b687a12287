"""Bounds: how far hidden bias could carry a comparison of pairs, and how strong a hidden factor would have to be.

Rosenbaum's Gamma: within a pair the odds of being the focal one differ by at most Gamma because of something that was
not matched. The largest p-value under that much bias is computed; the Gamma at which it passes alpha is where
significance is lost. Wilcoxon's signed rank for numbers (large-sample, midranks for ties, zero differences take part
in the ranking and then carry no weight), the exact binomial of McNemar for yes and no.

The E-value (VanderWeele and Ding 2017) asks the same of a ratio: the risk ratio that a hidden factor must have with
both the attribute and the answer to explain it all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from likewise.errors import InputError

Floats = npt.NDArray[np.float64]
_MOST = 1e6  # a Gamma beyond which no one argues


def signed_rank_p(differences: npt.ArrayLike, gamma: float) -> float:
    """Return the largest one-sided p of Wilcoxon's signed rank, in the direction of positive differences."""
    d = np.asarray(differences, dtype=np.float64)
    _need(d, gamma)
    ranks = stats.rankdata(np.abs(d))[d != 0]
    if not len(ranks):
        return 1.0
    chance = gamma / (1 + gamma)
    mean, variance = chance * ranks.sum(), chance * (1 - chance) * (ranks**2).sum()
    return float(stats.norm.sf((ranks[d[d != 0] > 0].sum() - mean) / variance**0.5))


def mcnemar_p(more: int, fewer: int, gamma: float) -> float:
    """Return the largest one-sided p when ``more`` discordant pairs speak for the focal side and ``fewer`` against."""
    _need(np.zeros(1), gamma)
    if min(more, fewer) < 0:
        raise InputError("counts of discordant pairs are not negative", got=f"{more} and {fewer}")
    return float(stats.binom.sf(more - 1, more + fewer, gamma / (1 + gamma))) if more + fewer else 1.0


def gamma_lost(p: Callable[[float], float], *, alpha: float = 0.05) -> float:
    """Return the Gamma at which ``p(gamma)`` passes alpha: 1 when it never was below."""
    if p(1.0) >= alpha:
        return 1.0
    if p(_MOST) < alpha:
        return _MOST
    found = optimize.brentq(lambda log: p(float(np.exp(log))) - alpha, 0.0, float(np.log(_MOST)))
    return float(np.exp(found))


def e_value(ratio: float) -> float:
    """Return the E-value of a risk ratio, above or below 1."""
    if not (np.isfinite(ratio) and ratio > 0):
        raise InputError("a risk ratio is a number above 0", got=str(ratio))
    up = max(ratio, 1 / ratio)
    return float(up + (up * (up - 1)) ** 0.5)


def e_value_limit(low: float, high: float) -> float:
    """Return the E-value of the end of the interval that is closer to 1; 1 when the interval holds 1."""
    return 1.0 if low <= 1 <= high else e_value(low if low > 1 else high)


def ratio_of_difference(gap: float, spread: float) -> float:
    """Return the risk ratio that stands for a difference of means: exp(0.91 gap / sd), as the E-value's authors do."""
    if not spread > 0:
        raise InputError("answers differ from one another", got="all answers equal", fix="There is nothing to explain.")
    return float(np.exp(0.91 * gap / spread))


def _need(d: Floats, gamma: float) -> None:
    if not (np.isfinite(gamma) and gamma >= 1):
        raise InputError("Gamma is a number of at least 1", got=str(gamma))
    if not len(d) or not np.isfinite(d).all():
        raise InputError("bounds need pairs with finite differences", got=f"{len(d)} pairs")
