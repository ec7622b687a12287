"""Greedy matching, closest pair first, exact and without an n x n matrix.

Every focal image keeps a short list of its nearest admissible partners; a heap holds each one's best. A row whose
list is used up is asked again over what is still alive. The pairs, and their order, are those of "take the
smallest admissible distance of all, remove, repeat"; ties go to the smaller focal key, then the smaller reference
key. Each distance is summed on its own (scipy's cdist, float64), so the block size cannot change it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from likewise.design.rules import Rules
from likewise.engine import Progress

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
_LIST = 16  # partners remembered a row; a matter of speed alone


@dataclass
class Greedy:
    """One run over focal ``x [n, p]`` and reference ``y [m, p]``, rows sorted by key."""

    x: Floats
    y: Floats
    rules: Rules
    own: Codes
    """For each focal image, the code of what may not recur (its identity, or itself)."""
    other: Codes
    """The same for each reference image; the codes of one identity are equal on both sides."""
    used: set[int] = field(default_factory=set)
    admitted_focal: npt.NDArray[np.bool_] = field(init=False)
    admitted_reference: npt.NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self._alive = np.arange(len(self.y), dtype=np.intp)
        self._lists: list[list[tuple[float, int]]] = []
        self.admitted_focal = np.zeros(len(self.x), dtype=bool)
        self.admitted_reference = np.zeros(len(self.y), dtype=bool)

    def pairs(self, most: int | None, progress: Progress) -> list[tuple[float, int, int]]:
        """Return (distance, focal row, reference row) in the order they were taken."""
        for row in range(len(self.x)):
            self._lists.append(self._nearest(row))
            progress.advance(1)
        heap = [(*partners[0][:1], row, partners[0][1]) for row, partners in enumerate(self._lists) if partners]
        heapq.heapify(heap)
        taken: list[tuple[float, int, int]] = []
        while heap and (most is None or len(taken) < most):
            distance, row, column = heapq.heappop(heap)
            if self.own[row] in self.used:
                continue
            if self.other[column] in self.used:
                self._push_next(heap, row)
                continue
            taken.append((distance, row, column))
            self.used |= {int(self.own[row]), int(self.other[column])}
        return taken

    def _push_next(self, heap: list[tuple[float, int, int]], row: int) -> None:
        partners = [entry for entry in self._lists[row] if self.other[entry[1]] not in self.used]
        if not partners:
            self._alive = self._alive[[self.other[column] not in self.used for column in self._alive]]
            partners = self._nearest(row)
        self._lists[row] = partners
        if partners:
            heapq.heappush(heap, (partners[0][0], row, partners[0][1]))

    def _nearest(self, row: int) -> list[tuple[float, int]]:
        columns = self._alive[self.rules.admits(row, self._alive)]
        if len(columns) == 0:
            return []
        distances = cdist(self.x[row : row + 1], self.y[columns])[0]
        near = distances <= self.rules.farthest
        columns, distances = columns[near], distances[near]
        self.admitted_focal[row] |= len(columns) > 0
        self.admitted_reference[columns] = True
        order = np.lexsort((columns, distances))[:_LIST]
        return [(float(distances[k]), int(columns[k])) for k in order]
