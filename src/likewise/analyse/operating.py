"""Operating points: a recogniser's trials sorted by distance, and what a threshold makes of them under any weights.

Two images are taken for one person when their distance lies *below* the threshold. The threshold for a false match
rate f is the smallest impostor distance that may no longer be accepted, so the rate reached is never more than f.
A trial without a distance (no face was found) lies at infinity: it is never accepted.

Weights belong to identities. A genuine trial weighs as its identity does, an impostor trial as the product of its
two. That product counts the noise of one pair of identities three times (see ``resample``); ``replicates``
takes the excess off, with a second bootstrap over the pairs of identities alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.analyse.resample import draws, towards
from likewise.errors import InputError

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
_BLOCK = 1 << 22  # weights held at once


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

    @classmethod
    def of(cls, distance: Floats, left: Codes, right: Codes, dyad: Codes) -> Arm:
        """Sort the trials."""
        order = np.argsort(distance, kind="stable")
        return cls(distance[order], left[order], right[order], dyad[order])

    def __len__(self) -> int:
        return len(self.distance)

    @property
    def people(self) -> int:
        """How many identities take part."""
        return len(np.unique(np.r_[self.left, self.right]))

    @property
    def genuine(self) -> bool:
        """Whether these are trials of one person."""
        return bool(self.dyad[0] < 0)

    def weights(self, people: Floats, meetings: Floats | None) -> Floats:
        """Return the trials' weights ``[b, n]`` from those of identities ``[b, I]`` or of their meetings ``[b, D]``."""
        if self.genuine:
            return people[:, self.left]
        return people[:, self.left] * people[:, self.right] if meetings is None else meetings[:, self.dyad]

    def accepted(self, weights: Floats, threshold: Floats) -> Floats:
        """Return the weighted share of trials below each resample's threshold, ``[b]``."""
        ends = np.searchsorted(self.distance, threshold, side="left")
        sums = np.concatenate([np.zeros((len(weights), 1)), np.cumsum(weights, axis=1)], axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares: Floats = sums[np.arange(len(weights)), ends] / sums[:, -1]
        return shares

    def threshold(self, weights: Floats, rate: float) -> Floats:
        """Return the threshold at which these impostors are accepted at the rate, or just less often, ``[b]``."""
        sums = np.cumsum(weights, axis=1)
        first = (sums <= rate * sums[:, -1:] * (1 + 1e-12)).sum(axis=1)
        limits: Floats = np.append(self.distance, np.inf)[first]
        return limits

    def need(self, rate: float, what: str) -> None:
        """Refuse a rate that so few impostors cannot show."""
        if len(self) * rate < 1:
            fix = f"Ask for at least {1 / max(len(self), 1):.2g}, or make more impostor trials."
            raise InputError(
                f"{what}: a false match rate can be reached", got=f"{rate:g} with {len(self)} trials", fix=fix
            )


Point = Callable[[Floats, Floats | None], Floats]
"""Takes weights of identities ``[b, I]`` and maybe of meetings ``[b, D]`` to values ``[b, q]``."""


@dataclass(frozen=True)
class Replicates:
    """Values at the whole sample ``[q]``, over the resamples ``[B, q]``, and how they vary together ``[q, q]``."""

    estimate: Floats
    values: Floats
    covariance: Floats

    def variance(self, k: int) -> float:
        """Return the variance of one value."""
        return float(self.covariance[k, k])

    def correlation(self, k: int, other: int) -> float:
        """Return how two values go together."""
        spread = (self.variance(k) * self.variance(other)) ** 0.5
        return float(np.clip(self.covariance[k, other] / spread, -1, 1)) if spread > 0 else 0.0


def replicates(
    point: Point, strata: Sequence[Codes], meetings: int, *, rows: int, resamples: int, seed: int
) -> Replicates:
    """Resample identities within their strata (so that no group ever vanishes) and compute the values each time."""
    people = sum(len(stratum) for stratum in strata)
    block = max(1, _BLOCK // max(rows, people, 1))
    estimate = point(np.ones((1, people)), None)[0]
    parts = zip(
        *(
            draws(len(stratum), resamples=resamples, seed=seed, arm=arm, block=block)
            for arm, stratum in enumerate(strata)
        ),
        strict=True,
    )
    order = np.argsort(np.concatenate(strata))
    values = np.concatenate([point(np.concatenate(part, axis=1)[:, order], None) for part in parts])
    alone = draws(meetings, resamples=resamples, seed=seed, arm=len(strata), block=block)
    noise = np.concatenate([point(np.ones((len(weights), people)), weights) for weights in alone])
    excess = 2 * _scatter(noise - estimate)
    spread = _scatter(values - estimate)
    # Drawing G clusters out of G loses one degree of freedom in G.
    small = min(len(stratum) for stratum in strata)
    together = (spread - excess) * small / (small - 1)
    np.fill_diagonal(together, np.maximum(np.diag(together), np.diag(spread) / 3))
    drawn = [towards(estimate[k], values[:, k], excess=excess[k, k]) for k in range(len(estimate))]
    return Replicates(estimate, np.stack(drawn, axis=1), together)


def _scatter(away: Floats) -> Floats:
    scatter: Floats = away.T @ away / len(away)
    return scatter
