"""Distances between the two sides: cheap rigorous lower bounds in blocks, exact values for the few that matter.

For points x, y: |x - y|^2 = |x|^2 + |y|^2 - 2 x.y. The products come from a float32 matrix product, whose error
is at most g |x||y| with g = p u / (1 - p u), u = 2^-24, whatever the order of summation (Higham 2002, section 3.1);
inputs rounded once add 2 u, the final sums a few u more. As 2 |x||y| <= |x|^2 + |y|^2, shrinking both squared norms
by that factor gives a lower bound at no cost. Exact distances are sums over one pair at a time in float64, so they do
not depend on blocks, threads or the order of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.design.search.points import Floats, Index, Numbers, Points, Single, blocks
from likewise.design.search.topk import Few, smallest
from likewise.errors import SpecError, some

Given = pd.DataFrame | Callable[[list[str], list[str]], npt.ArrayLike]
_CHUNK = 2048  # reference points multiplied in one go
_EXACT_BYTES = 2**24
_SHORT = 128


class Metric(Protocol):
    """What a search asks of a distance. Rows are focal images, columns reference images, both by position."""

    settled: bool
    """Whether bounds are the distances themselves."""
    shape: tuple[int, int]
    row_bytes: int
    """What one more focal row in a block costs, besides its bounds."""

    def lower(self, rows: Index, columns: Index, dtype: type[np.floating]) -> Numbers:
        """Return lower bounds of the distances ``[b, m]``; infinity for what may not be."""

    def upper(self, rows: Index, columns: Index, lower: Numbers) -> Numbers:
        """Return upper bounds that belong to these lower bounds."""

    def exact(self, row: int, columns: Index) -> Floats:
        """Return the distances from one focal image to these reference images."""


@dataclass
class Euclid:
    """The euclidean distance between two lists of points."""

    x: Points
    y: Points
    keep: int = 0
    """Bytes that may be spent on keeping the reference points ready for products."""
    settled: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.shape = (len(self.x), len(self.y))
        self.row_bytes = 4 * self.x.width
        self.center = _middle(self.y)
        self._norms: dict[object, list[Floats]] = {}
        self._ready: Single | None = None
        self._preparing = Lock()

    def norms(self, dtype: type[np.floating]) -> list[Floats]:
        """Return the squared norms of both sides, measured once for each precision and only when they are needed."""
        with self._preparing:
            if dtype is np.float32 and self._ready is None and 4 * self.y.width * len(self.y) <= self.keep:
                self._ready = np.empty((len(self.y), self.y.width), dtype=np.float32)
                for index in blocks(len(self.y), self.y.run):
                    self._ready[index] = self.y.single(index, self.center)
            return self._measured_norms(dtype)

    def _measured_norms(self, dtype: type[np.floating]) -> list[Floats]:
        if dtype not in self._norms:
            sides = [(self.x, None), (self.y, self._ready if dtype is np.float32 else None)]
            self._norms[dtype] = [
                np.concatenate([np.empty(0)] + [
                    _squares(self._block(side, index, dtype) if ready is None else ready[index[0] : index[-1] + 1])
                    for index in blocks(len(side), min(512, side.run))
                ])
                for side, ready in sides
            ]  # fmt: skip
        return self._norms[dtype]

    def squared(self, rows: Index, columns: Index, dtype: type[np.floating]) -> tuple[Numbers, Floats, Floats]:
        """Return lower bounds of the squared distances, and what each row and column adds to twice the slack."""
        share = _slack(self.x.width, dtype)
        norms = [side[index] for side, index in zip(self.norms(dtype), (rows, columns), strict=True)]
        left = self._block(self.x, rows, dtype)
        left *= dtype(-2)  # a power of two: no rounding
        found = np.empty((len(rows), len(columns)), dtype=dtype)
        ready = self._ready is not None and dtype is np.float32  # then nothing is read, and more at once is faster
        for index in blocks(len(columns), _CHUNK if ready else self.y.run):
            np.matmul(left, self._right(columns[index], dtype).T, out=found[:, index[0] : index[-1] + 1])
        found += (norms[0] * (1 - share)).astype(dtype)[:, None]
        found += (norms[1] * (1 - share)).astype(dtype)[None, :]
        return found, 2 * share * norms[0], 2 * share * norms[1]

    def lower(self, rows: Index, columns: Index, dtype: type[np.floating]) -> Numbers:
        """Return lower bounds of the distances."""
        found, _, _ = self.squared(rows, columns, dtype)
        np.maximum(found, 0, out=found)
        np.sqrt(found, out=found)
        found *= dtype(1 - 4 * np.finfo(dtype).eps)
        return found

    def upper(self, rows: Index, columns: Index, lower: Numbers) -> Numbers:
        """Return upper bounds: twice the slack above the lower ones."""
        dtype = np.float32 if lower.dtype == np.float32 else np.float64
        norms = self.norms(dtype)
        wide = lower.astype(np.float64) ** 2
        wide += 2 * _slack(self.x.width, dtype) * (norms[0][rows][:, None] + norms[1][columns])
        return np.sqrt(wide) * (1 + 1e-6)

    def exact(self, row: int, columns: Index) -> Floats:
        """Return the distances from one focal image to these reference images, each summed on its own."""
        point = self.x.at(np.array([row]))
        size = max(1, _EXACT_BYTES // (8 * self.y.width))
        if len(columns) <= size:
            return _lengths(self.y.at(columns) - point)
        return np.concatenate([_lengths(self.y.at(columns[index]) - point) for index in blocks(len(columns), size)])

    def single_x(self, rows: Index) -> Single:
        """Return focal points in float32, less the center."""
        return self.x.single(rows, self.center)

    def single_y(self, columns: Index) -> Single:
        """Return reference points in float32, less the center."""
        return self.y.single(columns, self.center)

    def __getstate__(self) -> dict[str, object]:
        """Travel light: with the norms, without the ready copy and the lock."""
        return {**self.__dict__, "_ready": None, "_preparing": None, "keep": 0}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state, _preparing=Lock())

    def _right(self, columns: Index, dtype: type[np.floating]) -> Numbers:
        if self._ready is None or dtype is not np.float32:
            return self._block(self.y, columns, dtype)
        run = len(columns) > 0 and columns[-1] - columns[0] + 1 == len(columns)
        return self._ready[columns[0] : columns[-1] + 1] if run else self._ready[columns]

    def _block(self, side: Points, index: Index, dtype: type[np.floating]) -> Numbers:
        return side.single(index, self.center) if dtype is np.float32 else side.at(index) - self.center


@dataclass
class Table:
    """Distances that were given: a frame by image, or a function of two lists of images. Empty means forbidden."""

    focal: Sequence[str]
    reference: Sequence[str]
    given: Given
    settled: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        self.shape = (len(self.focal), len(self.reference))
        self.row_bytes = 8
        self._matrix: Numbers | None = None
        if isinstance(self.given, pd.DataFrame):
            self._matrix = _aligned(self.given, self.focal, self.reference)

    def lower(self, rows: Index, columns: Index, dtype: type[np.floating]) -> Numbers:
        """Return the given distances, not a copy of them; what is empty is infinitely far."""
        return self._checked(self._read(rows, columns))

    def smallest(self, rows: Index, columns: Index, most: int) -> Iterator[Few]:
        """Yield the smallest of each row. Negative ones are among them, so that looking for them takes no passing."""
        slabs = list(smallest(self._read(rows, columns), most))
        _refuse_negative(min((few.least for few in slabs), default=0.0))
        yield from slabs

    def upper(self, rows: Index, columns: Index, lower: Numbers) -> Numbers:
        """Return the given distances again: there is no doubt about them."""
        return lower

    def exact(self, row: int, columns: Index) -> Floats:
        """Return the given distances of one focal image."""
        found: Floats = self._checked(self._read(np.array([row]), columns))[0].astype(np.float64)
        return found

    def _read(self, rows: Index, columns: Index) -> Numbers:
        if self._matrix is None:
            assert callable(self.given)
            names = [self.focal[row] for row in rows], [self.reference[column] for column in columns]
            found = np.asarray(self.given(*names), dtype=np.float64)
            if found.shape != (len(rows), len(columns)):
                wanted = (len(rows), len(columns))
                raise SpecError(
                    f"The distance function returned shape {found.shape} instead of {wanted}",
                    fix="Return one distance per pair, [n, m].",
                )
            return found
        whole = len(columns) == self.shape[1] and len(rows) > 0 and rows[-1] - rows[0] + 1 == len(rows)
        return self._matrix[rows[0] : rows[-1] + 1] if whole else self._matrix[np.ix_(rows, columns)]

    def _checked(self, found: Numbers) -> Numbers:
        least = found.min() if found.size else 0.0
        if np.isnan(least):  # one pass tells: the minimum of anything with NaN is NaN
            return self._checked(np.where(np.isnan(found), np.inf, found))
        _refuse_negative(float(least))
        return found


def _refuse_negative(least: float) -> None:
    if least < 0:
        raise SpecError(
            f"A precomputed distance is negative: {least:g}",
            fix="Similarities are not distances: use e.g. 1 - similarity.",
        )


def _aligned(given: pd.DataFrame, focal: Sequence[str], reference: Sequence[str]) -> Numbers:
    axes = given.index.tolist(), given.columns.tolist()
    for names, axis in zip((focal, reference), axes, strict=True):
        missing = sorted(set(names) - set(axis))
        if missing:
            fix = "Give a row for each focal and a column for each reference unit."
            raise SpecError(f"Precomputed distances lack {len(missing)} units: {some(missing)}", fix=fix)
    same = axes == (list(focal), list(reference))
    matrix = (given if same else given.loc[list(focal), list(reference)]).to_numpy()
    if matrix.dtype.kind not in "fiu":
        raise SpecError(f"Precomputed distances are of type {matrix.dtype}", fix="Give numbers.")
    return matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)


def _middle(side: Points) -> Single:
    """Return about the mean point, from a few: any center is right, and a near one makes the bounds tight."""
    few = np.unique(np.linspace(0, len(side) - 1, min(len(side), 256)).astype(np.intp))
    parts = [side.at(few[index]).sum(axis=0) for index in blocks(len(few), side.run)]
    center: Single = (np.sum(parts, axis=0) / max(len(few), 1)).astype(np.float32)
    return center


def _squares(block: Numbers) -> Floats:
    """Return squared lengths: short sums in the block's own precision, their sum in float64."""
    even = block.shape[1] // _SHORT * _SHORT
    parts = np.square(block[:, :even]).reshape(len(block), -1, _SHORT).sum(axis=2) if even else block[:, :0]
    rest = np.square(block[:, even:].astype(np.float64)).sum(axis=1)
    squares: Floats = parts.sum(axis=1, dtype=np.float64) + rest
    return squares


def _lengths(apart: Floats) -> Floats:
    np.square(apart, out=apart)
    lengths: Floats = np.sqrt(apart.sum(axis=1))
    return lengths


def _slack(width: int, dtype: type[np.floating]) -> float:
    """Return the share of |x|^2 + |y|^2 by which a bound stays below: products, short sums of squares, and the rest."""
    unit = (width + _SHORT + 64) * float(np.finfo(dtype).eps) / (2 if dtype is np.float32 else 1)
    return 1.0 if unit >= 0.5 else unit / (1 - unit)
