"""Blocks of a large search on an engine: in processes or on a Ray cluster, with the lists that this process would make.

A block travels with the whole search. Vectors that are mapped from a file travel as the file's name, so the machines of
a cluster see it under one path; for processes of this machine, vectors in memory are put into such a file first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from likewise.design.search.points import Index
from likewise.runtime.executor import Executor, Progress, Result
from likewise.tables import Vectors

LARGE = 2**37  # multiplications from which sending them away is worth the way


class Searching(Protocol):
    """A search that can do its blocks by themselves."""

    def list_block(self, rows: Index, most: int) -> Result:
        """Make the first lists of some rows."""

    def rule_block(self, rows: Index, most: float) -> Result:
        """List the pairs of some rows that keep all rules, unless there are too many."""


@dataclass(frozen=True)
class ListBlock:
    """The work of one chunk of rows: their first lists."""

    search: Searching
    most: int

    def __call__(self, items: list[str]) -> Result:
        """Do it with one BLAS thread, as everywhere."""
        with threadpool_limits(1, user_api="blas"):
            return self.search.list_block(_rows(items), self.most)


@dataclass(frozen=True)
class RuleBlock:
    """The work of one chunk of rows: their pairs that keep all rules."""

    search: Searching
    most: float

    def __call__(self, items: list[str]) -> Result:
        """Do it with one BLAS thread, as everywhere."""
        with threadpool_limits(1, user_api="blas"):
            return self.search.rule_block(_rows(items), self.most)


def spread(
    engine: Executor, block: ListBlock | RuleBlock, count: int, size: int, progress: Progress
) -> Iterator[tuple[slice, Result]]:
    """Do the blocks of so many rows on an engine; yield which rows they were and what came of them, in order."""
    results = replace(engine, chunk=size).map(block, [str(row) for row in range(count)], progress=progress)
    for start, result in zip(range(0, count, size), results, strict=True):
        yield slice(start, start + size), result


@contextmanager
def on_file(every: list[Vectors | None], engine: Executor | None) -> Iterator[list[Vectors | None]]:
    """Give the same vectors, for processes mapped from a file."""
    if engine is None or engine.kind != "processes":
        yield every
        return
    with TemporaryDirectory() as folder:
        yield [_mapped(vectors, Path(folder) / f"{index}.npy") for index, vectors in enumerate(every)]


def _mapped(vectors: Vectors | None, path: Path) -> Vectors | None:
    if vectors is None or vectors.mapped:
        return vectors
    np.save(path, vectors.values, allow_pickle=False)
    return Vectors(vectors.keys, np.load(path, mmap_mode="r", allow_pickle=False), source=vectors.source)


def _rows(items: list[str]) -> Index:
    return np.array([int(item) for item in items], dtype=np.intp)
