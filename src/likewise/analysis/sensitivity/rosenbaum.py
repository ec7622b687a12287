"""Rosenbaum bounds: how much unmeasured confounding a matched comparison withstands.

Gamma: within a matched set the odds of being the focal unit differ by at most Gamma because of something unmeasured.
The largest p-value under that much bias is computed; the Gamma at which it passes alpha is where significance is lost.

- Pairs, numbers: Wilcoxon's signed rank (large-sample, midranks; zero differences are ranked and then carry no weight).
- Pairs, yes or no: McNemar's exact binomial.
- Sets of 1:k, numbers: aligned ranks (Hodges and Lehmann), with the separable bound of Gastwirth, Krieger and Rosenbaum
  (2000). Differences of set means are *not* symmetric under the null hypothesis for k > 1: a signed rank of them finds
  Gamma > 1 in half of all null worlds with skewed answers.
- Sets of 1:k, yes or no: Mantel-Haenszel, exact (a sum of independent Bernoulli variables).

Where sets are not all that is sampled (a panel of raters, identities that are in several sets), a ``Sampling`` divides
the deviate by the root of how much larger the variance of the gap is than that of independent sets, and takes
Student's t with the degrees of freedom of that variance. With a normal deviate, Gamma was above 1 in 10 % of null
worlds with six raters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from likewise.errors import InputError

Floats = npt.NDArray[np.float64]
Sets = Sequence[Floats]
"""The answers of each matched set, the focal unit's first."""
_MOST = 1e6  # the largest Gamma that is reported
_EXACT = 3000  # discordant sets up to which Mantel-Haenszel is exact


@dataclass(frozen=True)
class Sampling:
    """How much more the gap varies than independent sets would make it."""

    inflation: float = 1.0
    """Variance of the gap over that of independent sets."""
    dof: float = np.inf
    """Degrees of freedom of that variance."""

    def tail(self, deviation: float, variance: float) -> float:
        """Return the one-sided p of a deviation with this variance under independent sets."""
        return float(stats.t.sf(deviation / (variance * self.inflation) ** 0.5, self.dof))


INDEPENDENT = Sampling()


def signed_rank_p(differences: npt.ArrayLike, gamma: float, *, sampling: Sampling = INDEPENDENT) -> float:
    """Return the largest one-sided p of Wilcoxon's signed rank, in the direction of positive differences."""
    d = np.asarray(differences, dtype=np.float64)
    _need(d, gamma)
    ranks = stats.rankdata(np.abs(d))[d != 0]
    if not len(ranks):
        return 1.0
    chance = gamma / (1 + gamma)
    mean, variance = chance * ranks.sum(), chance * (1 - chance) * (ranks**2).sum()
    return sampling.tail(float(ranks[d[d != 0] > 0].sum()) - mean, variance)


def mcnemar_p(more: int, fewer: int, gamma: float) -> float:
    """Return the largest one-sided p of ``more`` discordant pairs toward the focal unit and ``fewer`` against it."""
    _need(np.zeros(1), gamma)
    if min(more, fewer) < 0:
        raise InputError(
            f"Negative counts of discordant pairs: {more} and {fewer}", fix="Count pairs; both numbers are at least 0."
        )
    return float(stats.binom.sf(more - 1, more + fewer, gamma / (1 + gamma))) if more + fewer else 1.0


def aligned_rank_p(sets: Sets, gamma: float, *, sampling: Sampling = INDEPENDENT) -> float:
    """Return the largest one-sided p of the aligned rank test of 1:k sets, in the direction of high focal answers."""
    _need(np.concatenate(list(sets)), gamma)
    aligned = np.concatenate([values - values.mean() for values in sets])
    ranks = np.split(stats.rankdata(aligned), np.cumsum([len(values) for values in sets])[:-1])
    observed = sum(float(part[0]) for part in ranks)
    mean, variance = _separable(ranks, gamma)
    return sampling.tail(observed - mean, variance) if variance > 0 else 1.0


def mantel_haenszel_p(sets: Sets, gamma: float) -> float:
    """Return the largest one-sided p of the Mantel-Haenszel test of 1:k sets with answers of 0 and 1."""
    _need(np.concatenate(list(sets)), gamma)
    discordant = [values for values in sets if 0 < values.sum() < len(values)]
    if not discordant:
        return 1.0
    ones = np.array([values.sum() for values in discordant])
    sizes = np.array([len(values) for values in discordant])
    chance = gamma * ones / (gamma * ones + sizes - ones)
    observed = int(sum(values[0] for values in discordant))
    if len(chance) > _EXACT:
        spread = float((chance * (1 - chance)).sum()) ** 0.5
        return float(stats.norm.sf((observed - 0.5 - chance.sum()) / spread))
    return float(np.clip(_bernoulli_sum(chance)[observed:].sum(), 0.0, 1.0))


def bound_of(sets: Sets, *, sampling: Sampling = INDEPENDENT) -> tuple[Callable[[float], float], str]:
    """Return p as a function of Gamma for these sets, in the direction of their mean difference, and its name."""
    gap = float(np.mean([values[0] - values[1:].mean() for values in sets]))
    binary = bool(np.isin(np.concatenate(list(sets)), (0.0, 1.0)).all()) and sampling == INDEPENDENT
    toward = list(sets) if gap >= 0 else [(1.0 if binary else 0.0) - values for values in sets]
    if all(len(values) == 2 for values in sets):
        d = np.array([values[0] - values[1] for values in toward])
        if binary:
            return partial(mcnemar_p, int((d > 0).sum()), int((d < 0).sum())), "McNemar"
        return partial(signed_rank_p, d, sampling=sampling), "signed rank"
    if binary:
        return partial(mantel_haenszel_p, toward), "Mantel-Haenszel"
    return partial(aligned_rank_p, toward, sampling=sampling), "aligned ranks"


def critical_gamma(p: Callable[[float], float], *, alpha: float = 0.05) -> float:
    """Return the Gamma at which ``p(gamma)`` passes alpha: 1 when it never was below."""
    if p(1.0) >= alpha:
        return 1.0
    if p(_MOST) < alpha:
        return _MOST
    found = optimize.brentq(lambda log: p(float(np.exp(log))) - alpha, 0.0, float(np.log(_MOST)), xtol=1e-6)
    return float(np.exp(found))


def _separable(scores: Sets, gamma: float) -> tuple[float, float]:
    """Return the largest mean of the focal units' score sum and, at it, the largest variance, set by set.

    In a set the bias is worst when the a lowest scores have the unmeasured cause 0 and the others 1, for some a.
    """
    mean, variance = 0.0, 0.0
    for size in sorted({len(values) for values in scores}):
        q = np.sort(np.stack([values for values in scores if len(values) == size]), axis=1)  # [S, size]
        lows = np.arange(1, size)
        first, second = (np.cumsum(q**power, axis=1) for power in (1, 2))
        total = lows + gamma * (size - lows)
        means = (first[:, :-1] + gamma * (first[:, -1:] - first[:, :-1])) / total  # [S, size - 1]
        spread = (second[:, :-1] + gamma * (second[:, -1:] - second[:, :-1])) / total - means**2
        best = means.max(axis=1)
        mean += float(best.sum())
        variance += float(np.where(means >= best[:, None] - 1e-12, spread, -np.inf).max(axis=1).sum())
    return mean, variance


def _bernoulli_sum(chance: Floats) -> Floats:
    """Return the distribution of a sum of independent Bernoulli variables, ``[n + 1]``."""
    mass = np.ones(1)
    for p in chance:
        mass = np.append(mass * (1 - p), 0.0) + np.append(0.0, mass * p)
    return mass


def _need(d: Floats, gamma: float) -> None:
    if not (np.isfinite(gamma) and gamma >= 1):
        raise InputError(f"Gamma is {gamma}", fix="It must be at least 1.")
    if not len(d) or not np.isfinite(d).all():
        raise InputError(
            f"Differences of {len(d)} pairs are empty or not finite",
            fix="Leave out pairs without an answer; at least one must remain.",
        )
