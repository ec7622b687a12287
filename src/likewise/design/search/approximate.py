"""Approximate first lists, on request only: an inverted-file index of faiss instead of a passing over all pairs.

What the index lists is measured exactly and has to keep the same hard rules; a row whose list is used up is asked
again over all that are left, exactly. What approximate search can cost is a nearer partner that the index did not
list. How often that happens is measured on a sample of rows against the exact search, and is said with the result.
When rules leave few pairs, these are listed as always, and no index is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from likewise.design.search.metric import Euclid
from likewise.design.search.points import Index, blocks
from likewise.design.search.scan import LIST, Nearest, Scan
from likewise.errors import SpecError
from likewise.runtime.executor import Progress

PROBED = 16  # one in so many cells of the index is looked into, and eight at least
SAMPLE, TRUE = 256, 10  # rows on which recall is measured, and their nearest that should be found
_TRAINED = 64  # points a cell that the cells are learned from


@dataclass
class Listed:
    """The lists of all rows, and which share of the true nearest they hold."""

    lists: list[Nearest]
    recall: float
    sample: int

    @property
    def note(self) -> str:
        """Say how good the search was."""
        if self.sample == 0:
            return "No approximate search was needed: the rules leave few pairs, and all of them were looked at"
        nearest = f"the true {TRUE} nearest of {self.sample} images"
        return f"Approximate search: it listed {100 * self.recall:.1f} % of {nearest}"


def approximate_lists(scan: Scan, progress: Progress) -> Listed:
    """Return what an index lists for every row, measured exactly."""
    few = scan.few_lists(progress, most=scan.memory / 64)
    if few is not None:
        return Listed(few, 1.0, 0)
    metric = scan.metric
    if not isinstance(metric, Euclid):
        raise SpecError("search = 'approximate' is not possible on precomputed distances", fix="Remove search.")
    index = _index(metric)
    found: list[Nearest] = []
    for rows in blocks(metric.shape[0], min(512, metric.x.run)):
        _, columns = index.search(metric.single_x(rows), min(LIST, metric.shape[1]))
        found += [_measured(scan, row, np.unique(list_[list_ >= 0])) for row, list_ in zip(rows, columns, strict=True)]
        progress.advance(len(rows))
    return _listed(scan, found)


def _index(metric: Euclid) -> Any:
    """Learn cells and put every reference point into one. Seeded, so that the same points make the same index."""
    try:
        import faiss  # noqa: PLC0415
    except ImportError as error:
        fix = "pip install 'likewise[scale]', or leave search out."
        raise SpecError("search = 'approximate' needs faiss, which is not installed", fix=fix) from error
    count, width = metric.shape[1], metric.y.width
    cells = int(np.clip(round(np.sqrt(count)), 1, max(1, count // 39)))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(width), width, cells)
    index.cp.seed = 1
    index.nprobe = min(cells, max(8, cells // PROBED))
    spread = np.unique(np.linspace(0, count - 1, min(count, _TRAINED * cells)).astype(np.intp))
    index.train(metric.single_y(spread))
    for part in blocks(count, metric.y.run):
        index.add(metric.single_y(part))
    return index


def _measured(scan: Scan, row: int, columns: Index) -> Nearest:
    """Measure what was listed and keeps the rules; all others count as no nearer than the farthest listed."""
    distances = scan.metric.exact(row, columns)
    rest = float(distances.max(initial=0.0)) if len(columns) < scan.metric.shape[1] else np.inf
    open_ = np.isin(columns, scan.admitted(row, columns)) & (distances <= scan.farthest)
    if np.isfinite(scan.farthest):
        scan.row_ok[-1, row] = open_.any()
        scan.column_ok[-1, columns[open_]] = True
    order = np.flatnonzero(open_)[np.lexsort((columns[open_], distances[open_]))]
    return Nearest(columns[order], distances[order], np.ones(len(order), dtype=bool), rest, ordered=True)


def _listed(scan: Scan, found: list[Nearest]) -> Listed:
    """Compare the lists of some rows, evenly spread over the keys, with the exact search under the same rules."""
    rows = np.unique(np.linspace(0, len(found) - 1, min(len(found), SAMPLE)).astype(np.intp))
    hits = wanted = 0
    for row, true in zip(rows.tolist(), scan.nearest_exactly(rows, scan.everyone, TRUE), strict=True):
        hits += int(np.isin(true, found[row].columns).sum())
        wanted += len(true)
    return Listed(found, hits / wanted if wanted else 1.0, len(rows))
