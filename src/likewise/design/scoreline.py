"""Greedy matching on one score in O(n log n): sorted once, with the next unused found by union-find.

The pairs are those of the general search on the same score; this only gets there faster, when no rule looks at more
than the score. Rows and columns are sorted by key; ties go to the smaller row, then the smaller column.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from likewise.design.greedy import Codes, Taken
from likewise.design.points import Floats, Index
from likewise.design.scan import Partners

Candidate = tuple[float, int, int, int, int, bool]
"""Difference, row, column, the lower and the higher score's place, and whether the row has the lower one."""


@dataclass
class Scoreline:
    """One run over the scores of those who choose and those who are chosen."""

    choosing: Floats
    chosen: Floats
    own: Codes
    other: Codes
    limit: float
    used: npt.NDArray[np.bool_] = field(init=False)

    def pairs(self, *, most: int | None = None, order: Index | None = None) -> list[Taken]:
        """Return what is taken, in that order: closest first, or each row of ``order`` in its turn."""
        self.used = np.zeros(int(max(self.own.max(), self.other.max())) + 1, dtype=bool)
        found: list[Taken] = []
        for entry in self._closest() if order is None else self._in_turn(order.tolist()):
            found.append(entry)
            if len(found) == most:
                break
        self.used[self.own[[row for _, row, _ in found]]] = True
        self.used[self.other[[column for _, _, column in found]]] = True
        return found

    def partners(self) -> Partners:
        """Return who has anybody within the caliper."""
        rows, columns = (_nearest(*sides) <= self.limit for sides in self._both_ways())
        return Partners(["caliper score"], rows[None], columns[None])

    def _both_ways(self) -> list[tuple[Floats, Floats]]:
        return [(self.choosing, self.chosen), (self.chosen, self.choosing)]

    def _in_turn(self, order: list[int]) -> Iterator[Taken]:
        """Let each row take the nearest column that is left on its right or left."""
        line = np.lexsort((np.arange(len(self.chosen)), self.chosen))
        sorted_ = self.chosen[line]
        columns, scores = line.tolist(), [*sorted_.tolist(), np.inf]
        starts = np.searchsorted(sorted_, sorted_, side="left").tolist()  # where equal scores begin
        after = np.searchsorted(sorted_, self.choosing, side="left").tolist()
        mine, own, limit = self.choosing.tolist(), self.own.tolist(), self.limit
        right, left = list(range(len(columns) + 1)), list(range(len(columns) + 1))  # left is shifted by one
        people = _Members(self.other[line])
        whose = self.other[line].tolist()
        gone = bytearray(len(self.used))
        single = len(np.unique(self.own)) == len(self.own) and len(np.unique(self.other)) == len(self.other)
        for row in order:
            if gone[own[row]]:
                continue
            at, score = after[row], mine[row]
            up = at if right[at] == at else _find(right, at)
            down = (at if left[at] == at else _find(left, at)) - 1
            above, below = scores[up] - score, score - scores[down] if down >= 0 else np.inf
            if below <= above and below < np.inf:
                lowest = down if starts[down] == down else _find(right, starts[down])
                up = lowest if below < above or columns[lowest] < columns[up] else up
                above = below
            if above > limit or above == np.inf:
                continue
            yield above, row, columns[up]
            if single:
                right[up], left[up + 1] = up + 1, up
                continue
            gone[own[row]] = gone[whose[up]] = 1
            for position in people(whose[up]):
                right[position], left[position + 1] = position + 1, position

    def _closest(self) -> Iterator[Taken]:
        """Take the closest pair of all: it lies within one score or between two neighbouring scores."""
        line = _Line.of(self.choosing, self.chosen)
        heap = line.everything()
        rows, columns = _Members(self.own), _Members(self.other)
        own, other = self.own.tolist(), self.other.tolist()
        while heap:
            distance, row, column, low, high, upward = heapq.heappop(heap)
            if distance > self.limit:
                return
            if line.alive(row, column):
                yield distance, row, column
                line.remove(heap, rows(own[row]), columns(other[column]))
            line.offer(heap, low, high, upward)


@dataclass
class _Line:
    """Distinct scores in order, linked to their neighbours; each holds its rows and columns, smallest key last."""

    score: list[float]
    rows: list[list[int]]
    columns: list[list[int]]
    at_row: list[int]
    at_column: list[int]
    before: list[int]
    after: list[int]

    @classmethod
    def of(cls, choosing: Floats, chosen: Floats) -> _Line:
        score, place = np.unique(np.r_[choosing, chosen], return_inverse=True)
        at_row, at_column = place[: len(choosing)].tolist(), place[len(choosing) :].tolist()
        rows: list[list[int]] = [[] for _ in score]
        columns: list[list[int]] = [[] for _ in score]
        for stacks, at in ((rows, at_row), (columns, at_column)):
            for index in range(len(at) - 1, -1, -1):
                stacks[at[index]].append(index)
        count = len(score)
        return cls(
            score.tolist(), rows, columns, at_row, at_column, list(range(-1, count - 1)), list(range(1, count + 1))
        )

    def everything(self) -> list[Candidate]:
        """Return the first candidates: within every score and between every two neighbours, both ways."""
        heap: list[Candidate] = []
        for place in range(len(self.score)):
            self._offer_between(heap, place, place + 1)
            if self.rows[place] and self.columns[place]:
                self.offer(heap, place, place, True)
        return heap

    def offer(self, heap: list[Candidate], low: int, high: int, upward: bool) -> None:
        """Put the first living row and column of two neighbouring (or one) scores on the heap, if there are any."""
        if low != high and (self.after[low] != high or self.before[high] != low):
            return
        row_at, column_at = (low, high) if upward else (high, low)
        rows, columns = (
            self._living(self.rows, self.at_row, row_at),
            self._living(self.columns, self.at_column, column_at),
        )
        if rows and columns:
            entry = (self.score[high] - self.score[low], rows[-1], columns[-1], low, high, upward)
            heapq.heappush(heap, entry)

    def alive(self, row: int, column: int) -> bool:
        """Whether both are still there."""
        return self.at_row[row] >= 0 and self.at_column[column] >= 0

    def remove(self, heap: list[Candidate], rows: list[int], columns: list[int]) -> None:
        """Take these out; scores that hold nobody any more are unlinked, and their neighbours meet."""
        touched = set()
        for at, members in ((self.at_row, rows), (self.at_column, columns)):
            for index in members:
                touched.add(at[index])
                at[index] = -1
        for place in touched - {-1}:
            if not self._living(self.rows, self.at_row, place) and not self._living(
                self.columns, self.at_column, place
            ):
                self._unlink(heap, place)

    def _living(self, stacks: list[list[int]], at: list[int], place: int) -> list[int]:
        stack = stacks[place]
        while stack and at[stack[-1]] < 0:
            stack.pop()
        return stack

    def _unlink(self, heap: list[Candidate], place: int) -> None:
        low, high = self.before[place], self.after[place]
        if low >= 0:
            self.after[low] = high
        if high < len(self.score):
            self.before[high] = low
        if low >= 0 and high < len(self.score):
            self._offer_between(heap, low, high)

    def _offer_between(self, heap: list[Candidate], low: int, high: int) -> None:
        if high < len(self.score):
            self.offer(heap, low, high, True)
            self.offer(heap, low, high, False)


def _nearest(own: Floats, other: Floats) -> Floats:
    """Return how far the nearest of the others is from each."""
    line = np.r_[-np.inf, np.sort(other), np.inf]
    at = np.searchsorted(line, own, side="left")
    nearest: Floats = np.minimum(line[at] - own, own - line[at - 1])
    return nearest


def _find(parent: list[int], at: int) -> int:
    """Return the nearest that is left, making the way shorter for whoever comes next."""
    while parent[at] != at:
        parent[at] = parent[parent[at]]
        at = parent[at]
    return at


class _Members:
    """Return the positions of a code."""

    def __init__(self, codes: Codes) -> None:
        self._order: list[int] = np.argsort(codes, kind="stable").tolist()
        counts = np.bincount(codes)
        self._end: list[int] = np.cumsum(counts).tolist()

    def __call__(self, code: int) -> list[int]:
        return self._order[self._end[code - 1] if code else 0 : self._end[code]]
