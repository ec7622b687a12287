"""Whole units from fractional ones: the few fractional units are decided by branch and bound, or repaired."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from likewise.design.cardinality.problem import Floats, Mask, Problem, excess
from likewise.design.cardinality.programs import decided

_EXCHANGES = 400
_SURE = 1e-7  # a share this close to 0 or 1 is decided


def whole(problem: Problem, x: Floats, size: int) -> Mask:
    """Return a balanced sample of whole units: of ``size`` a side if branch and bound finds one, else smaller.

    A vertex of the linear program has hardly more fractional units than balance constraints, so that deciding these
    alone, with the others as they are, is a small problem.
    """
    ones = x > 1 - _SURE
    found = decided(problem, ones, (x > _SURE) & ~ones, size)
    if found is not None and problem.holds(found):
        return found
    return repaired(problem, _rounded(problem, x))


def _rounded(problem: Problem, x: Floats) -> Mask:
    """Take units from the largest share down, each person once, from a half up."""
    chosen = np.zeros(len(x), dtype=bool)
    used = np.zeros(int(problem.people.max()) + 1, dtype=bool)
    for unit in np.argsort(-x, kind="stable").tolist():
        if x[unit] < 0.5 - 1e-9:
            break
        if not used[problem.people[unit]]:
            chosen[unit] = used[problem.people[unit]] = True
    return chosen


def repaired(problem: Problem, chosen: Mask) -> Mask:
    """Equalize the sizes, then exchange, or else remove, single units until every constraint holds."""
    chosen = chosen.copy()
    while (unequal := _unequal(problem, chosen)) is not None:
        chosen[_best_removal(problem, chosen, unequal)] = False
    exchanges = 0
    while chosen.any() and not problem.holds(chosen):
        now = problem.violation(chosen)
        if exchanges < _EXCHANGES and (swapped := _exchanged(problem, chosen, now)) is not None:
            chosen, exchanges = swapped, exchanges + 1
            continue
        out = _best_removal(problem, chosen, chosen & problem.focal)
        chosen[out] = False
        partner = chosen & ~problem.focal & (problem.strata == problem.strata[out])
        chosen[_best_removal(problem, chosen, partner)] = False
    return chosen


def _unequal(problem: Problem, chosen: Mask) -> Mask | None:
    """Return the chosen units of a side that has more than the other within a stratum."""
    sizes = problem.sizes(chosen)
    more = np.flatnonzero(sizes[0] != sizes[1])
    if len(more) == 0:
        return None
    stratum = more[0]
    side = problem.focal if sizes[0][stratum] > sizes[1][stratum] else ~problem.focal
    return np.asarray(chosen & side & (problem.strata == stratum))


def _best_removal(problem: Problem, chosen: Mask, candidates: Mask) -> int:
    """Return the candidate without which the sample is best balanced."""
    units = np.flatnonzero(candidates)
    after = _after(problem, chosen, units, -1)
    return int(units[np.argmin(excess(after, problem.tolerance))])


def _exchanged(problem: Problem, chosen: Mask, now: float) -> Mask | None:
    """Return the sample with one unit exchanged for another of its side and stratum, if that is better."""
    best: tuple[float, int, int] | None = None
    for side in (problem.focal, ~problem.focal):
        units = np.flatnonzero(chosen & side)
        if len(units) < 2:
            continue
        out = int(units[np.argmin(excess(_after(problem, chosen, units, -1), problem.tolerance))])
        without = chosen.copy()
        without[out] = False
        used = np.zeros(int(problem.people.max()) + 1, dtype=bool)
        used[problem.people[without]] = True
        there = side & ~without & ~used[problem.people] & (problem.strata == problem.strata[out])
        options = np.flatnonzero(there)
        left = excess(_after(problem, without, options, 1), problem.tolerance)
        place = int(np.argmin(left))
        if best is None or left[place] < best[0]:
            best = (float(left[place]), out, int(options[place]))
    if best is None or best[0] >= now * (1 - 1e-6):
        return None
    swapped = chosen.copy()
    swapped[best[1]], swapped[best[2]] = False, True
    return swapped


def _after(problem: Problem, chosen: Mask, units: npt.NDArray[np.intp], sign: int) -> Floats:
    """Return the differences of means ``[u, k]`` after adding (+1) or removing (-1) each unit alone."""
    numbers = problem.numbers
    totals = [numbers[chosen & side].sum(axis=0) for side in (problem.focal, ~problem.focal)]
    counts = [int((chosen & side).sum()) for side in (problem.focal, ~problem.focal)]
    at = 0 if len(units) and problem.focal[units[0]] else 1
    if counts[1 - at] == 0 or counts[at] + sign == 0:
        return np.zeros((len(units), numbers.shape[1]))
    changed = (totals[at] + sign * numbers[units]) / (counts[at] + sign)
    other = totals[1 - at] / counts[1 - at]
    return np.asarray(changed - other if at == 0 else other - changed)
