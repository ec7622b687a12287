"""The largest balanced sample, or a little less of it that is balanced more closely, with a proof of its size.

The linear relaxation gives an upper bound on the size. At the largest size every confounder sits at its tolerance, on
the side where it was before matching, so that a matched gap keeps part of the unmatched bias. So a share ``keep`` of
the bound is taken, and within that size the tolerance is made as small as possible; among samples that are balanced
alike the one nearest to the other side is taken. Whole units come from branch and bound over the few fractional ones.
In a small sample, where whole units miss the program's balance by much, some are exchanged for others at last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likewise.design.cardinality.exchanges import exchanged
from likewise.design.cardinality.problem import Mask, Problem
from likewise.design.cardinality.programs import branched, cheapest, relaxed, tightest
from likewise.design.cardinality.rounding import repaired, whole
from likewise.errors import SpecError

WIDEST = 400  # numbers that are balanced at once
FEW = 300  # units, up to which a sample that rounding spoils is solved exactly
_STEPS = (1.0, 0.98, 0.95, 0.9, 0.8)  # shares of the wanted size that are tried, until whole units keep the tolerance
_CLOSE = 0.01  # share of the tolerance below which closer balance gains less than nearer units


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
    """Return a balanced sample of the wanted size, with the bound of the relaxation."""
    if problem.numbers.shape[1] > WIDEST:
        fix = "Balance scores or principal components instead (likewise.design.features)."
        raise SpecError(f"{problem.numbers.shape[1]} numbers are too many to balance (at most {WIDEST})", fix=fix)
    bound = relaxed(problem)
    wanted = bound if bound == problem.most else int(np.floor(problem.keep * bound + 1e-9))
    best = np.zeros(len(problem.focal), dtype=bool)
    for size in sorted({int(step * wanted) for step in _STEPS} - {0}, reverse=True):
        found = _of_size(problem, size)
        best = found if found.sum() > best.sum() else best
        if best.sum() // 2 >= size:
            break
    if best.sum() // 2 < 0.9 * wanted and len(problem.focal) <= FEW:  # rounding loses much of a small sample
        exact, bound = branched(problem)
        exact = repaired(problem, exact)
        best = exact if exact.sum() > best.sum() else best
    return Balanced(exchanged(problem, best), bound)


def _of_size(problem: Problem, size: int) -> Mask:
    """Return the sample of this size with the tightest balance, or a smaller one where whole units do not keep it."""
    share = min(max(tightest(problem, size) * 1.001, _CLOSE), 1.0)
    return whole(problem, cheapest(problem, size, share), size)
