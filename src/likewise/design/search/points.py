"""The points on which a distance is computed: vectors read in blocks, and changed as the spec says.

What is read for one image never depends on which other images are read with it, so that block sizes cannot change
a distance. Vectors may be memory-mapped; only whitening and the mean row make a smaller copy of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from mmap import mmap

import numpy as np
import numpy.typing as npt

from likewise.errors import SpecError, VectorError
from likewise.tables import MatchSpec, Vectors

Floats = npt.NDArray[np.float64]
Single = npt.NDArray[np.float32]
Index = npt.NDArray[np.intp]
Numbers = npt.NDArray[np.floating]
_MOST, _BYTES = 2048, 2**24  # images read in one go when all are passed over: never more, and no more than so large


@dataclass(frozen=True)
class Mapped:
    """Where an array that is mapped from a file lies in it."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    offset: int

    @classmethod
    def of(cls, values: npt.NDArray[np.floating]) -> Mapped | None:
        """Say where the array lies; nothing for one in memory."""
        owner: object = values
        while isinstance(owner, np.ndarray) and not isinstance(owner.base, (mmap, type(None))):
            owner = owner.base
        if not isinstance(owner, np.memmap) or owner.filename is None or not values.flags.c_contiguous:
            return None
        inside = values.ctypes.data - owner.ctypes.data
        return cls(str(owner.filename), values.dtype.str, values.shape, int(owner.offset) + inside)

    def opened(self) -> npt.NDArray[np.floating]:
        """Map the file again, for reading."""
        return np.memmap(self.path, dtype=self.dtype, mode="r", shape=self.shape, offset=self.offset)


@dataclass(frozen=True)
class Points:
    """One point per unit: ``values[rows]``, flattened, then scaled."""

    values: npt.NDArray[np.floating]
    rows: Index
    scale: Floats | None = None
    """A factor for each number ``[p]``."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def width(self) -> int:
        """How many numbers a point has."""
        return prod(self.values.shape[1:])

    @property
    def run(self) -> int:
        """How many points are read in one go. It depends on their width alone, so that sums are always the same."""
        return max(1, min(_MOST, _BYTES // (4 * self.width)))

    def at(self, index: Index) -> Floats:
        """Return these points in float64: what distances are truly measured on."""
        block = self._raw(index).astype(np.float64)
        if self.scale is not None:
            block *= self.scale
        return block

    def single(self, index: Index, center: Single) -> Single:
        """Return these points less ``center`` in float32, each number rounded once: good enough for bounds."""
        if self.scale is None and self.values.dtype == np.float32:
            fresh: Single = self._raw(index)  # a copy, because it is picked by index
            fresh -= center
            return fresh
        return (self.at(index) - center).astype(np.float32)

    def __getstate__(self) -> dict[str, object]:
        """Travel light: values that are mapped from a file travel as its name."""
        return {**self.__dict__, "values": Mapped.of(self.values) or self.values}

    def __setstate__(self, state: dict[str, object]) -> None:
        values = state["values"]
        self.__dict__.update(state, values=values.opened() if isinstance(values, Mapped) else values)

    def mean(self) -> Floats:
        """Return the mean point."""
        total = np.zeros(self.width)
        for index in blocks(len(self), self.run):
            total += self.at(index).sum(axis=0)
        return total / max(len(self), 1)

    def _raw(self, index: Index) -> npt.NDArray[np.floating]:
        return np.asarray(self.values[self.rows[index]]).reshape(len(index), self.width)


def blocks(count: int, size: int) -> list[Index]:
    """Cut ``0 .. count`` into runs."""
    return [np.arange(start, min(start + size, count), dtype=np.intp) for start in range(0, count, size)]


def points(
    vectors: Vectors, focal: Sequence[str], reference: Sequence[str], spec: MatchSpec | None = None
) -> tuple[Points, Points]:
    """Return the points of both sides as the spec's distance wants them; plain euclidean without a spec."""
    spec = spec or MatchSpec()
    x, y = (Points(vectors.values, vectors.rows(list(images))) for images in (focal, reference))
    if spec.rows == "mean" or spec.scored:
        x, y = mean_rows(x), mean_rows(y)
    if spec.row_weights:
        scale = _row_scale(vectors, spec.row_weights)
        x, y = replace(x, scale=scale), replace(y, scale=scale)
    if spec.distance == "mahalanobis":
        x, y = whitened(x, y)
    return x, y


def mean_rows(given: Points) -> Points:
    """Return the mean over the rows of W+; a vector of one row is its own mean."""
    parts = []
    for index in blocks(len(given), given.run):
        block = given.values[given.rows[index]].astype(np.float64)  # [b, ..., D]
        parts.append(block.mean(axis=tuple(range(1, block.ndim - 1))) if block.ndim > 2 else block)
    values = np.concatenate(parts) if parts else np.empty((0, given.values.shape[-1]))
    return Points(values, np.arange(len(given), dtype=np.intp))


def scatter_width(x: Points, y: Points) -> float:
    """Return the standard deviation of points, pooled within the groups: the root of all numbers' variances together.

    For points of one number it is that number's own.
    """
    if min(len(x), len(y)) < 2:
        sizes = f"{len(x)} and {len(y)}"
        raise VectorError(
            f"A caliper on the distance in sd needs two units on each side; there are {sizes}",
            fix="Use a caliper as a plain number.",
        )
    variances = []
    for side in (x, y):
        center, total = side.mean(), 0.0
        for index in blocks(len(side), side.run):
            total += float(((side.at(index) - center) ** 2).sum())
        variances.append(total / (len(side) - 1))
    return float(np.sqrt(sum(variances) / 2))


def whitened(x: Points, y: Points) -> tuple[Points, Points]:
    """Return points whose euclidean distance is Mahalanobis', by the covariance *within* the groups, pooled.

    The spread within is the unit because the spread between is due to the contrast itself. Directions in which
    nothing varies are left out. The result is rounded to float32, which hides the last bits that a matrix product
    owes to the number of threads.
    """
    freedom = len(x) + len(y) - 2
    if x.width > freedom:
        fix = "Set rows = 'mean', or use fewer numbers."
        raise SpecError(f"{freedom + 2} units are too few for a Mahalanobis distance on {x.width} numbers", fix=fix)
    values, vectors_ = np.linalg.eigh((_scatter(x) + _scatter(y)) / freedom)
    keep = values > 1e-10 * max(values[-1], 0.0)
    if not keep.any():
        raise VectorError(
            "The vectors are constant within the groups",
            fix="Check how they were computed, or use distance='euclidean'.",
        )
    factor = vectors_[:, keep] / np.sqrt(values[keep])
    return _times(x, factor), _times(y, factor)


def _scatter(given: Points) -> Floats:
    center = given.mean()
    total = np.zeros((given.width, given.width))
    for index in blocks(len(given), given.run):
        block = given.at(index) - center
        total += block.T @ block
    return total


def _times(given: Points, factor: Floats) -> Points:
    parts = [(given.at(index) @ factor).astype(np.float32) for index in blocks(len(given), given.run)]
    return Points(np.concatenate(parts), np.arange(len(given), dtype=np.intp))


def _row_scale(vectors: Vectors, weights: tuple[float, ...]) -> Floats:
    shape = vectors.values.shape
    if len(shape) != 3 or shape[1] != len(weights):
        form = " x ".join(map(str, shape[1:]))
        raise SpecError(f"{len(weights)} row_weights do not fit vectors of {form}", fix="Give one for each row of W+.")
    return np.repeat(np.sqrt(np.array(weights)), shape[2])
