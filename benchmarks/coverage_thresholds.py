"""Error rates at a threshold that is estimated on the same people: 1 to 28 images, 80/20 groups, rare errors.

Worlds are drawn as arrays (``TrialTable``), so that thousands of them can be drawn on one core. An identity whose
genuine trials are hard also has impostor trials that are close. Impostors are drawn by image, so that identities with
many images meet more often. A fifth of the identities are focal. Matched are one trial of each focal identity and one
of a reference identity, at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import stats

from benchmarks.coverage_hard import LEVEL, arrays_of, sizes
from benchmarks.outcome import Outcome
from likewise.analysis.gaps.pair_weights import identity_weights
from likewise.analysis.gaps.rows import Gap
from likewise.analysis.verification.operating_points import TrialSample
from likewise.analysis.verification.rate_rows import RateRows
from likewise.analysis.verification.trial_table import TrialTable
from likewise.simulation.system_ratings import CONTRAST

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
FMR = 0.01
PERSON, NOISE, AGE, CENTER = 0.05, 0.1, 0.02, 0.9
MEETINGS = 10  # impostor trials an identity
GENUINE_SD = float((PERSON**2 + NOISE**2 + AGE**2) ** 0.5)
IMPOSTOR_SD = float((2 * PERSON**2 + NOISE**2) ** 0.5)


@dataclass(frozen=True)
class World:
    """People, their trials and a system that rejects a known share of them at the true threshold."""

    n: int
    seed: int
    rate: float
    """FNMR of the focal group; the reference group has half of it."""

    @property
    def limit(self) -> float:
        """The true threshold."""
        return float(CENTER + stats.norm.ppf(FMR) * IMPOSTOR_SD)

    @cached_property
    def drawn(self) -> tuple[Codes, Codes, Floats, Floats, Codes, Codes, Floats]:
        """Groups, and whose each genuine trial is, its covariate and distance; ends and distance of impostor trials."""
        rng, n = np.random.default_rng([31, self.seed]), self.n
        group = (np.arange(n) % 5 != 0).astype(np.int64)  # 0 focal
        images = sizes(rng, n) + 1
        who, own = np.repeat(np.arange(n), images - 1), rng.normal(0, PERSON, n)
        center = self.limit - stats.norm.isf(np.array([self.rate, self.rate / 2])) * GENUINE_SD
        age = rng.normal(size=len(who))
        near = center[group[who]] + own[who] + AGE * age + rng.normal(0, NOISE, len(who))
        left, right = rng.choice(np.repeat(np.arange(n), images), (2, MEETINGS * n))
        left, right = left[left != right], right[left != right]
        far = CENTER - own[left] - own[right] + rng.normal(0, NOISE, len(left))
        return group, who, age, near, left, right, far

    @cached_property
    def pairs(self) -> tuple[Codes, Codes]:
        """The rows of matched genuine trials: focal, reference."""
        group, who = self.drawn[:2]
        first = np.flatnonzero(np.r_[True, who[1:] != who[:-1]])
        focal, other = first[group[who[first]] == 0], first[group[who[first]] == 1]
        return focal, np.random.default_rng([32, self.seed]).permutation(other)[: len(focal)]

    def table(self) -> TrialTable:
        """Lay out the trials."""
        group, who, _, near, left, right, far = self.drawn
        dyad = np.unique(np.minimum(left, right) * self.n + np.maximum(left, right), return_inverse=True)[1]
        linked = np.arange(self.n)
        linked[who[self.pairs[1]]] = who[self.pairs[0]]
        meet = np.sort(group[np.stack([left, right])], axis=0)
        cells = {(g, h): (meet[0] == g) & (meet[1] == h) for g, h in ((0, 0), (0, 1), (1, 1))}

        def genuine(rows: Codes, *, matched: bool = False) -> TrialSample:
            weight = np.ones(len(rows)) if matched else identity_weights(who[rows], np.ones(len(rows)))
            return TrialSample.of(near[rows], who[rows], who[rows], np.full(len(rows), -1), weight, matched=matched)

        def impostors(rows: npt.NDArray[np.bool_]) -> TrialSample:
            return TrialSample.of(far[rows], left[rows], right[rows], dyad[rows])

        return TrialTable(
            rater="simulated", question="distance", contrast=CONTRAST, groups=["female", "male"],
            strata=[np.flatnonzero(group == g) for g in (0, 1)],
            genuine=[genuine(np.flatnonzero(group[who] == g)) for g in (0, 1)],
            matched=[genuine(rows, matched=True) for rows in self.pairs], linked=linked,
            impostors=impostors(np.ones(len(far), dtype=bool)),
            cells={(g, h): impostors(met) for (g, h), met in cells.items() if met.any()},
            meetings=int(dyad.max()) + 1, failed=[], estimand="ATT",
        )  # fmt: skip


def estimated_threshold(rate: float) -> Callable[[int, int], Iterator[Outcome]]:
    """Return worlds in which the groups have FNMR ``rate`` and half of it at FMR 1 %."""
    name = f"FNMR {100 * rate:g} / {50 * rate:g} %, estimated threshold"
    truths = {("fnmr", "all", "female"): rate, ("fnmr", "all", "male"): rate / 2, ("fnmr", "matched", "female"): rate,
              ("gap", "all", CONTRAST.label): rate / 2, ("gap", "matched", CONTRAST.label): rate / 2,
              ("fmr", "all", "within male"): FMR, ("fmr", "all", "within female"): FMR,
              ("fmr_gap", "all", CONTRAST.label): 0.0}  # fmt: skip

    def worlds(n: int, seed: int) -> Iterator[Outcome]:
        world = World(n, seed, rate)
        table = world.table()
        limit = table.impostors.threshold(FMR)
        found = table.errors(limit, table.samples, table.impostors)
        rows = RateRows(table, "simulated", found, LEVEL).rows(FMR)
        values = {(row["stat"], row["sample"], row["group"]): (float(row["low"]), float(row["high"])) for row in rows}  # type: ignore[arg-type]
        for (stat, sample, group), truth in truths.items():
            if (stat, sample, group) not in values:  # ten focal identities may never meet
                continue
            yield Outcome(f"{stat}, {sample}, {group}; {name}", truth, *values[stat, sample, group], None)
        low, high = values["threshold", "all", "pooled"]
        if np.isfinite(low):
            yield Outcome(f"threshold; {name}", world.limit, low, high, None)
        yield Outcome(f"adjusted gap, matched; {name}", rate / 2, *_adjusted(world, limit), None)

    return worlds


def _adjusted(world: World, limit: float) -> tuple[float, float]:
    """Return the ends of the matched gap that is adjusted for the covariate."""
    group, who, age, near, *_ = world.drawn
    focal = (group[who] == 0).astype(np.float64)
    arrays = arrays_of((near >= limit).astype(np.float64), focal, age[:, None], who, world.pairs)
    found, _ = Gap(arrays, "matched", LEVEL).adjusted()
    return found.low, found.high


THRESHOLDS = {f"threshold {100 * rate:g}": estimated_threshold(rate) for rate in (0.001, 0.0025, 0.005, 0.01, 0.1)}
