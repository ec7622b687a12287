"""Rows of one quantity in every cell: values, differences to a reference, and how far the cells lie apart.

- A value has its own interval (Wilson's for shares and rates, the jackknife's for means), not adjusted for the number
  of cells.
- Differences hold simultaneously over the cells of a quantity (Bonferroni), each joined from the intervals of its two
  parts (MOVER, which is Newcombe's for shares). A cell is part of the overall value, so a difference to it is the
  difference to all *other* cells, times their share: p_k - p = (1 - w_k) (p_k - p_others).
- The largest difference (max - min) is pushed up by chance: cells with one true value still show a largest. It moves
  by no more than the range of the cells' errors, so its interval is the estimate +- the level's quantile of that range
  (Tukey), cut at 0. Errors are drawn from a normal distribution with the cells' correlations and with standard
  deviations that give back their simultaneous intervals, so that few clusters and rare errors count.
- ``max_min``, ``max_geometric_mean`` and ``gini``: see ``verification.differentials``.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import stats

from likewise.analysis.groups.cells import OVERALL
from likewise.analysis.groups.measured import CellSet, Measured
from likewise.analysis.labels import simultaneous_level
from likewise.analysis.verification.differentials import differentials, moves
from likewise.stats.intervals import Interval, newcombe
from likewise.stats.jackknife import Floats
from likewise.tables.estimates import remarked, row

ALL = "all groups"
_NORMAL = 10**6  # degrees of freedom of draws whose spread already allows for few clusters


def cell_rows(found: Measured, sample: str, reference: int, level: float) -> list[dict[str, object]]:
    """Write all rows of one quantity; ``reference`` is the place of a cell, or -1 for the overall value."""
    maker = CellRows(found, sample, level)
    return [*maker.values(), *maker.differences(reference), *maker.disparities()]


class CellRows:
    """The rows of one quantity."""

    def __init__(self, found: Measured, sample: str, level: float) -> None:
        self.found, self.sample, self.level = found, sample, level
        self.every: CellSet = range(len(found.names))
        self._row = partial(row, found.quantity, sample=sample, level=level, estimand="unadjusted")

    def values(self) -> list[dict[str, object]]:
        """Write the value of every cell, and the overall value."""
        stat = "group_rate" if self.found.proportion else "group_mean"
        rows = []
        for name, cells in [*((name, [k]) for k, name in enumerate(self.found.names)), (OVERALL, self.every)]:
            interval, word = self.found.interval(cells, self.level)
            method = remarked(self.found.method, word)
            rows.append(self._row(stat, group=name, found=interval, n=self.found.count(cells), method=method))
        return rows

    def differences(self, reference: int) -> list[dict[str, object]]:
        """Write the difference of every cell to the reference cell, or to the overall value."""
        others = [k for k in self.every if k != reference]
        level = simultaneous_level(self.level, len(others))
        name = OVERALL if reference < 0 else self.found.names[reference]
        method = f"MOVER, {self.found.method.partition(', ')[2] or self.found.method}, simultaneous over {len(others)}"
        rows = []
        for k in others:
            rest = [j for j in self.every if j != k] if reference < 0 else [reference]
            share = self.found.weight(rest) / self.found.weight(self.every) if reference < 0 else 1.0
            gap = self._difference([k], rest, level)
            scaled = Interval(share * gap.estimate, share * gap.low, share * gap.high, gap.clusters)
            group = f"{self.found.names[k]} - {name}"
            count = self.found.count([k]) + self.found.count(rest)
            rows.append(self._row("group_difference", group=group, found=scaled, n=count, method=method))
        return rows

    def disparities(self) -> list[dict[str, object]]:
        """Write the largest difference and, of rates, the ratios and the Gini coefficient of all cells."""
        single, many = [[k] for k in self.every], len(self.every)
        level = simultaneous_level(self.level, many)
        wide = [self.found.interval(cells, level)[0] for cells in single]
        values = np.array([each.estimate for each in wide])
        spread = self._spread(wide, single, level)
        clusters, n = min(each.clusters for each in wide), self.found.count(self.every)
        write = partial(self._row, group=ALL, n=n, clusters=clusters)
        rows = [write("max_difference", found=self._largest(values, spread, clusters), method="range of the errors")]
        if not self.found.proportion or not values.any():
            return rows
        sizes = np.array([float(self.found.count(cells)) for cells in single])
        return rows + [
            write(stat, found=interval, method=remarked("normal draws of log rates", word))
            for stat, interval, word in differentials(values, spread, sizes, clusters=_NORMAL, level=self.level)
        ]

    def _difference(self, one: CellSet, other: CellSet, level: float) -> Interval:
        both = self.found.covariance([one, other])
        spread = float(both[0, 0] * both[1, 1]) ** 0.5
        correlation = float(np.clip(both[0, 1] / spread, -1, 1)) if np.isfinite(spread) and spread > 0 else 0.0
        first, second = (self.found.interval(cells, level)[0] for cells in (one, other))
        return newcombe(first, second, correlation=correlation)

    def _spread(self, wide: list[Interval], single: list[list[int]], level: float) -> Floats:
        """Return a covariance with the cells' correlations and the widths of their simultaneous intervals."""
        half = np.array([max(each.high - each.estimate, each.estimate - each.low) for each in wide])
        deviation = half / float(stats.norm.ppf((1 + level) / 2))
        both = self.found.covariance(single)
        own = np.sqrt(np.maximum(np.diag(both), 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = np.clip(np.nan_to_num(both / np.outer(own, own)), -1, 1)
        np.fill_diagonal(correlation, 1.0)
        spread: Floats = correlation * np.outer(deviation, deviation)
        return spread

    def _largest(self, values: Floats, spread: Floats, clusters: int) -> Interval:
        drawn = moves(spread, _NORMAL)
        reach = float(np.quantile(np.ptp(drawn, axis=1), self.level))
        apart = float(np.ptp(values))
        high = apart + reach if not self.found.proportion else min(apart + reach, 1.0)
        return Interval(apart, max(apart - reach, 0.0), high, clusters)
