"""The linear programs of cardinality matching.

Choose x in {0, 1} for every unit such that both sides have the same size n (within every level of the exact columns),
no identity occurs twice, and every balanced number k has |mean focal - mean reference| <= max_smd * sd_k. With
equal sizes the means are sums over n, so that all constraints are linear in x:

    sum_focal x_i (f_ik - d_k) - sum_reference x_j r_jk <= 0     and     the same with the sides exchanged

(Zubizarreta, Paredes and Rosenbaum 2014). Where n is fixed, the tolerance itself may be a variable: its smallest value
is one more linear program.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, linprog, milp

from likewise.design.cardinality.native_output import without_lines
from likewise.design.cardinality.problem import Floats, Mask, Problem
from likewise.errors import ExecutorError

_NODES, _FEW_NODES = 500, 100  # of branch and bound; not a time limit: the result must not depend on the machine
_GAP = 0.02  # of the tightest tolerance, at which branch and bound stops
Rows = sparse.csr_array


def relaxed(problem: Problem) -> int:
    """Return the largest whole size that the linear relaxation allows."""
    rows = sparse.vstack([*_balance(problem), _people(problem)], format="csr")
    upper = np.r_[np.zeros(2 * _limits(problem)), np.ones(_people(problem).shape[0])]
    value = _solved(-problem.focal.astype(np.float64), rows, upper, _equal(problem))[1]
    most = np.inf if problem.most is None else problem.most  # as a constraint the cap makes the program degenerate
    return int(min(np.floor(-value + 1e-6), most))


def tightest(problem: Problem, size: int) -> float:
    """Return the smallest share of the tolerance at which a fractional sample of ``size`` units a side exists."""
    n, k = problem.numbers.shape
    rows, upper = _sized(problem, size)
    widths = -np.concatenate([problem.tolerance, problem.tolerance, np.zeros(rows.shape[0] - 2 * k)]) * size
    wide = sparse.hstack([rows, sparse.csr_array(widths[:, None])], format="csr")
    equal = sparse.hstack([_exactly(problem), sparse.csr_array((_exactly(problem).shape[0], 1))], format="csr")
    cost = np.r_[np.zeros(n), 1.0]
    return _solved(cost, wide, upper, equal, np.r_[np.zeros(equal.shape[0] - 1), float(size)])[1]


def cheapest(problem: Problem, size: int, share: float) -> Floats:
    """Of all fractional samples of ``size`` within a share of the tolerance return the one of the least total cost."""
    k = problem.numbers.shape[1]
    rows, upper = _sized(problem, size)
    upper[: 2 * k] = np.tile(problem.tolerance, 2) * size * share
    cost = np.zeros(len(problem.focal)) if problem.cost is None else problem.cost
    equal = _exactly(problem)
    return _solved(cost, rows, upper, equal, np.r_[np.zeros(equal.shape[0] - 1), float(size)])[0]


def decided(problem: Problem, ones: Mask, open_: Mask, size: int) -> Mask | None:
    """Decide the open units by branch and bound, for the tightest balance; None where no sample of the size exists."""
    units, k = np.flatnonzero(open_), problem.numbers.shape[1]
    rows, upper = _sized(problem, size)
    upper = upper - rows @ ones.astype(np.float64)
    widths = -np.r_[np.tile(problem.tolerance * size, 2), np.zeros(rows.shape[0] - 2 * k)]
    free = sparse.hstack([rows[:, units], sparse.csr_array(widths[:, None])], format="csr")
    exact = _exactly(problem)
    right = np.r_[np.zeros(exact.shape[0] - 1), float(size)] - exact @ ones.astype(np.float64)
    equal = sparse.hstack([exact[:, units], sparse.csr_array((exact.shape[0], 1))], format="csr")
    found = _branch_and_bound(
        np.r_[np.zeros(len(units)), 1.0], integrality=np.r_[np.ones(len(units), dtype=np.int64), 0],
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(free, -np.inf, upper), LinearConstraint(equal, right, right)],
        options={"node_limit": _FEW_NODES, "mip_rel_gap": _GAP, "presolve": False},
    )  # fmt: skip
    if found.x is None:
        return None
    chosen = ones.copy()
    chosen[units] = found.x[:-1] > 0.5
    return chosen


def branched(problem: Problem) -> tuple[Mask, int]:
    """Maximize the size by branch and bound; return the sample and the bound that is proved."""
    limits = 2 * _limits(problem)
    rows = sparse.vstack([*_balance(problem), _people(problem)], format="csr")
    upper = np.r_[np.zeros(limits), np.ones(_people(problem).shape[0])]
    equal, most = _equal(problem), np.inf if problem.most is None else float(problem.most)
    found = _branch_and_bound(
        -problem.focal.astype(np.float64), integrality=np.ones(len(problem.focal), dtype=np.int64), bounds=Bounds(0, 1),
        constraints=[LinearConstraint(rows, -np.inf, upper), LinearConstraint(equal, 0, 0),
                     LinearConstraint(_size(problem), -np.inf, most)],
        options={"node_limit": _NODES},
    )  # fmt: skip
    proved = found.mip_dual_bound
    bound = int(problem.focal.sum() if proved is None else np.floor(-proved + 1e-6))
    if found.x is None:
        return np.zeros(len(problem.focal), dtype=bool), bound
    return np.asarray(found.x > 0.5), bound


def _branch_and_bound(cost: Floats, **given: Any) -> OptimizeResult:
    """Solve a mixed-integer program; HiGHS prints lines of its own meanwhile, whatever its options say."""
    with without_lines(b"Highs"):
        return milp(cost, **given)


def _limits(problem: Problem) -> int:
    return int(problem.numbers.shape[1])


def _signs(problem: Problem) -> Floats:
    return np.where(problem.focal, 1.0, -1.0)


def _apart(problem: Problem) -> Rows:
    """Return the rows ``[k, n]`` whose products with x are sums of focal less sums of reference numbers."""
    return sparse.csr_array((problem.numbers * _signs(problem)[:, None]).T)


def _balance(problem: Problem) -> tuple[Rows, Rows]:
    apart = _apart(problem)
    room = sparse.csr_array(np.outer(problem.tolerance, problem.focal.astype(np.float64)))
    return apart - room, -apart - room


def _people(problem: Problem) -> Rows:
    """Return a row for each person with several units: at most one is chosen."""
    n = len(problem.focal)
    rows = sparse.csr_array((np.ones(n), (problem.people, np.arange(n))))
    return sparse.csr_array(rows[np.bincount(problem.people) > 1])


def _size(problem: Problem) -> Rows:
    return sparse.csr_array(problem.focal[None].astype(np.float64))


def _equal(problem: Problem) -> Rows:
    return sparse.csr_array((_signs(problem), (problem.strata, np.arange(len(problem.focal)))))


def _sized(problem: Problem, size: int) -> tuple[Rows, Floats]:
    """Return the inequalities of a sample of fixed size: balance (both signs, right side 0) and each person once."""
    apart = _apart(problem)
    rows = sparse.vstack([apart, -apart, _people(problem)], format="csr")
    return rows, np.concatenate([np.zeros(2 * _limits(problem)), np.ones(_people(problem).shape[0])])


def _exactly(problem: Problem) -> Rows:
    """Return the equalities of a sample of fixed size: equal sizes in each stratum, then the size."""
    return sparse.csr_array(sparse.vstack([_equal(problem), _size(problem)]))


def _solved(cost: Floats, rows: Rows, upper: Floats, equal: Rows, right: Floats | None = None) -> tuple[Floats, float]:
    zero = np.zeros(equal.shape[0]) if right is None else right
    found = linprog(  # type: ignore[call-overload]
        cost, A_ub=rows, b_ub=upper, A_eq=equal, b_eq=zero, bounds=(0, 1), method="highs-ds"
    )
    if not found.success:
        raise ExecutorError(
            f"The linear program of cardinality matching failed: {str(found.message)[:200]}",
            fix="Loosen max_smd, or match with method = optimal.",
        )
    return np.asarray(found.x), float(found.fun)
