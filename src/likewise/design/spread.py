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
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from likewise.design.points import Index
from likewise.engine import Engine, Progress, Result
from likewise.tables import Vectors

if TYPE_CHECKING:
    from likewise.design.scan import Scan

LARGE = 2**37  # multiplications from which sending them away is worth the way


@dataclass(frozen=True)
class ListBlock:
    """Make the first lists of some rows."""

    scan: Scan
    most: int

    def __call__(self, items: list[str]) -> Result:
        """Return the lists, one after another, and what was noted about partners."""
        scan, rows = replace(self.scan, engine=None), _rows(items)
        with threadpool_limits(1, user_api="blas"):
            lists = scan.nearest(rows, scan.everyone, self.most, first=True)
        return {
            "length": np.array([len(entry.columns) for entry in lists]),
            "columns": np.concatenate([entry.columns for entry in lists]),
            "values": np.concatenate([entry.values for entry in lists]),
            "rest": np.array([entry.rest for entry in lists]),
            **_noted(scan, rows),
        }


@dataclass(frozen=True)
class RuleBlock:
    """List the pairs of some rows that keep all rules, unless there are too many."""

    scan: Scan
    most: float

    def __call__(self, items: list[str]) -> Result:
        """Return the pairs (rows and columns), how many there are, and what was noted about partners."""
        scan, rows = replace(self.scan, engine=None), _rows(items)
        with threadpool_limits(1, user_api="blas"):
            at_row, at_column = np.nonzero(scan.masked(rows, scan.everyone))
        few = slice(None) if len(at_row) <= self.most else slice(0)
        count = np.array(len(at_row))
        return {"count": count, "row": rows[at_row[few]], "column": at_column[few], **_noted(scan, rows)}


def spread(scan: Scan, block: ListBlock | RuleBlock, progress: Progress) -> Iterator[Result]:
    """Do the blocks on the scan's engine, in order, and note what they noted."""
    assert scan.engine is not None
    size = scan.rows_at_once()
    rows = [str(row) for row in range(scan.metric.shape[0])]
    for start, result in enumerate(replace(scan.engine, chunk=size).map(block, rows, progress=progress)):
        run = slice(start * size, start * size + result["row_ok"].shape[1])
        scan.row_ok[:, run] |= result["row_ok"]
        scan.column_ok |= result["column_ok"]
        yield result


@contextmanager
def on_file(every: list[Vectors | None], engine: Engine | None) -> Iterator[list[Vectors | None]]:
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
    return Vectors(vectors.images, np.load(path, mmap_mode="r", allow_pickle=False), source=vectors.source)


def _rows(items: list[str]) -> Index:
    return np.array([int(item) for item in items], dtype=np.intp)


def _noted(scan: Scan, rows: Index) -> Result:
    return {"row_ok": scan.row_ok[:, rows], "column_ok": scan.column_ok}
