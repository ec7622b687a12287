"""Cardinality matching: the largest sample that is balanced, with a proof of how much larger it could be.

Choose x in {0, 1} for every unit such that both sides have the same size n (within every level of the exact columns),
no identity occurs twice, and every balanced number k has |mean focal - mean reference| <= max_smd * sd_k. With
equal sizes the means are sums over n, so that all constraints are linear in x:

    sum_focal x_i (f_ik - d_k) - sum_reference x_j r_jk <= 0     and     the same with the sides exchanged

(Zubizarreta, Paredes and Rosenbaum 2014). The linear relaxation gives an upper bound on n. Almost all of its
solution is integral already; the rest is rounded, then repaired by exchanging and removing single units until every
constraint holds. The bound less the size found is the proven gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from likewise.errors import ExecutorError, SpecError

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
WIDEST = 400  # numbers that are balanced at once
FEW = 1000  # units, up to which a sample that rounding spoils is solved exactly
_EXCHANGES = 400
_NODES = 2000  # of branch and bound
_SLACK = 1e-9  # of a standard deviation; what the proof grants to rounding


@dataclass(frozen=True)
class Problem:
    """Both sides' units: rows are units, the focal ones first."""

    numbers: Floats
    """What is balanced, ``[n, k]``, in standard deviations pooled within the sides."""
    focal: Mask
    people: Codes
    strata: Codes
    tolerance: Floats
    """The largest absolute SMD of each number, ``[k]``."""
    most: int | None = None
    """The largest size wanted. If more are possible, the units with the least total ``cost`` are taken."""
    cost: Floats | None = None

    def violation(self, chosen: Mask) -> float:
        """Return by how much the balance of a sample exceeds the tolerance: the sum of squares over all numbers."""
        return float(_excess(self._apart(chosen), self.tolerance))

    def holds(self, chosen: Mask) -> bool:
        """Whether the sample keeps every constraint."""
        people = self.people[chosen]
        sizes = self.sizes(chosen)
        once = len(np.unique(people)) == len(people)
        return once and bool((sizes[0] == sizes[1]).all()) and bool(
            (np.abs(self._apart(chosen)) <= self.tolerance + _SLACK).all()
        )  # fmt: skip

    def sizes(self, chosen: Mask) -> Codes:
        """Return how many units are chosen, by side and stratum ``[2, s]``."""
        count = int(self.strata.max()) + 1 if len(self.strata) else 1
        rows = [np.bincount(self.strata[chosen & side], minlength=count) for side in (self.focal, ~self.focal)]
        return np.stack(rows)

    def _apart(self, chosen: Mask) -> Floats:
        sides = [self.numbers[chosen & side] for side in (self.focal, ~self.focal)]
        if not all(map(len, sides)):
            return np.zeros(self.numbers.shape[1])
        return np.asarray(sides[0].mean(axis=0) - sides[1].mean(axis=0))


@dataclass(frozen=True)
class Balanced:
    """The sample, and the largest size that any sample could have."""

    chosen: Mask
    bound: int

    @property
    def size(self) -> int:
        """Units a side."""
        return int(self.chosen.sum()) // 2


def largest_balanced(problem: Problem) -> Balanced:
    """Return the largest balanced sample that rounding finds, with the bound of the relaxation."""
    if problem.numbers.shape[1] > WIDEST:
        fix = "Balance scores or principal components instead (likewise.design.features)."
        raise SpecError(f"{problem.numbers.shape[1]} numbers are too many to balance (at most {WIDEST})", fix=fix)
    x, bound = _relaxed(problem, 1.0)
    if bound == problem.most and problem.cost is not None:
        x = _cheapest(problem, bound)
    best = _repaired(problem, _rounded(problem, x))
    size = int(best.sum()) // 2
    if size < bound:  # a little slack in the relaxation often saves what rounding breaks
        tight, _ = _relaxed(problem, 1 - 1 / max(size, 2))
        again = _repaired(problem, _rounded(problem, tight))
        best = again if again.sum() > best.sum() else best
    if best.sum() // 2 < 0.9 * bound and len(problem.focal) <= FEW:  # rounding loses much of a small sample
        branched, bound = _branched(problem)
        best = branched if branched.sum() > best.sum() else best
    return Balanced(best, bound)


def _branched(problem: Problem) -> tuple[Mask, int]:
    """Solve by branch and bound; return the sample and the bound that is proved when the nodes are used up."""
    rows, limits, equal = _constraints(problem, 1.0)
    found = milp(
        -problem.focal.astype(np.float64), integrality=np.ones(len(problem.focal), dtype=np.int64), bounds=Bounds(0, 1),
        constraints=[LinearConstraint(rows, -np.inf, limits), LinearConstraint(equal, 0, 0)],
        options={"node_limit": _NODES},  # not a time limit: the result must not depend on the machine
    )  # fmt: skip
    proved = found.mip_dual_bound
    bound = int(problem.focal.sum() if proved is None else np.floor(-proved + 1e-6))
    if found.x is None:
        return np.zeros(len(problem.focal), dtype=bool), bound
    chosen = np.asarray(found.x > 0.5)
    return _repaired(problem, chosen), bound


def _cheapest(problem: Problem, size: int) -> Floats:
    """Of all fractional samples of this size return the one with the least total cost."""
    assert problem.cost is not None
    rows, limits, equal = _constraints(problem, 1.0)
    sized = sparse.vstack([equal, sparse.csr_array(problem.focal[None].astype(np.float64))], format="csr")
    right = np.r_[np.zeros(equal.shape[0]), float(size)]
    return _solved(problem.cost, rows, limits, sized, right)[0]


def _relaxed(problem: Problem, shrink: float) -> tuple[Floats, int]:
    """Solve the linear relaxation; return its solution and the largest whole size that it allows."""
    rows, limits, equal = _constraints(problem, shrink)
    x, value = _solved(-problem.focal.astype(np.float64), rows, limits, equal, np.zeros(equal.shape[0]))
    return x, int(np.floor(-value + 1e-6))


def _constraints(problem: Problem, shrink: float) -> tuple[sparse.csr_array, Floats, sparse.csr_array]:
    """Return the inequalities (balance, each person once, the cap) and the equalities (sizes by stratum)."""
    n, k = problem.numbers.shape
    sign = np.where(problem.focal, 1.0, -1.0)
    signed = sparse.csr_array((problem.numbers * sign[:, None]).T)  # [k, n]
    room = sparse.csr_array(np.outer(problem.tolerance * shrink, problem.focal.astype(np.float64)))
    people = sparse.csr_array((np.ones(n), (problem.people, np.arange(n))))
    upper = [signed - room, -signed - room, people]
    limits = [np.zeros(2 * k), np.ones(people.shape[0])]
    if problem.most is not None:
        upper.append(sparse.csr_array(problem.focal[None].astype(np.float64)))
        limits.append(np.array([float(problem.most)]))
    equal = sparse.csr_array((sign, (problem.strata, np.arange(n))))
    return sparse.vstack(upper, format="csr"), np.concatenate(limits), equal


def _solved(
    cost: Floats, rows: sparse.csr_array, limits: Floats, equal: sparse.csr_array, right: Floats
) -> tuple[Floats, float]:
    found = linprog(  # type: ignore[call-overload]
        cost, A_ub=rows, b_ub=limits, A_eq=equal, b_eq=right, bounds=(0, 1), method="highs"
    )
    if not found.success:
        raise ExecutorError(f"The linear program of cardinality matching failed: {str(found.message)[:200]}")
    return np.asarray(found.x), float(found.fun)


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


def _repaired(problem: Problem, chosen: Mask) -> Mask:
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
    return int(units[np.argmin(_excess(after, problem.tolerance))])


def _exchanged(problem: Problem, chosen: Mask, now: float) -> Mask | None:
    """Return the sample with one unit exchanged for another of its side and stratum, if that is better."""
    best: tuple[float, int, int] | None = None
    for side in (problem.focal, ~problem.focal):
        units = np.flatnonzero(chosen & side)
        if len(units) < 2:
            continue
        out = int(units[np.argmin(_excess(_after(problem, chosen, units, -1), problem.tolerance))])
        without = chosen.copy()
        without[out] = False
        used = np.zeros(int(problem.people.max()) + 1, dtype=bool)
        used[problem.people[without]] = True
        there = side & ~without & ~used[problem.people] & (problem.strata == problem.strata[out])
        options = np.flatnonzero(there)
        left = _excess(_after(problem, without, options, 1), problem.tolerance)
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


def _excess(apart: Floats, tolerance: Floats) -> Floats:
    return np.asarray((np.maximum(np.abs(apart) - tolerance, 0) ** 2).sum(axis=-1))
