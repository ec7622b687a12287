"""Greedy matching on one score in O(n log n): sorted once; whole arrays while that settles many, then one by one.

One by one, the next unused is found by union-find, and the closest pair of all by a heap. The pairs are those of the
general search on the same score; this only gets there faster, when no rule looks at more than the score. Rows and
columns are sorted by key; ties go to the smaller row, then the smaller column.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from likewise.design.search.greedy import Codes, Taken
from likewise.design.search.points import Floats, Index
from likewise.design.search.scan import Partners
from likewise.design.search.score_rounds import Found, Side, closest, in_order, in_turn, together

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
        rows, columns = Side.of(self.choosing, self.own), Side.of(self.chosen, self.other)
        self.used = np.zeros(int(max(self.own.max(), self.other.max())) + 1, dtype=bool)
        found = self._closest(rows, columns) if order is None else self._in_turn(rows, columns, order)
        found = found.at(slice(most))
        self.used[:] = False
        self.used[self.own[found.row]] = self.used[self.other[found.column]] = True
        return list(zip(*(part.tolist() for part in found), strict=True))

    def _closest(self, rows: Side, columns: Side) -> Found:
        found, rows, columns = closest(rows, columns, self.limit, self.used)
        rest = _found(_closest_one_by_one(rows.by_key(), columns.by_key(), self.limit))
        return in_order(together([found, rest]))

    def _in_turn(self, rows: Side, columns: Side, order: Index) -> Found:
        found, left = in_turn(rows, columns, self.limit, self.used, order)
        columns = columns.kept(~self.used[columns.code])
        return together([found, _found(self._one_by_one(columns, left.tolist()))])

    def partners(self) -> Partners:
        """Return who has anybody within the caliper."""
        rows, columns = (_nearest(*sides) <= self.limit for sides in self._both_ways())
        return Partners(["caliper score"], rows[None], columns[None])

    def _both_ways(self) -> list[tuple[Floats, Floats]]:
        return [(self.choosing, self.chosen), (self.chosen, self.choosing)]

    def _one_by_one(self, chosen: Side, order: list[int]) -> Iterator[Taken]:
        """Let each row take the nearest column that is left on its right or left."""
        columns, scores, whose = chosen.key.tolist(), [*chosen.score.tolist(), np.inf], chosen.code.tolist()
        starts = np.searchsorted(chosen.score, chosen.score, side="left").tolist()  # where equal scores begin
        after = np.searchsorted(chosen.score, self.choosing, side="left").tolist()
        mine, own, limit = self.choosing.tolist(), self.own.tolist(), self.limit
        right, left = list(range(len(columns) + 1)), list(range(len(columns) + 1))  # left is shifted by one
        people, gone = _Members(chosen.code), bytearray(self.used)
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
            gone[own[row]] = gone[whose[up]] = 1
            for position in people(whose[up]):
                right[position], left[position + 1] = position + 1, position


def _closest_one_by_one(rows: Side, columns: Side, limit: float) -> Iterator[Taken]:
    """Take the closest pair of all: it lies within one score or between two neighboring scores."""
    line = _Line.of(rows.score, columns.score)
    heap = line.everything()
    people, others = _Members(rows.code), _Members(columns.code)
    own, other = rows.code.tolist(), columns.code.tolist()
    names = rows.key.tolist(), columns.key.tolist()
    while heap:
        distance, row, column, low, high, upward = heapq.heappop(heap)
        if distance > limit:
            return
        if line.alive(row, column):
            yield distance, names[0][row], names[1][column]
            line.remove(heap, people(own[row]), others(other[column]))
        line.offer(heap, low, high, upward)


def _found(pairs: Iterator[Taken]) -> Found:
    table = np.array(list(pairs), dtype=np.float64).reshape(-1, 3)  # keys are whole numbers far below 2^53
    return Found(table[:, 0], table[:, 1].astype(np.intp), table[:, 2].astype(np.intp))


@dataclass
class _Line:
    """Distinct scores in order, linked to their neighbors; each holds its rows and columns, smallest key last."""

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
        """Return the first candidates: within every score and between every two neighbors, both ways."""
        heap: list[Candidate] = []
        for place in range(len(self.score)):
            self._offer_between(heap, place, place + 1)
            if self.rows[place] and self.columns[place]:
                self.offer(heap, place, place, True)
        return heap

    def offer(self, heap: list[Candidate], low: int, high: int, upward: bool) -> None:
        """Put the first living row and column of two neighboring (or one) scores on the heap, if there are any."""
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
        """Take these out; scores without units are unlinked, and their neighbors meet."""
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
