"""Operating points: what a threshold makes of a recogniser's trials, and how sure that is.

Two images are taken for one person when their distance lies *below* the threshold. A trial without a distance (no face
was found) lies at infinity: it is never accepted. The threshold for a false match rate f lies f (n + 1) steps up the n
sorted impostor distances, between two of them in proportion: one more impostor then falls below it with chance f, and
of those that were seen no more than f n do. (The next distance up, as often taken, lets in (f n + 1) / (n + 1) of those
to come: a quarter more with four false matches.)

How sure: an error rate is a mean over trials, and a threshold that was set on impostors moves it along its curve,

    rate(t found) - rate(t) = mean(error - rate) - s mean(accepted - f),     s = d rate / d FMR,

so every trial has a known push. Trials that share an identity may go together, and an impostor trial has two of them:
V = sum_i T_i^2 - sum_d D_d^2, with T_i the push of all trials of identity i and D_d that of all trials in which the
same two meet, which the first sum counts twice (Aronow, Samii and Assenova 2015). No resampling, so no seed. The slope
s is taken between half and twice the odds of f, where curves are close to straight in log odds. It is an estimate too,
and a poor one where few impostors are let in; that costs degrees of freedom (``Errors.freedom``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from likewise.errors import InputError

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
_ROUND = 1e-9  # 0.01 * 400 may come out below 4
# A slope over a span of log 4 in FMR has ends with k / 2 and 2 k false matches below them. The log of an FMR with k
# below it varies by 1 / k, and the ends share what lies below the first: (2 / k - 1 / 2k) / log(4)^2 = 0.78 / k.
_SLOPE_DOUBT = 1.5 / np.log(4) ** 2


@dataclass(frozen=True)
class Arm:
    """Some trials of one kind, sorted by distance."""

    distance: Floats
    left: Codes
    """Identity of the first image."""
    right: Codes
    """Identity of the second image; the same in a genuine trial."""
    dyad: Codes
    """Which pair of identities meets, a code common to all arms; -1 in a genuine trial."""
    weight: Floats
    """How much a trial counts."""
    matched: bool = False
    """Whether these are trials of look-alikes, who go together."""

    @classmethod
    def of(cls, distance: Floats, left: Codes, right: Codes, dyad: Codes, weight: Floats | None = None) -> Arm:
        """Sort the trials, which count alike unless they have a ``weight``: that of a look-alike."""
        order, matched = np.argsort(distance, kind="stable"), weight is not None
        counted = np.ones(len(distance)) if weight is None else weight
        return cls(distance[order], left[order], right[order], dyad[order], counted[order], matched)

    def __len__(self) -> int:
        return len(self.distance)

    @property
    def worth(self) -> float:
        """How many trials that count alike would be worth as much (Kish)."""
        return float(self.weight.sum() ** 2 / np.square(self.weight).sum())

    @cached_property
    def _before(self) -> Floats:
        """The weight of the trials before each place, ``[n + 1]``."""
        before: Floats = np.r_[0.0, np.cumsum(self.weight)]
        return before

    @property
    def people(self) -> int:
        """How many identities take part."""
        return len(np.unique(np.r_[self.left, self.right]))

    @property
    def genuine(self) -> bool:
        """Whether these are trials of one person."""
        return bool(self.dyad[0] < 0)

    def error(self, threshold: float) -> float:
        """Return the share of genuine trials that are missed, or of impostors that are let in."""
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
        """Refuse a rate that so few impostors cannot show."""
        if len(self) * rate < 1:
            fix = f"Ask for at least {1 / max(len(self), 1):.2g}, or make more impostor trials."
            raise InputError(
                f"{what}: a false match rate can be reached", got=f"{rate:g} with {len(self)} trials", fix=fix
            )

    def pushes(self, threshold: float) -> Floats:
        """Return how far each trial moves the error rate, ``[n]``; they sum to zero."""
        error = (self.distance < threshold) != self.genuine
        share = self.weight / self.weight.sum()
        away: Floats = (error - error @ share) * share
        return away

    def spread_out(self, pushes: Floats, people: int, meetings: int) -> tuple[Floats, Floats]:
        """Add the trials' pushes up by identity ``[people]`` and by pair of identities ``[meetings]``."""
        if self.genuine:
            return _sums(self.left, pushes, people), np.zeros(meetings)
        both = _sums(self.left, pushes, people) + _sums(self.right, pushes, people)
        return both, _sums(self.dyad, pushes, meetings)


def _sums(codes: Codes, pushes: Floats, count: int) -> Floats:
    sums: Floats = np.bincount(codes, weights=pushes, minlength=count).astype(np.float64)
    return sums


@dataclass(frozen=True)
class Errors:
    """The error rates of several arms at one threshold ``[q]``, and what every identity and meeting does to them."""

    threshold: float
    rates: Floats
    people: Floats
    """``[I, q]``"""
    bound: Codes
    """Who goes together with whom: identities that a pair binds share a code, ``[I]``."""
    matched: npt.NDArray[np.bool_]
    """Which rates are those of look-alikes, ``[q]``."""
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
        """How the rates vary together ``[q, q]``; a variance is at least what meetings alone would make.

        Look-alikes are missed together more often than strangers, so that the rates of a matched sample go together by
        what pairs bind; one rate varies with its identities, and so do those of everybody, whom no pair binds.
        """
        apart, met = self.people.T @ self.people, self.meetings.T @ self.meetings
        sums = np.stack([_sums(self.bound, push, len(self.bound)) for push in self.people.T], axis=1)
        together: Floats = np.where(self.matched | self.matched[:, None], sums.T @ sums, apart) - met
        np.fill_diagonal(together, np.maximum(np.diag(apart - met), np.diag(apart) / 2))
        return together * self.smallest / (self.smallest - 1)

    def correlation(self, k: int, other: int) -> float:
        """Return how two rates go together."""
        spread = float(self.covariance[k, k] * self.covariance[other, other]) ** 0.5
        return float(np.clip(self.covariance[k, other] / spread, -1, 1)) if spread > 0 else 0.0

    def freedom(self, k: int) -> float:
        """Return the degrees of freedom of a rate's design effect, which is what is uncertain in Wilson's interval.

        The effective number of trials is p (1 - p) / V. The variance of its logarithm follows from the pushes;
        2 / that is the number of normal answers whose variance would be known as well. Independent trials have V =
        p (1 - p) / n whatever p is found: no uncertainty at all. The part of V that goes with the square of the slope
        is as uncertain as that square.
        """
        p, push = float(self.rates[k]), self.people[:, k]
        push = push[push != 0]
        if p in (0.0, 1.0) or not len(push):
            return np.inf
        moved = push**2 / (push @ push) - 1 / len(push) - (1 - 2 * p) / (p * (1 - p)) * push
        part = min(float(self.from_threshold[k] / self.covariance[k, k]), 1.0)
        return max(2 / max(float(moved @ moved) + (2 * part) ** 2 * self.slope_doubt, 1e-12), 2.0)


def errors_at(
    arms: Sequence[Arm], threshold: float, *, bound: Codes, meetings: int, smallest: int, pool: Arm | None = None
) -> Errors:
    """Measure the arms at a threshold; with ``pool`` it is the one found on these impostors, and uncertain as such."""
    people = len(bound)
    parts = [arm.spread_out(arm.pushes(threshold), people, meetings) for arm in arms]
    moved, met = (np.stack([part[k] for part in parts], axis=1) for k in (0, 1))
    slopes, spread, doubt = np.zeros(len(arms)), 0.0, 0.0
    if pool is not None:
        shift, shared = pool.spread_out(pool.pushes(threshold), people, meetings)
        spread = float(max(shift @ shift - shared @ shared, shift @ shift / 2))
        slopes, doubt = _slopes(arms, pool, pool.error(threshold), spread)
        moved, met = moved - np.outer(shift, slopes), met - np.outer(shared, slopes)
    rates = np.array([arm.error(threshold) for arm in arms])
    matched = np.array([arm.matched for arm in arms])
    return Errors(threshold, rates, moved, bound, matched, met, smallest, slopes**2 * spread, doubt)


def _slopes(arms: Sequence[Arm], pool: Arm, rate: float, spread: float) -> tuple[Floats, float]:
    """Return d rate / d FMR of each arm, between half and twice the odds of the pool's rate, and its log's variance.

    The slope is used squared, and the square of a noisy number is too large on average by that variance, which is
    taken off. ``spread`` is the variance of the pool's rate.
    """
    if not 0 < rate < 1:
        return np.zeros(len(arms)), 0.0
    odds, doubt = rate / (1 - rate), _SLOPE_DOUBT * spread / rate**2
    strict, lenient = (pool.threshold(far / (1 + far)) for far in (odds / 2, odds * 2))
    rise = np.array([arm.error(lenient) - arm.error(strict) for arm in arms])
    return rise / np.log(4) / (rate * (1 - rate)) / (1 + doubt) ** 0.5, doubt
