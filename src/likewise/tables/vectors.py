"""Vectors: where faces lie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import InputError, VectorError, some
from likewise.tables.files import replacing, write_frame
from likewise.tables.table import Noun
from likewise.tables.vector_files import load_vectors

_BYTES = 2**24  # looked at in one go, so that a memory-mapped array is never read whole


class Vectors(Noun):
    """One array an image: ``[n, D]`` for embeddings, ``[n, L, D]`` for W+. Aligned by key, never by position.

    ``source`` says what made them: model and options. A float32 array is kept as it is, memory-mapped or not.
    """

    images: list[str]
    values: npt.NDArray[np.float32]
    source: str
    _row: dict[str, int]

    def __init__(self, images: Iterable[object], values: npt.ArrayLike, *, source: str) -> None:
        keys = [str(image) for image in images]
        array = np.asarray(values)
        if array.dtype != np.float32:
            array = array.astype(np.float32)
        _check(keys, array, source)
        view = array.view()
        view.flags.writeable = False
        self._set(images=keys, values=view, source=source, _row={key: row for row, key in enumerate(keys)})

    @property
    def frame(self) -> pd.DataFrame:
        """The vectors flattened, one row an image: for looking at, not for work."""
        flat = np.asarray(self.values).reshape(len(self.images), -1)
        numbers = pd.DataFrame(flat, columns=[f"v{j}" for j in range(flat.shape[1])])
        return pd.concat([pd.DataFrame({"image": pd.Series(self.images, dtype="str")}), numbers], axis=1)

    def __len__(self) -> int:
        return len(self.images)

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Vectors) and self.images == other.images and self.source == other.source
        return same and isinstance(other, Vectors) and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, image: object) -> bool:
        return image in self._row

    @property
    def mapped(self) -> bool:
        """Whether the values stay on disk and are read as they are needed."""
        owner: object = self.values
        while isinstance(owner, np.ndarray) and not isinstance(owner, np.memmap):
            owner = owner.base
        return isinstance(owner, np.memmap)

    def rows(self, images: Sequence[str]) -> npt.NDArray[np.intp]:
        """Say at which row each of these images lies; an image without a vector is an error."""
        missing = [image for image in images if image not in self._row]
        if missing:
            fix = f"These are vectors of {len(self)} images from {self.source!r}; project the missing ones."
            raise VectorError("every image has a vector", got=f"none for {some(missing)}", fix=fix)
        return np.array([self._row[image] for image in images], dtype=np.intp)

    def take(self, images: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the vectors of these images, in this order."""
        taken: npt.NDArray[np.float32] = self.values[self.rows(images)]
        return taken

    def write(self, path: str | Path) -> Path:
        """Write to one ``.npz`` file; nothing in it is ever executed on reading."""
        target = Path(path)
        if target.suffix != ".npz":
            raise InputError("vectors are written as .npz", got=target.name)
        with replacing(target) as temporary, temporary.open("wb") as handle:
            np.savez(
                handle,
                images=np.array(self.images, dtype=str),
                values=self.values,
                source=np.array(self.source),
            )
        return target

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file of embeddings (``vector_files`` says which forms), or a folder, whose values stay on disk."""
        images, values, source = load_vectors(Path(path))
        return cls(images, values, source=source)

    def _lines(self) -> list[str]:
        shape = " x ".join(map(str, self.values.shape[1:]))
        sample = np.asarray(self.values[: _rows_at_once(self.values)], dtype=np.float64)
        return [
            f"Vectors: {len(self)} images, {shape} numbers each",
            f"  source: {self.source}",
            f"  from {self.images[0]!r} to {self.images[-1]!r}" if self.images else "  no images",
            f"  mean {sample.mean():.4g}, sd {sample.std():.4g} (of the first {len(sample)})" if self.images else "",
            f"  {'memory-mapped' if self.mapped else 'in memory'}, {self.values.nbytes / 2**20:.1f} MB",
            "  aligned by key",
        ]


def write_stream(
    folder: Path, images: Sequence[str], blocks: Iterable[npt.NDArray[np.float32]], *, source: str
) -> None:
    """Write vectors block by block into a folder that ``Vectors.read`` maps: memory holds one block at a time."""
    values: npt.NDArray[np.float32] | None = None
    row = 0
    for block in blocks:
        if values is None:
            shape = (len(images), *block.shape[1:])
            values = np.lib.format.open_memmap(folder / "values.npy", mode="w+", dtype=np.float32, shape=shape)
        values[row : row + len(block)] = block
        row += len(block)
    if values is None or row != len(images):
        raise VectorError("there is a vector for each image", got=f"{row} for {len(images)}")
    if isinstance(values, np.memmap):
        values.flush()
    write_frame(folder / "images.parquet", pd.DataFrame({"image": pd.Series(images, dtype="str")}), {"source": source})


def _check(keys: list[str], array: npt.NDArray[np.float32], source: str) -> None:
    if not source:
        raise VectorError("vectors say what made them", got="an empty source", fix="Give source='model, options'.")
    if array.ndim < 2 or len(array) != len(keys):
        raise VectorError("vectors are one array an image, [n, ...]", got=f"{len(keys)} images and shape {array.shape}")
    if len(set(keys)) < len(keys):
        twice = sorted(pd.Series(keys)[pd.Series(keys).duplicated()].unique())
        raise VectorError("an image has one vector", got=f"several for {some(twice)}")
    size = _rows_at_once(array)
    for start in range(0, len(keys), size):
        block = array[start : start + size].reshape(len(keys[start : start + size]), -1)
        bad = ~np.isfinite(block).all(axis=1)
        if bad.any():
            culprits = [keys[start + row] for row in np.flatnonzero(bad)]
            raise VectorError(
                "vectors are finite",
                got=f"NaN or infinity for {some(culprits)}",
                fix="Leave these images out.",
            )


def _rows_at_once(array: npt.NDArray[np.float32]) -> int:
    return max(1, _BYTES // max(1, 4 * int(np.prod(array.shape[1:]))))
