"""Measured: one quantity in every cell, as a mean of ratings or as an error rate at a threshold.

Both kinds answer the same three requests for *sets* of cells (one cell, or all the others): the value, its interval at
a level, and the covariance of several of them. Sets are needed because a cell is part of the overall value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import stats

from likewise.analysis.verification.operating_points import Errors, TrialSample, errors_at
from likewise.analysis.verification.rate_rows import RateRows
from likewise.analysis.verification.trial_table import TrialTable
from likewise.stats.dof import cluster_dof
from likewise.stats.intervals import Interval, share_interval
from likewise.stats.jackknife import Codes, Floats, covariance, effective_clusters

CellSet = Sequence[int]


class Measured(Protocol):
    """One quantity in every cell."""

    @property
    def quantity(self) -> str: ...  # noqa: D102
    @property
    def names(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def proportion(self) -> bool: ...  # noqa: D102
    @property
    def method(self) -> str: ...  # noqa: D102
    def interval(self, cells: CellSet, level: float) -> tuple[Interval, str]:
        """Return the value of a set of cells with its interval, and a remark or nothing."""

    def covariance(self, sets: Sequence[CellSet]) -> Floats:
        """Return the covariance of the values of several sets."""

    def count(self, cells: CellSet) -> int:
        """Return how many ratings or trials a set rests on."""

    def weight(self, cells: CellSet) -> float:
        """Return how much a set counts in the overall value."""


@dataclass(frozen=True)
class MeanCells:
    """Means of ratings; every identity weighs 1 in its cell, as in ``gaps``."""

    quantity: str
    names: tuple[str, ...]
    y: Floats
    cell: Codes
    size: Floats
    """The weight of each rating."""
    clusterings: tuple[Codes, ...]
    """Identities; for a panel also raters."""

    @property
    def proportion(self) -> bool:
        """Whether all ratings are 0 or 1."""
        return bool(np.isin(self.y, (0.0, 1.0)).all())

    @property
    def method(self) -> str:
        """How intervals are made."""
        by = "identity" if len(self.clusterings) == 1 else "identity and rater"
        return f"Wilson, clustered by {by}" if self.proportion else f"jackknife by {by}"

    def interval(self, cells: CellSet, level: float) -> tuple[Interval, str]:
        """Return the mean of a set of cells: Wilson's interval for shares, the jackknife's otherwise."""
        mine = np.isin(self.cell, cells)
        codes = [np.unique(code[mine], return_inverse=True)[1].astype(np.int64) for code in self.clusterings]
        size, y = self.size[mine], self.y[mine]
        columns = np.column_stack([size, size * y])
        variance = float(covariance(columns, lambda t: (t[..., 1] / t[..., 0])[..., None], codes)[0, 0])
        mean, dof = float(columns[:, 1].sum() / columns[:, 0].sum()), cluster_dof(codes, size)
        clusters = min(int(code.max()) + 1 for code in codes)
        if self.proportion:
            kish = float(size.sum() ** 2 / np.square(size).sum())
            effective = min(effective_clusters(code, size) for code in codes)
            low, high, word = share_interval(mean, variance, n=kish, clusters=effective, level=level, dof=dof)
            return Interval(mean, low, high, clusters), word
        half = float(stats.t.ppf((1 + level) / 2, dof)) * variance**0.5
        return Interval(mean, mean - half, mean + half, clusters), ""

    def covariance(self, sets: Sequence[CellSet]) -> Floats:
        """Return the jackknife covariance of the means of several sets."""
        own = np.stack([np.isin(self.cell, cells) * self.size for cells in sets], axis=1)
        columns, q = np.column_stack([own, own * self.y[:, None]]), len(sets)
        return covariance(columns, lambda t: t[..., q:] / t[..., :q], list(self.clusterings))

    def count(self, cells: CellSet) -> int:
        """Return the number of ratings."""
        return int(np.isin(self.cell, cells).sum())

    def weight(self, cells: CellSet) -> float:
        """Return the weight of the ratings."""
        return float(self.size[np.isin(self.cell, cells)].sum())


@dataclass(frozen=True)
class RateCells:
    """Error rates of one recognizer at one threshold: of the trials of each cell."""

    quantity: str
    names: tuple[str, ...]
    table: TrialTable
    samples: Sequence[TrialSample]
    threshold: float
    pool: TrialSample | None
    """The impostors on which the threshold was set; None where it is given."""

    proportion = True
    method = "Wilson, clustered by identity"

    def interval(self, cells: CellSet, level: float) -> tuple[Interval, str]:
        """Return the error rate of a set of cells with Wilson's interval."""
        sample = self._joined(cells)
        return RateRows(self.table, self.quantity, self._errors([sample]), level).rate(sample, 0)

    def covariance(self, sets: Sequence[CellSet]) -> Floats:
        """Return the covariance of the rates of several sets, the threshold being common to all."""
        return self._errors([self._joined(cells) for cells in sets]).covariance

    def count(self, cells: CellSet) -> int:
        """Return the number of trials."""
        return sum(len(self.samples[k]) for k in cells)

    def weight(self, cells: CellSet) -> float:
        """Return the weight of the trials."""
        return float(sum(self.samples[k].weight.sum() for k in cells))

    def _errors(self, samples: Sequence[TrialSample]) -> Errors:
        """Measure the samples; the small-sample factor is that of the smallest of *these*, not of all cells."""
        smallest = max(min(sample.identities for sample in samples), 2)
        linked, meetings = self.table.linked, self.table.meetings
        return errors_at(samples, self.threshold, linked=linked, meetings=meetings, smallest=smallest, pool=self.pool)

    def _joined(self, cells: CellSet) -> TrialSample:
        parts = [self.samples[k] for k in cells]
        if len(parts) == 1:
            return parts[0]
        distance, left, right, dyad, weight = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("distance", "left", "right", "dyad", "weight")
        )
        return TrialSample.of(distance, left, right, dyad, weight)
