"""Operating points: error rates at a threshold, and their covariance.

Two images are accepted as one person when their distance is *below* the threshold. A trial without a distance (no
face was detected) has an infinite one: it is never accepted. The threshold for a false match rate f is f (n + 1)
steps up the n sorted impostor distances, interpolated: one more impostor then falls below it with chance f, and of
the n at most f n do. (The next distance up, as often taken, accepts (f n + 1) / (n + 1) of future impostors: a
quarter more with four false matches.)

An error rate is a mean over trials, and a threshold that was set on impostors moves it along its curve,

    rate(estimated t) - rate(t) = mean(error - rate) - s mean(accepted - f),     s = d rate / d FMR,

so every trial has a known influence. Trials that share an identity may be dependent, and an impostor trial has two: V
= sum_i T_i^2 - sum_d D_d^2, with T_i the influence of all trials of identity i and D_d that of all trials in which
the same two identities meet, which the first sum counts twice (Aronow, Samii and Assenova 2015). Nothing is
resampled. The slope s is taken between half and twice the odds of f, where curves are close to straight in log odds.
It is an estimate too, and a poor one where few impostors are accepted; that costs degrees of freedom
(``Errors.dof``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from likewise.errors import InputError
from likewise.stats.jackknife import effective_clusters

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
_ROUND = 1e-9  # 0.01 * 400 may come out below 4
# A slope over a span of log 4 in FMR has ends with k / 2 and 2 k false matches below them. The log of an FMR with k
# below it varies by 1 / k, and the ends share what lies below the first: (2 / k - 1 / 2k) / log(4)^2 = 0.78 / k.
_SLOPE_DOUBT = 1.5 / np.log(4) ** 2


@dataclass(frozen=True)
class TrialSample:
    """Some trials of one kind, sorted by distance."""

    distance: Floats
    left: Codes
    """Identity of the first image."""
    right: Codes
    """Identity of the second image; the same in a genuine trial."""
    dyad: Codes
    """Which pair of identities meets, a code common to all samples; -1 in a genuine trial."""
    weight: Floats
    """The weight of each trial."""
    matched: bool = False
    """Whether these are matched trials, whose identities are linked by pairs."""

    @classmethod
    def of(
        cls,
        distance: Floats,
        left: Codes,
        right: Codes,
        dyad: Codes,
        weight: Floats | None = None,
        *,
        matched: bool = False,
    ) -> TrialSample:
        """Sort the trials, which weigh alike unless a ``weight`` is given."""
        order = np.argsort(distance, kind="stable")
        counted = np.ones(len(distance)) if weight is None else weight
        return cls(distance[order], left[order], right[order], dyad[order], counted[order], matched)

    def __len__(self) -> int:
        return len(self.distance)

    @property
    def effective_size(self) -> float:
        """Kish's effective number of trials."""
        return float(self.weight.sum() ** 2 / np.square(self.weight).sum())

    @cached_property
    def _before(self) -> Floats:
        """The weight of the trials before each place, ``[n + 1]``."""
        before: Floats = np.r_[0.0, np.cumsum(self.weight)]
        return before

    @property
    def identities(self) -> int:
        """Number of identities."""
        return len(np.unique(np.r_[self.left, self.right]))

    @property
    def effective_identities(self) -> float:
        """Effective number of identities, (sum w)^2 / sum w^2 over the identities' weights; see ``stats.dof``."""
        ends = self.left if self.genuine else np.r_[self.left, self.right]
        weight = self.weight if self.genuine else np.r_[self.weight, self.weight]
        return effective_clusters(ends, weight)

    @property
    def genuine(self) -> bool:
        """Whether these are genuine trials."""
        return bool(self.dyad[0] < 0)

    def error(self, threshold: float) -> float:
        """Return the share of genuine trials that are rejected, or of impostors that are accepted."""
        below = float(self._before[np.searchsorted(self.distance, threshold, side="left")] / self._before[-1])
        return 1 - below if self.genuine else below

    def threshold(self, rate: float) -> float:
        """Return the threshold at which one more of these impostors would be accepted at the rate."""
        n = len(self)
        steps = rate * (n + 1) + _ROUND
        k = min(int(steps), int(rate * n + _ROUND) + 1, n)
        if k < 1:
            return float(self.distance[0])
        share = min(steps - k, 1.0) if k <= rate * n + _ROUND else 0.0
        below, above = self.distance[k - 1], self.distance[min(k, n - 1)]
        return float(below if below == above or share == 0 else below + share * (above - below))

    def need(self, rate: float, what: str) -> None:
        """Refuse a rate that so few impostors do not support."""
        if len(self) * rate < 1:
            fix = f"Ask for FMR {1 / max(len(self), 1):.2g} or more, or add impostor trials."
            raise InputError(f"{what}: {len(self)} impostor trials are too few for FMR {rate:g}", fix=fix)

    def influence(self, threshold: float) -> Floats:
        """Return the influence of each trial on the error rate, ``[n]``; they sum to zero."""
        error = (self.distance < threshold) != self.genuine
        share = self.weight / self.weight.sum()
        away: Floats = (error - error @ share) * share
        return away

    def by_identity(self, influence: Floats, people: int, meetings: int) -> tuple[Floats, Floats]:
        """Add the trials' influence up by identity ``[people]`` and by pair of identities ``[meetings]``."""
        if self.genuine:
            return _sums(self.left, influence, people), np.zeros(meetings)
        both = _sums(self.left, influence, people) + _sums(self.right, influence, people)
        return both, _sums(self.dyad, influence, meetings)

    def design_dof(self, threshold: float, people: int, meetings: int) -> float:
        """Return the degrees of freedom of these impostors' design effect; see ``Errors.dof``.

        Without identity i the variance lacks T_i^2 and 2 D_ij (T_j - D_ij) for every identity j that it meets.
        """
        rate, push = self.error(threshold), self.influence(threshold)
        whole, met = self.by_identity(push, people, meetings)
        partner = [push * (whole[end] - met[self.dyad]) for end in (self.right, self.left)]
        own = whole**2 + 2 * (_sums(self.left, partner[0], people) + _sums(self.right, partner[1], people))
        variance = max(float(whole @ whole - met @ met), float(whole @ whole) / 2)
        if not (0 < rate < 1 and variance > 0):
            return np.inf
        here = np.unique(np.r_[self.left, self.right])
        moved = own[here] / variance - np.mean(own[here]) / variance
        moved = moved - (1 - 2 * rate) / (rate * (1 - rate)) * whole[here]
        return max(2 / max(float(moved @ moved), 1e-12), 2.0)


def _sums(codes: Codes, influence: Floats, count: int) -> Floats:
    sums: Floats = np.bincount(codes, weights=influence, minlength=count).astype(np.float64)
    return sums


@dataclass(frozen=True)
class Errors:
    """The error rates of several samples at one threshold ``[q]``, and the influence of every identity and meeting."""

    threshold: float
    rates: Floats
    people: Floats
    """``[I, q]``"""
    linked: Codes
    """Identities that a matched pair links share a code, ``[I]``."""
    matched: npt.NDArray[np.bool_]
    """Which rates are of matched samples, ``[q]``."""
    meetings: Floats
    """``[M, q]``"""
    smallest: int
    """Identities of the smallest group: estimating a mean from G clusters loses one degree of freedom in G."""
    from_threshold: Floats
    """How much of each variance comes from the threshold having been found, ``[q]``."""
    slope_doubt: float
    """The variance of the logarithm of the slope along which the threshold moves a rate."""

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of the rates ``[q, q]``; a variance is at least half of what identities alone would make.

        Matched partners fail together more often than others, so rates of matched samples covary over what pairs link.
        """
        apart, met = self.people.T @ self.people, self.meetings.T @ self.meetings
        sums = np.stack([_sums(self.linked, push, len(self.linked)) for push in self.people.T], axis=1)
        together: Floats = np.where(self.matched | self.matched[:, None], sums.T @ sums, apart) - met
        np.fill_diagonal(together, np.maximum(np.diag(apart - met), np.diag(apart) / 2))
        return together * self.smallest / (self.smallest - 1)

    def correlation(self, k: int, other: int) -> float:
        """Return the correlation of two rates."""
        spread = float(self.covariance[k, k] * self.covariance[other, other]) ** 0.5
        return float(np.clip(self.covariance[k, other] / spread, -1, 1)) if spread > 0 else 0.0

    def dof(self, k: int) -> float:
        """Return the degrees of freedom of a rate's design effect, which is what is uncertain in Wilson's interval.

        The effective number of trials is p (1 - p) / V. The variance of its logarithm follows from the influence;
        2 / that is the number of normal answers whose variance would be known as well. Independent trials have V =
        p (1 - p) / n whatever p is found: no uncertainty at all. The part of V that is proportional to the
        square of the slope is as uncertain as that square.
        """
        p, push = float(self.rates[k]), self.people[:, k]
        push = push[push != 0]
        if p in (0.0, 1.0) or not len(push):
            return np.inf
        moved = push**2 / (push @ push) - 1 / len(push) - (1 - 2 * p) / (p * (1 - p)) * push
        part = min(float(self.from_threshold[k] / self.covariance[k, k]), 1.0)
        return max(2 / max(float(moved @ moved) + (2 * part) ** 2 * self.slope_doubt, 1e-12), 2.0)


def errors_at(
    samples: Sequence[TrialSample],
    threshold: float,
    *,
    linked: Codes,
    meetings: int,
    smallest: int,
    pool: TrialSample | None = None,
) -> Errors:
    """Measure the samples at a threshold; with ``pool`` it was estimated on these impostors."""
    people = len(linked)
    parts = [sample.by_identity(sample.influence(threshold), people, meetings) for sample in samples]
    moved, met = (np.stack([part[k] for part in parts], axis=1) for k in (0, 1))
    slopes, spread, doubt = np.zeros(len(samples)), 0.0, 0.0
    if pool is not None:
        shift, shared = pool.by_identity(pool.influence(threshold), people, meetings)
        spread = float(max(shift @ shift - shared @ shared, shift @ shift / 2))
        slopes, doubt = _slopes(samples, pool, pool.error(threshold), spread)
        moved, met = moved - np.outer(shift, slopes), met - np.outer(shared, slopes)
    rates = np.array([sample.error(threshold) for sample in samples])
    matched = np.array([sample.matched for sample in samples])
    return Errors(threshold, rates, moved, linked, matched, met, smallest, slopes**2 * spread, doubt)


def _slopes(samples: Sequence[TrialSample], pool: TrialSample, rate: float, spread: float) -> tuple[Floats, float]:
    """Return d rate / d FMR of each sample, between half and twice the odds of the pool's rate, and its log's variance.

    The slope is used squared, and the square of a noisy number is too large on average by that variance, which is
    subtracted. ``spread`` is the variance of the pool's rate.
    """
    if not 0 < rate < 1:
        return np.zeros(len(samples)), 0.0
    odds, doubt = rate / (1 - rate), _SLOPE_DOUBT * spread / rate**2
    strict, lenient = (pool.threshold(far / (1 + far)) for far in (odds / 2, odds * 2))
    rise = np.array([sample.error(lenient) - sample.error(strict) for sample in samples])
    return rise / np.log(4) / (rate * (1 - rate)) / (1 + doubt) ** 0.5, doubt
