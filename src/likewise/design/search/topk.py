"""The few smallest numbers of every row of a wide block.

A sample of the columns sets a limit for each row, one that a few times as many numbers as are wanted should lie below.
One passing over the block then finds all that do, and only those are sorted. A row whose sample misled (too few lie
below the limit, or far too many) is looked at whole, so that the limit is a matter of speed alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.design.search.points import Floats, Index, Numbers

SLAB = 256  # rows at a time: what is below their limits stays in the cache
_ONE_IN = 8  # the share of columns that is sampled, in runs of neighbors, which are read at once
_LEAST_RUN = 64
_TOO_MANY = 16  # times as many as wanted


@dataclass(frozen=True)
class Few:
    """For each row of a slab where its smallest numbers are and what they are, in order of number, then column."""

    at: Index
    """``[b, k]``; only the first ``count`` of a row are meant."""
    values: Floats
    """``[b, k]``, ascending; what is not there is infinite."""
    count: npt.NDArray[np.int64]
    """How many of a row are numbers at all: ``[b]``."""
    rest: Floats
    """What no other number of the row lies below: ``[b]``."""

    @property
    def least(self) -> float:
        """The smallest number of all rows."""
        return float(self.values[:, 0].min(initial=np.inf)) if self.values.shape[1] else np.inf


def smallest(bounds: Numbers, most: int) -> Iterator[Few]:
    """Yield the ``most`` smallest of each row, slab by slab; what is empty or infinite is not there."""
    run = max(_LEAST_RUN, 2 * most)
    wide = bounds.shape[1] >= 2 * _ONE_IN * run
    for start in range(0, len(bounds), SLAB):
        slab = bounds[start : start + SLAB]
        yield _below(slab, _limits(slab, most, run), most) if wide else _whole(slab, most)


def _limits(slab: Numbers, most: int, run: int) -> Numbers:
    """Return for each row a limit from a sample of it; infinity where the sample has too few numbers.

    Of the sample the runs are laid over each other: the smallest of these minima are about the smallest of the sample.
    """
    least = slab[:, :run].copy()
    for start in range(_ONE_IN * run, slab.shape[1] - run, _ONE_IN * run):
        np.fmin(least, slab[:, start : start + run], out=least)
    place = min(-(-3 * most // _ONE_IN), run - 1)  # then about three times as many as are wanted lie below
    limits = np.partition(least, place, axis=1)[:, place]
    limits[np.isnan(limits)] = np.inf
    return limits


def _below(slab: Numbers, limits: Numbers, most: int) -> Few:
    """Sort what lies below the limits."""
    columns = slab.shape[1]
    found = np.flatnonzero(slab < limits[:, None])
    row, column = np.divmod(found, columns)
    count = np.bincount(row, minlength=len(slab))
    misled = (count > _TOO_MANY * most) | ((count < most) & np.isfinite(limits))
    if misled.any():
        kept = ~misled[row]
        row, column, count = row[kept], column[kept], np.where(misled, 0, count)
    place = np.arange(len(row)) - (np.cumsum(count) - count)[row]
    width = max(most + 1, int(count.max(initial=0)))
    values = np.full((len(slab), width), np.inf, dtype=slab.dtype)
    at = np.zeros((len(slab), width), dtype=np.intp)
    values[row, place], at[row, place] = slab[row, column], column
    few = _first(at, values, most, limits.astype(np.float64))
    if misled.any():
        again = _whole(slab[misled], most)
        few.at[misled], few.values[misled], few.count[misled], few.rest[misled] = (
            again.at, again.values, again.count, again.rest,
        )  # fmt: skip
    return few


def _whole(slab: Numbers, most: int) -> Few:
    """Look at all columns."""
    at = np.broadcast_to(np.arange(slab.shape[1], dtype=np.intp), slab.shape)
    return _first(at, slab, most, np.full(len(slab), np.inf))


def _first(at: Index, values: Numbers, most: int, rest: Floats) -> Few:
    """Return the first few of each row in order of value, then column; columns come in ascending order."""
    if values.shape[1] > most:
        part = np.argpartition(values, most, axis=1)  # what is empty comes last
        rest = np.fmin(rest, np.take_along_axis(values, part[:, most : most + 1], axis=1)[:, 0])
        part = np.sort(part[:, :most], axis=1)
        at, values = np.take_along_axis(at, part, axis=1), np.take_along_axis(values, part, axis=1)
    order = np.argsort(values, axis=1, kind="stable")
    at, found = np.take_along_axis(at, order, axis=1), np.take_along_axis(values, order, axis=1).astype(np.float64)
    return Few(at, found, np.isfinite(found).sum(axis=1), rest)
