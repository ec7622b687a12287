"""The problem of cardinality matching: what is balanced, between whom, and whether a sample keeps every constraint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
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
    """The largest size wanted."""
    cost: Floats | None = None
    """How far each unit is from the other side, ``[n]``: of samples that are balanced alike the nearest is taken."""
    keep: float = 1.0
    """The share of the largest balanced sample that is kept; the rest is given up for closer balance."""

    named: Mask | None = None
    """Which numbers are columns that the spec names, ``[k]``: a presumed confounder is balanced more closely."""

    def violation(self, chosen: Mask) -> float:
        """Return by how much the balance of a sample exceeds the tolerance: the sum of squares over all numbers."""
        return float(excess(self.apart(chosen), self.tolerance))

    def holds(self, chosen: Mask) -> bool:
        """Whether the sample keeps every constraint."""
        people = self.people[chosen]
        sizes = self.sizes(chosen)
        once = len(np.unique(people)) == len(people)
        return once and bool((sizes[0] == sizes[1]).all()) and bool(
            (np.abs(self.apart(chosen)) <= self.tolerance + _SLACK).all()
        )  # fmt: skip

    def sizes(self, chosen: Mask) -> Codes:
        """Return how many units are chosen, by side and stratum ``[2, s]``."""
        count = int(self.strata.max()) + 1 if len(self.strata) else 1
        rows = [np.bincount(self.strata[chosen & side], minlength=count) for side in (self.focal, ~self.focal)]
        return np.stack(rows)

    def apart(self, chosen: Mask) -> Floats:
        """Return the differences of the means, focal - reference, ``[k]``."""
        sides = [self.numbers[chosen & side] for side in (self.focal, ~self.focal)]
        if not all(map(len, sides)):
            return np.zeros(self.numbers.shape[1])
        return np.asarray(sides[0].mean(axis=0) - sides[1].mean(axis=0))


def excess(apart: Floats, tolerance: Floats) -> Floats:
    """Return by how much differences ``[..., k]`` exceed the tolerance: the sum of squares."""
    return np.asarray((np.maximum(np.abs(apart) - tolerance, 0) ** 2).sum(axis=-1))
