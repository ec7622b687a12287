"""Passing over all pairs in blocks: which keep the rules, and the nearest few of every focal image.

Two ways lead to the same lists. When the rules leave few pairs, those are listed and measured exactly. Otherwise the
bounds of all pairs are taken block by block and each row keeps its nearest. Memory is bounded by a parameter; the
number of blocks and threads, and where they are done, is a matter of speed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from likewise.design.constraints import Mask, Rule, by_row
from likewise.design.search.bounds import ProjectionBounds, bounded
from likewise.design.search.distributed import LARGE, ListBlock, RuleBlock, spread
from likewise.design.search.metric import Metric, Table
from likewise.design.search.points import Floats, Index, Numbers, blocks
from likewise.design.search.threads import threaded
from likewise.design.search.topk import SLAB, Few, smallest
from likewise.runtime.executor import Executor, Progress, Result, Silent

LIST = 48  # partners remembered a row at first; a matter of speed alone
_FEW = 0.02  # the share of admissible pairs up to which they are simply listed
_LISTED = 2**24  # pairs of an optimal matching that are listed at most; not by the memory, which may change no pair
_LEAST_ROWS, _MOST_ROWS = 16, 4096
_Done = TypeVar("_Done")


@dataclass
class Nearest:
    """What is known of one row: candidates with their distance or a lower bound, and a bound for all others."""

    columns: Index
    values: Floats
    known: Mask
    rest: float
    ordered: bool = False
    """Whether all are distances, in order of distance and key."""

    def keep(self, mask: Mask) -> None:
        """Forget the other candidates."""
        self.columns, self.values, self.known = self.columns[mask], self.values[mask], self.known[mask]


@dataclass(frozen=True)
class Partners:
    """For each rule in turn, which rows and columns still had a partner after it and all earlier ones."""

    stages: list[str]
    rows: Mask
    columns: Mask


@dataclass
class Scan:
    """One passing over the pairs of a metric under rules."""

    metric: Metric
    rules: list[Rule]
    farthest: float = np.inf
    farthest_name: str = "caliper distance"
    memory: int = 2**30
    threads: int = 1
    engine: Executor | None = None
    """Where blocks of a large search are done; nothing means here."""
    stages: list[str] = field(init=False)
    """The rules in the order in which they are asked; the distance comes last."""

    def __post_init__(self) -> None:
        self.stages = [rule.name for rule in self.rules]
        if np.isfinite(self.farthest):
            self.stages.append(self.farthest_name)
        rows, columns = self.metric.shape
        self.row_ok = np.zeros((len(self.stages), rows), dtype=bool)
        self.column_ok = np.zeros((len(self.stages), columns), dtype=bool)
        self._table: Numbers | None = None

    @property
    def everyone(self) -> Index:
        """All columns."""
        return np.arange(self.metric.shape[1], dtype=np.intp)

    @property
    def asks_cheaply(self) -> bool:
        """Whether a row that is asked again costs no product."""
        return self._table is not None

    @property
    def _away(self) -> bool:
        """Whether blocks are worth sending to the engine."""
        work = self.metric.shape[0] * self.metric.shape[1] * self.metric.row_bytes / 4
        return self.engine is not None and self.engine.kind != "local" and not self.metric.settled and work >= LARGE

    def lists(self, progress: Progress | None = None) -> list[Nearest]:
        """Return the nearest of every row: all of its partners if there are few, or the first ones."""
        progress = progress or Silent()
        few = self.few_lists(progress, most=self.memory / 64)
        if few is not None:
            return few
        self.metric = bounded(self.metric, self.farthest, memory=self.memory, threads=self.threads)
        most = -(-LIST // 3) if self.metric.settled else LIST  # a ready table is asked again at little cost
        return [entry for part in self._first_lists(most, progress) for entry in part]

    def few_lists(self, progress: Progress, *, most: float = np.inf) -> list[Nearest] | None:
        """Return all partners of every row, measured, if the rules leave few (at most so many pairs), else nothing."""
        few = self._few(progress, most) if self.rules else None
        return None if few is None else self._measured(few)

    def _first_lists(self, most: int, progress: Progress) -> Iterator[list[Nearest]]:
        if self._away:
            for result in self._spread(ListBlock(self, most), progress):
                yield _unpacked(result)
            return
        self._keep_table()
        for part in self._threaded(lambda rows: self.nearest(rows, self.everyone, most, first=True)):
            yield part
            progress.advance(len(part))

    def _keep_table(self) -> None:
        """Make room for all bounds if they fit: a row that is asked again then costs no product."""
        if not self.metric.settled and 4 * self.metric.shape[0] * self.metric.shape[1] <= self.memory // 8:
            self._table = np.empty(self.metric.shape, dtype=np.float32)

    def nearest(self, rows: Index, columns: Index, most: int, *, first: bool = False) -> list[Nearest]:
        """Return the ``most`` smallest bounds of these rows over these columns."""
        if self._table is not None and not first:
            return self._lists(smallest(self._table[np.ix_(rows, columns)], most), columns)
        if isinstance(self.metric, Table) and not self.stages:
            return self._lists(self.metric.smallest(rows, columns, most), columns)
        bounds = self.bounds(rows, columns)
        if self._table is not None:
            self._table[rows] = bounds
        if first and np.isfinite(self.farthest):
            self.note_distance(rows, columns, bounds)
        return self._lists(smallest(bounds, most), columns)

    def nearest_exactly(self, rows: Index, columns: Index, most: int) -> list[Index]:
        """Return for each row the ``most`` nearest columns in order of distance, then key."""
        runs = (rows[index] for index in blocks(len(rows), self.rows_at_once()))
        lists = ((run, self.nearest(run, columns, most + 8)) for run in runs)
        return [
            self._surely_nearest(int(row), found, columns, most)
            for run, part in lists
            for row, found in zip(run, part, strict=True)
        ]

    def _surely_nearest(self, row: int, found: Nearest, columns: Index, most: int) -> Index:
        """Measure a list; where it is too short to tell, ask for one twice as long."""
        distances = self.metric.exact(row, found.columns)
        order = np.flatnonzero(distances <= self.farthest)
        order = order[np.lexsort((found.columns[order], distances[order]))][:most]
        if found.rest == np.inf or (len(order) == most and distances[order[-1]] < found.rest):
            return found.columns[order]
        longer = self.nearest(np.array([row]), columns, 2 * max(len(found.columns), most))[0]
        return self._surely_nearest(row, longer, columns, most)

    def bounds(self, rows: Index, columns: Index, dtype: type[np.floating] = np.float32) -> Numbers:
        """Return lower bounds of the distances; infinity where a rule forbids the pair."""
        found = self.metric.lower(rows, columns, dtype)
        if self.metric.settled and self.stages:
            found = found.copy()  # a given table is not ours to write on
        for rule in self.rules:
            found[~rule.mask(rows, columns)] = np.inf
        if np.isfinite(self.farthest):
            found[found > self.farthest] = np.inf
        return found

    def admitted(self, row: int, columns: Index) -> Index:
        """Return which of these columns keep the rules with a row; the distance is not asked."""
        keep = np.ones(len(columns), dtype=bool)
        for rule in self.rules:
            keep &= rule.mask(np.array([row]), columns)[0]
        return columns[keep]

    def listed(self, progress: Progress | None = None) -> tuple[Index, Index, Floats] | None:
        """Return all admissible pairs and their distances if the rules leave few, else nothing."""
        lists = self.few_lists(progress or Silent(), most=_LISTED)
        if lists is None:
            return None
        rows = np.repeat(np.arange(len(lists)), [len(entry.columns) for entry in lists])
        return (
            rows,
            np.concatenate([entry.columns for entry in lists]),
            np.concatenate([entry.values for entry in lists]),
        )

    def partners(self) -> Partners:
        """Return who had a partner left after each rule."""
        return Partners(self.stages, self.row_ok, self.column_ok)

    def _lists(self, slabs: Iterable[Few], columns: Index) -> list[Nearest]:
        settled = self.metric.settled and np.isinf(self.farthest)
        found = []
        for few in slabs:
            known = np.full(few.at.shape, self.metric.settled)
            rows = zip(columns[few.at], few.values, known, few.count.tolist(), few.rest.tolist(), strict=True)
            found += [Nearest(at[:n], values[:n], sure[:n], rest, settled) for at, values, sure, n, rest in rows]
        return found

    def _few(self, progress: Progress, most: float) -> list[tuple[Index, Index]] | None:
        """Return for runs of rows the pairs that keep all rules, or nothing when there are too many of them."""
        rows, everyone = self.metric.shape
        limit = min(_FEW * rows * everyone, most)
        found: list[tuple[Index, Index]] | None = []
        count = 0
        for more, pairs in self._kept_pairs(limit):
            count += more
            found = None if count > limit or found is None else [*found, pairs]
        if found is not None:
            progress.advance(rows)
        return found

    def _kept_pairs(self, most: float) -> Iterator[tuple[int, tuple[Index, Index]]]:
        if self._away:
            for result in self._spread(RuleBlock(self, most), Silent()):
                yield int(result["count"]), (result["row"], result["column"])
            return
        for run, (at_row, at_column) in self._threaded_runs(lambda run: np.nonzero(self.masked(run, self.everyone))):
            yield len(at_row), (run[at_row], at_column)

    def _spread(self, block: ListBlock | RuleBlock, progress: Progress) -> Iterator[Result]:
        """Do blocks on the engine, and note what they noted about partners."""
        assert self.engine is not None
        for run, result in spread(self.engine, block, self.metric.shape[0], self.rows_at_once(), progress):
            self.row_ok[:, run] |= result["row_ok"]
            self.column_ok |= result["column_ok"]
            yield result

    def list_block(self, rows: Index, most: int) -> Result:
        """Return the first lists of some rows, one after another, and what was noted; nothing changes here."""
        alone = replace(self, engine=None)
        lists = alone.nearest(rows, self.everyone, most, first=True)
        return {
            "length": np.array([len(entry.columns) for entry in lists]),
            "columns": np.concatenate([entry.columns for entry in lists]),
            "values": np.concatenate([entry.values for entry in lists]),
            "rest": np.array([entry.rest for entry in lists]),
            "row_ok": alone.row_ok[:, rows],
            "column_ok": alone.column_ok,
        }

    def rule_block(self, rows: Index, most: float) -> Result:
        """Return the pairs of some rows that keep all rules, unless they are too many, and what was noted."""
        alone = replace(self, engine=None)
        at_row, at_column = np.nonzero(alone.masked(rows, self.everyone))
        few = slice(None) if len(at_row) <= most else slice(0)
        pairs = {"count": np.array(len(at_row)), "row": rows[at_row[few]], "column": at_column[few]}
        return {**pairs, "row_ok": alone.row_ok[:, rows], "column_ok": alone.column_ok}

    def masked(self, rows: Index, columns: Index) -> Mask:
        """Return which pairs keep all rules, and note who has a partner after each."""
        keep = np.ones((len(rows), len(columns)), dtype=bool)
        for stage, rule in enumerate(self.rules):
            keep &= rule.mask(rows, columns)
            self.row_ok[stage, rows] = keep.any(axis=1)
            self.column_ok[stage, keep.any(axis=0)] = True  # only ever set, so that threads cannot undo each other
        return keep

    def _measured(self, few: list[tuple[Index, Index]]) -> list[Nearest]:
        nothing = np.empty(0, dtype=np.intp)
        found = [Nearest(nothing, np.empty(0), np.empty(0, dtype=bool), np.inf) for _ in range(self.metric.shape[0])]
        for rows, columns in few:
            for row, partners in by_row(rows, columns):
                distances = self.metric.exact(row, partners)
                near = (distances <= self.farthest) & np.isfinite(distances)
                if np.isfinite(self.farthest):
                    self.row_ok[-1, row] = near.any()
                    self.column_ok[-1, partners[near]] = True
                order = np.flatnonzero(near)[np.lexsort((partners[near], distances[near]))]
                known = np.ones(len(order), dtype=bool)
                found[row] = Nearest(partners[order], distances[order], known, np.inf, ordered=True)
        return found

    def note_distance(self, rows: Index, columns: Index, bounds: Numbers) -> None:
        """Note who has a partner within the caliper on the distance; doubtful pairs are measured."""
        sure: Mask = np.asarray(self.metric.upper(rows, columns, bounds) <= self.farthest)
        row_ok, column_ok = np.asarray(sure.any(axis=1)), np.asarray(sure.any(axis=0))
        doubtful = (bounds <= self.farthest) & ~sure & ~(row_ok[:, None] & column_ok[None, :])
        for row, open_ in by_row(*np.nonzero(doubtful)):
            near = self.metric.exact(int(rows[row]), columns[open_]) <= self.farthest
            row_ok[row] |= near.any()
            column_ok[open_[near]] = True
        self.row_ok[-1, rows] = row_ok
        self.column_ok[-1, column_ok] = True

    def _threaded(self, work: Callable[[Index], _Done]) -> Iterator[_Done]:
        for _, done in self._threaded_runs(work):
            yield done

    def _threaded_runs(self, work: Callable[[Index], _Done]) -> Iterator[tuple[Index, _Done]]:
        yield from threaded(work, blocks(self.metric.shape[0], self.rows_at_once()), self.threads)

    def rows_at_once(self) -> int:
        """Return how many rows fit: bounds (float32 or float64), a mask, and what the metric reads."""
        each = self.metric.row_bytes + 14 * self.metric.shape[1]
        most = (
            SLAB if isinstance(self.metric, ProjectionBounds) else _MOST_ROWS
        )  # short products: bounds stay in the cache
        return int(np.clip(self.memory // 4 // (each * self.threads), _LEAST_ROWS, most))


def _unpacked(result: Result) -> list[Nearest]:
    """Return the lists that came back from an engine."""
    ends = np.cumsum(result["length"])[:-1]
    parts = zip(np.split(result["columns"], ends), np.split(result["values"], ends), result["rest"], strict=True)
    return [
        Nearest(columns, values, np.zeros(len(columns), dtype=bool), float(rest)) for columns, values, rest in parts
    ]
