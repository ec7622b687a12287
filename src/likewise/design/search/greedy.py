"""Greedy matching, exact and without an n x n matrix.

Every focal image keeps a short list of its nearest admissible partners, with lower bounds of their distances. A heap
holds each row's smallest value. What comes to the top as a bound is measured exactly and goes back; what comes to the
top as a distance is taken. A row whose list is used up is asked again, together with others near the top, over what
is still alive. The pairs, and their order, are those of "take the smallest admissible distance of all, remove,
repeat"; ties go to the smaller focal key, then the smaller reference key.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import numpy.typing as npt

from likewise.design.search.approximate import approximate_lists
from likewise.design.search.points import Index
from likewise.design.search.scan import LIST, Nearest, Scan
from likewise.runtime.executor import Progress

Codes = npt.NDArray[np.int64]
Taken = tuple[float, int, int]
"""Distance, focal row, reference column."""
Entry = tuple[float, bool, int, int]
"""A row's smallest value, whether it is a distance (and no bound), the row, and the column or -1."""
_TOGETHER = 256  # rows asked again in one go


@dataclass
class Greedy:
    """One run. Rows and columns are sorted by key."""

    scan: Scan
    own: Codes
    """For each focal image, the code of what may not recur (its identity, or itself)."""
    other: Codes
    """The same for each reference image."""
    accepts: Callable[[int, int], bool]
    """The last word on a pair that is about to be taken (references)."""
    approximate: bool = False
    """Whether the first lists come from an index."""
    replace: bool = False
    """Whether a reference may be taken several times."""
    used: npt.NDArray[np.bool_] = field(init=False)
    note: str = field(default="", init=False)
    """What to say about an approximate search."""

    def __post_init__(self) -> None:
        self.used = np.zeros(int(max(self.own.max(), self.other.max())) + 1, dtype=bool)
        self._served = np.zeros(len(self.own), dtype=np.int64)
        self._round = 0
        self._lists: list[Nearest] = []
        self._asked: dict[int, int] = {}
        self._refused: dict[int, list[int]] = {}
        self._upcoming: Callable[[], Iterator[int]] = lambda: iter(())

    def pairs(
        self, *, ratio: int = 1, most: int | None = None, order: Index | None = None, progress: Progress
    ) -> list[Taken]:
        """Return what is taken, in that order: closest first, or each row of ``order`` in its turn."""
        self.begin(progress)
        taken: list[Taken] = []
        for self._round in range(ratio):
            taking = self._closest() if order is None else self._in_turn(order)
            taken += islice(taking, None if most is None else most - len(taken))
        return taken

    def begin(self, progress: Progress) -> None:
        """Make the first lists."""
        if not self.approximate:
            self._lists = self.scan.lists(progress)
            return
        listed = approximate_lists(self.scan, progress)
        self._lists, self.note = listed.lists, listed.note

    def _open(self, row: int) -> bool:
        """Whether the row may still choose in this round; later rounds are for those who had all earlier ones."""
        return bool(self._served[row] == self._round and (self._round or not self.used[self.own[row]].any()))

    def _closest(self) -> Iterator[Taken]:
        rows = [row for row in range(len(self._lists)) if self._open(row)]
        heap = [
            (bound, False, row, -1)
            for bound, row in zip(_bounds([self._lists[row] for row in rows]), rows, strict=True)
        ]
        heapq.heapify(heap)
        self._upcoming = lambda: (entry[2] for entry in heapq.nsmallest(2 * _TOGETHER, heap))
        while heap:
            distance, settled, row, column = heapq.heappop(heap)
            if not self._open(row):
                continue
            if settled and not self.used[self.other[column]].any():
                yield self._take(distance, row, column)
                continue
            best = self.best(row)
            if best is not None:
                heapq.heappush(heap, (best[0], True, row, best[1]))

    def _in_turn(self, order: Index) -> Iterator[Taken]:
        waiting = deque(order.tolist())
        self._upcoming = lambda: islice(waiting, 2 * _TOGETHER)
        while waiting:
            row = waiting.popleft()
            best = self.best(row) if self._open(row) else None
            if best is not None:
                yield self._take(best[0], row, best[1])

    def _take(self, distance: float, row: int, column: int) -> Taken:
        self.used[self.own[row]] = True
        if not self.replace:
            self.used[self.other[column]] = True
        self._served[row] += 1
        return distance, row, column

    def best(self, row: int) -> tuple[float, int] | None:
        """Return the row's nearest partner that is alive and accepted, measured exactly."""
        while True:
            nearest = self._lists[row]
            nearest.keep(~spent(self.used, self.other[nearest.columns]))
            best = self._measured_best(row, nearest)
            if nearest.rest < np.inf and (best is None or nearest.rest <= best[0]):
                self._ask_again(row)
            elif best is None or self.accepts(row, best[1]):
                return best
            else:
                self._refused.setdefault(row, []).append(best[1])
                nearest.keep(nearest.columns != best[1])

    def _measured_best(self, row: int, nearest: Nearest) -> tuple[float, int] | None:
        """Measure candidates until none that is only bounded could be nearer than the nearest measured one."""
        if nearest.ordered:
            return (float(nearest.values[0]), int(nearest.columns[0])) if len(nearest.values) else None
        while len(nearest.columns):
            measured = np.flatnonzero(nearest.known)
            limit = nearest.values[measured].min() if len(measured) else np.inf
            open_ = np.flatnonzero(~nearest.known & (nearest.values <= limit))
            if len(open_) == 0:
                if not np.isfinite(limit):
                    return None
                ties = nearest.columns[measured[nearest.values[measured] == limit]]
                return float(limit), int(ties.min())
            if len(measured) == 0:
                open_ = open_[np.argmin(nearest.values[open_])][None]
            distances = self.scan.metric.exact(row, nearest.columns[open_])
            nearest.values[open_] = np.where(distances <= self.scan.farthest, distances, np.inf)
            nearest.known[open_] = True
        return None

    def _ask_again(self, row: int) -> None:
        """Look for the nearest over what is alive, for this row and for others that will need it soon.

        A row whose list was too short to tell (near-ties, duplicates) gets one twice as long.
        """
        if not self._used_up(row):
            self._asked[row] = 2 * self._asked.get(row, LIST)
        upcoming = iter(()) if self.scan.asks_cheaply else self._upcoming()
        others = (other for other in upcoming if other != row and self._used_up(other))
        rows = np.array(sorted({row, *islice(others, _TOGETHER - 1)}), dtype=np.intp)
        alive = np.flatnonzero(~spent(self.used, self.other))
        most = max(self._asked.get(index, LIST) + len(self._refused.get(index, ())) for index in rows.tolist())
        for index, nearest in zip(rows.tolist(), self._nearest(rows, alive, most), strict=True):
            self._lists[index] = nearest

    def _nearest(self, rows: Index, alive: Index, most: int) -> Iterable[Nearest]:
        for nearest, row in zip(self.scan.nearest(rows, alive, most), rows.tolist(), strict=True):
            refused = self._refused.get(row)
            if refused:
                nearest.keep(~np.isin(nearest.columns, refused))
            yield nearest

    def _used_up(self, row: int) -> bool:
        nearest = self._lists[row]
        return bool(nearest.rest < np.inf and self._open(row) and spent(self.used, self.other[nearest.columns]).all())


def spent(used: npt.NDArray[np.bool_], codes: Codes) -> npt.NDArray[np.bool_]:
    """Return which units show a person who is used; a unit has one code ``[n]``, or two ``[n, 2]``."""
    hit: npt.NDArray[np.bool_] = used[codes]
    return hit if hit.ndim == 1 else np.asarray(hit.any(axis=1))


def _bounds(lists: list[Nearest]) -> list[float]:
    """Return the smallest value of each list, or what bounds all others; of all at once, because there are many."""
    sizes = np.array([len(nearest.values) for nearest in lists], dtype=np.intp)
    least = np.full(len(lists), np.inf)
    if sizes.any():
        starts = np.r_[0, np.cumsum(sizes[sizes > 0])[:-1]]
        least[sizes > 0] = np.minimum.reduceat(np.concatenate([nearest.values for nearest in lists]), starts)
    bounds: list[float] = np.minimum(least, [nearest.rest for nearest in lists]).tolist()
    return bounds
