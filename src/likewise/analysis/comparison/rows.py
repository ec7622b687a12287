"""Rows of a comparison: the old value, the new value and the change, of each group and of the gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from likewise.stats.intervals import Interval, newcombe
from likewise.stats.jackknife import Floats
from likewise.tables.estimates import row


@dataclass(frozen=True)
class Change:
    """One number in both audits, and how far it moved."""

    group: str
    old: Interval
    new: Interval
    moved: Interval
    n: int


def change_rows(
    quantity: str, sample: str, changes: Sequence[Change], *, level: float, method: str
) -> list[dict[str, object]]:
    """Write three rows for each change: ``old_value``, ``new_value`` and ``change`` (new - old)."""
    return [
        row(quantity, stat, sample, change.group, found, level=level, n=change.n, method=method)
        for change in changes
        for stat, found in (("old_value", change.old), ("new_value", change.new), ("change", change.moved))
    ]


def difference(one: Interval, other: Interval, covariance: Floats) -> Interval:
    """Return one - other, joined from their intervals and their correlation (MOVER)."""
    spread = float(covariance[0, 0] * covariance[1, 1])
    correlation = covariance[0, 1] / spread**0.5 if np.isfinite(spread) and spread > 0 else 0.0
    return newcombe(one, other, correlation=float(np.clip(correlation, -1, 1)))
