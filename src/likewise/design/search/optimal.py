"""Optimal matching: as many pairs as the rules allow, and of all such matchings one with the least total distance.

What may not recur (an identity, or an image) is a node, so that the problem is one between nodes: the distance of two
nodes is the smallest admissible distance between their images. Bounds of all node pairs come from float64 products in
blocks of one fixed shape. The assignment is solved on the bounds, its pairs are measured exactly, and it is solved
again until every chosen pair is a measured one. Then it is optimal: its total is exact, and every other matching
costs at least its own bounds, which are no smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_bipartite_matching, min_weight_full_bipartite_matching

from likewise.design.search.greedy import Codes, Taken
from likewise.design.search.points import Floats, Index, blocks
from likewise.design.search.scan import Scan
from likewise.design.search.threads import threaded
from likewise.errors import SpecError
from likewise.runtime.executor import Progress

_ROWS = 256  # the fixed block, so that memory and threads cannot change a bit of a bound


@dataclass
class Optimal:
    """One run; the same parts as a greedy one."""

    scan: Scan
    own: Codes
    other: Codes
    accepts: Callable[[int, int], bool]

    def __post_init__(self) -> None:
        self._left, self._right = _Nodes.of(self.own), _Nodes.of(self.other)

    def pairs(self, *, most: int | None = None, progress: Progress) -> list[Taken]:
        """Return the pairs of an optimal matching, closest first; with ``most``, the cheapest so many."""
        few = self.scan.listed(progress)
        if few is None:
            return self._dense(most, progress)
        accepted = np.array([self.accepts(int(i), int(j)) for i, j in zip(*few[:2], strict=True)], dtype=bool)
        return self._sparse(*(part[accepted] for part in few), most=most)

    def _sparse(self, rows: Index, columns: Index, distances: Floats, *, most: int | None) -> list[Taken]:
        """Solve over a list of admissible pairs, all of them measured."""
        if len(rows) == 0:
            return []
        u, v = self._left.node[rows], self._right.node[columns]
        order = np.lexsort((columns, rows, distances, v, u))
        first = np.r_[True, (np.diff(u[order]) != 0) | (np.diff(v[order]) != 0)]
        best = order[first]
        shape = (len(self._left), len(self._right))
        chosen = _assign_sparse(u[best], v[best], distances[best], shape, most)
        return sorted((float(distances[k]), int(rows[k]), int(columns[k])) for k in best[chosen])

    def _dense(self, most: int | None, progress: Progress) -> list[Taken]:
        cost = self._bounds(progress)
        found: dict[tuple[int, int], Taken | None] = {}
        while True:
            chosen = _assign(cost, most)
            fresh = [cell for cell in chosen if cell not in found]
            if not fresh:
                return sorted(entry for cell in chosen if (entry := found[cell]) is not None)
            for cell in fresh:
                found[cell] = entry = self._measured(*cell)
                cost[cell] = np.inf if entry is None else entry[0]

    def _bounds(self, progress: Progress) -> Floats:
        """Return a lower bound of the distance of every two nodes; infinity where no pair keeps the rules."""
        self._check_memory()
        cost = np.full((len(self._left), len(self._right)), np.inf)
        runs = blocks(len(self.own), _ROWS)
        for run, part in threaded(lambda run: self._folded(self._left.order[run]), runs, self.scan.threads):
            nodes = self._left.node[self._left.order[run]]  # sorted: a node's images follow each other
            starts = np.flatnonzero(np.r_[True, np.diff(nodes) != 0])
            folded = np.minimum.reduceat(part, starts, axis=0)
            cost[nodes[starts]] = np.minimum(cost[nodes[starts]], folded)
            progress.advance(len(run))
        return cost

    def _folded(self, rows: Index) -> Floats:
        bounds = self.scan.bounds(rows, self._right.order, np.float64).astype(np.float64, copy=False)
        if np.isfinite(self.scan.farthest):
            self.scan.note_distance(rows, self._right.order, bounds)
        return np.minimum.reduceat(bounds, self._right.starts, axis=1)

    def _measured(self, left: int, right: int) -> Taken | None:
        """Return the nearest admissible and accepted pair between two nodes."""
        columns = self._right.images(right)
        entries: list[Taken] = []
        for row in self._left.images(left).tolist():
            open_ = self.scan.admitted(row, columns)
            distances = self.scan.metric.exact(row, open_)
            near = (distances <= self.scan.farthest) & np.isfinite(distances)
            entries += [(float(distances[at]), row, int(open_[at])) for at in np.flatnonzero(near)]
        return next((entry for entry in sorted(entries) if self.accepts(*entry[1:])), None)

    def _check_memory(self) -> None:
        need = 8 * len(self._left) * len(self._right)
        if need > self.scan.memory:
            fix = "Give more with memory=, narrow the rules (exact, caliper, within), or use method = 'nearest'."
            raise SpecError(f"An optimal matching of so many takes {need / 2**30:.1f} GB", fix=fix)


@dataclass(frozen=True)
class _Nodes:
    """Images grouped by what may not recur; nodes are numbered by their first image, which keeps the order of keys."""

    node: Index
    order: Index
    starts: Index

    @classmethod
    def of(cls, codes: Codes) -> _Nodes:
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.intp)
        rank[np.argsort(first)] = np.arange(len(first))
        node = rank[inverse]
        order = np.argsort(node, kind="stable")
        return cls(node, order, np.flatnonzero(np.r_[True, np.diff(node[order]) != 0]))

    def __len__(self) -> int:
        return len(self.starts)

    def images(self, node: int) -> Index:
        end = self.starts[node + 1] if node + 1 < len(self.starts) else len(self.order)
        return self.order[self.starts[node] : end]


def _assign(cost: Floats, most: int | None) -> list[tuple[int, int]]:
    """Return the cells of a cheapest matching with as many pairs as can be had, or ``most`` of them."""
    open_ = np.isfinite(cost)
    if not open_.any():
        return []
    size = min(cost.shape) if open_.all() else _largest(coo_array(open_))
    if most is not None and most < size:
        at = linear_sum_assignment(_padded(cost, most))
    else:
        at = linear_sum_assignment(np.where(open_, cost, _last_resort(cost[open_], size)))
    real = (at[0] < cost.shape[0]) & (at[1] < cost.shape[1])
    cells = [(int(row), int(column)) for row, column in zip(at[0][real], at[1][real], strict=True)]
    return [cell for cell in cells if open_[cell]]


def _padded(cost: Floats, size: int) -> Floats:
    """Return the square problem whose full assignments are the matchings of exactly ``size`` pairs.

    Dummy columns take the rows, and dummy rows the columns, that stay alone; dummies never meet.
    """
    rows, columns = cost.shape
    square = np.full((rows + columns - size, rows + columns - size), np.inf)
    square[:rows, :columns] = cost
    square[:rows, columns:] = square[rows:, :columns] = 0.0
    return square


def _last_resort(costs: Floats, size: int) -> float:
    """Return what staying alone costs inside the solver: more than any matching, so that numbers come first.

    It orders the two aims and never reaches a result: a pair that a rule forbids is not returned.
    """
    return float(costs.max()) * (size + 1) + 1.0


def _largest(graph: coo_array) -> int:
    return int((maximum_bipartite_matching(graph.tocsr(), perm_type="column") >= 0).sum())


def _assign_sparse(u: Index, v: Index, cost: Floats, shape: tuple[int, int], most: int | None) -> Index:
    """Return which of the listed cells a cheapest matching takes: the same over a sparse graph.

    Every row has a dummy column of its own for staying alone. Weights are shifted by one, because the solver takes a
    stored zero for no edge; every full matching has as many edges, so that a shift changes nothing.
    """
    size = _largest(coo_array((np.ones(len(u)), (u, v)), shape=shape))
    if most is not None and most < size:
        dense = np.full(shape, np.inf)
        dense[u, v] = cost
        cells = set(_assign(dense, most))
        return np.array([k for k, cell in enumerate(zip(u.tolist(), v.tolist(), strict=True)) if cell in cells])
    rows, columns = shape
    weight = 1.0 + np.r_[cost, np.full(rows, _last_resort(cost, size))]
    at = np.r_[u, np.arange(rows)], np.r_[v, columns + np.arange(rows)]
    taken = min_weight_full_bipartite_matching(coo_array((weight, at), shape=(rows, columns + rows)).tocsr())
    partner = np.full(rows, -1)
    partner[taken[0]] = taken[1]
    return np.flatnonzero(partner[u] == v)
