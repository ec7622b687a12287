"""Closer balance by exchanges of whole units, for samples that are small.

The programs minimize the largest difference and leave the others as they fall; and the whole units nearest to a
fractional solution differ from it by about one unit's part of a mean. In a sample of thousands that is nothing, in one
of thirty it is most of the imbalance that is left. So two units at most, one a side, are exchanged for others at a
time, as long as the sum of the squared differences falls and every constraint still holds. Columns that are named count
more than the numbers of the vectors: who names a column presumes that it is a confounder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.design.cardinality.problem import Floats, Mask, Problem

FEW_PAIRS = 60  # up to which a sample counts as small
_NUMBERS = 10_000_000  # exchanges of one side times numbers: more are not tried
_STEPS = 100
_BEST = 1000  # exchanges of either side, the best ones alone, that are tried together
_TRIED = 200  # of these the best, until one keeps the tolerance
_LESS = 1e-6  # the share by which the sum has to fall
_NAMED = 2.0  # the factor by which the difference of a named column counts more


@dataclass(frozen=True)
class _Moves:
    """Exchanges on one side; the first is none at all."""

    out: npt.NDArray[np.intp]
    into: npt.NDArray[np.intp]
    change: Floats
    """What each adds to the differences of the means, ``[m, k]``."""

    def best(self, apart: Floats, scale: Floats) -> _Moves:
        """Return the exchanges that alone leave the least, and none at all."""
        weights = scale**2
        left = (self.change[1:] ** 2) @ weights + 2 * self.change[1:] @ (weights * apart)
        rows = np.r_[0, 1 + np.argsort(left, kind="stable")[:_BEST]]
        return _Moves(self.out[rows], self.into[rows], self.change[rows])


def exchanged(problem: Problem, chosen: Mask) -> Mask:
    """Return a sample of the same size that is balanced at least as closely, in the weighted sum of squares."""
    chosen = chosen.copy()
    if not 0 < chosen.sum() <= 2 * FEW_PAIRS or _numbers(problem, chosen) > _NUMBERS:
        return chosen
    named = np.zeros(problem.numbers.shape[1], dtype=bool) if problem.named is None else problem.named
    scale = np.where(named, _NAMED, 1.0)
    for _ in range(_STEPS):
        if not _step(problem, chosen, scale):
            break
    return chosen


def _numbers(problem: Problem, chosen: Mask) -> int:
    sides = (problem.focal, ~problem.focal)
    most = max(int((chosen & side).sum()) * int((side & ~chosen).sum()) for side in sides)
    return most * int(problem.numbers.shape[1])


def _step(problem: Problem, chosen: Mask, scale: Floats) -> bool:
    """Make the best exchange in place; say whether there was one."""
    apart = problem.apart(chosen)
    one, other = (_moves(problem, chosen, side).best(apart, scale) for side in (problem.focal, ~problem.focal))
    moved = apart + one.change  # [m, k]
    a, b = moved * scale, other.change * scale
    left = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) + 2 * a @ b.T  # [m, m']
    few = np.argpartition(left.ravel(), min(_TRIED, left.size - 1))[:_TRIED]
    limit = float(((apart * scale) ** 2).sum()) * (1 - _LESS)
    for place in few[np.lexsort((few, left.ravel()[few]))].tolist():
        x, y = divmod(place, left.shape[1])
        if left[x, y] >= limit:
            return False
        if (np.abs(moved[x] + other.change[y]) <= problem.tolerance).all():
            for moves, row in ((one, x), (other, y)):
                if moves.out[row] >= 0:
                    chosen[moves.out[row]], chosen[moves.into[row]] = False, True
            return True
    return False


def _moves(problem: Problem, chosen: Mask, side: Mask) -> _Moves:
    """Return the exchanges of a chosen unit for another of its side and stratum whose person is not in the sample."""
    holder = np.full(int(problem.people.max()) + 1, -1)
    holder[problem.people[chosen]] = np.flatnonzero(chosen)
    out, into = np.flatnonzero(chosen & side), np.flatnonzero(side & ~chosen)
    held = holder[problem.people[into]]
    fits = (problem.strata[out][:, None] == problem.strata[into]) & ((held < 0) | (held == out[:, None]))
    rows, columns = np.nonzero(fits)
    sign = 1.0 if side is problem.focal else -1.0
    change = sign * (problem.numbers[into[columns]] - problem.numbers[out[rows]]) / len(out)
    none = np.full(1, -1, dtype=np.intp)
    return _Moves(
        np.r_[none, out[rows]], np.r_[none, into[columns]], np.vstack([np.zeros(problem.numbers.shape[1]), change])
    )
