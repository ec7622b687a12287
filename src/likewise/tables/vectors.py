"""Vectors: embeddings or latents of images, aligned by key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import InputError, VectorError, some
from likewise.tables.io import replacing, write_frame
from likewise.tables.table import FrozenRecord
from likewise.tables.vector_files import load_vectors

_BYTES = 2**24  # checked at a time, so that a memory-mapped array is never loaded whole


class Vectors(FrozenRecord):
    """One vector an image: embeddings ``[n, D]`` or W+ latents ``[n, L, D]``, aligned by key, never by position.

    Parameters
    ----------
    images
        The image keys.
    values
        Finite numbers, one row per image. A float32 array is not copied, also when it is memory-mapped.
    source
        What computed them: model and options.

    Examples
    --------
    >>> vectors = Vectors(["a", "b"], [[1.0, 2.0], [3.0, 4.0]], source="my encoder")
    >>> vectors.take(["b"]).tolist()
    [[3.0, 4.0]]
    >>> print(vectors)
    Vectors: 2 images, 2-d
      source: my encoder
      mean 2.5, sd 1.118
      in memory, 0.0 MB
    """

    keys: list[str]
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
        self._set(keys=keys, values=view, source=source, _row={key: row for row, key in enumerate(keys)})

    @property
    def frame(self) -> pd.DataFrame:
        """The vectors flattened, one row per image; for inspection."""
        flat = np.asarray(self.values).reshape(len(self.keys), -1)
        numbers = pd.DataFrame(flat, columns=[f"v{j}" for j in range(flat.shape[1])])
        return pd.concat([pd.DataFrame({"image": pd.Series(self.keys, dtype="str")}), numbers], axis=1)

    def __len__(self) -> int:
        return len(self.keys)

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Vectors) and self.keys == other.keys and self.source == other.source
        return same and isinstance(other, Vectors) and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, image: object) -> bool:
        return image in self._row

    @property
    def mapped(self) -> bool:
        """Whether the values are memory-mapped from disk."""
        owner: object = self.values
        while isinstance(owner, np.ndarray) and not isinstance(owner, np.memmap):
            owner = owner.base
        return isinstance(owner, np.memmap)

    def rows(self, images: Sequence[str]) -> npt.NDArray[np.intp]:
        """Return the row of each image; an image without a vector is an error."""
        missing = [image for image in images if image not in self._row]
        if missing:
            fix = f"The vectors from {self.source!r} cover {len(self)} images; embed or project the missing ones."
            raise VectorError(f"No vector for {some(missing)}", fix=fix)
        return np.array([self._row[image] for image in images], dtype=np.intp)

    def take(self, images: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the vectors of these images, in the given order."""
        taken: npt.NDArray[np.float32] = self.values[self.rows(images)]
        return taken

    def write(self, path: str | Path) -> Path:
        """Write to an ``.npz`` file (no pickled objects)."""
        target = Path(path)
        if target.suffix != ".npz":
            raise InputError(f"Cannot write vectors as {target.name!r}", fix="Use the extension .npz.")
        with replacing(target) as temporary, temporary.open("wb") as handle:
            np.savez(
                handle,
                images=np.array(self.keys, dtype=str),
                values=self.values,
                source=np.array(self.source),
            )
        return target

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read vectors from .npz, .npy, a table, or a folder of an audit (memory-mapped).

        See :func:`likewise.tables.vector_files.load_vectors` for the layouts.
        """
        images, values, source = load_vectors(Path(path))
        return cls(images, values, source=source)

    def _lines(self) -> list[str]:
        shape = " x ".join(map(str, self.values.shape[1:]))
        sample = np.asarray(self.values[: _rows_at_once(self.values)], dtype=np.float64)
        some_rows = f" (of the first {len(sample)} images)" if len(sample) < len(self) else ""
        return [
            f"Vectors: {len(self)} images, {shape}-d",
            f"  source: {self.source}",
            f"  mean {sample.mean():.4g}, sd {sample.std():.4g}{some_rows}" if self.keys else "",
            f"  {'memory-mapped' if self.mapped else 'in memory'}, {self.values.nbytes / 2**20:.1f} MB",
        ]


def write_stream(
    folder: Path, images: Sequence[str], blocks: Iterable[npt.NDArray[np.float32]], *, source: str
) -> None:
    """Write vectors block by block into a folder that ``Vectors.read`` maps; memory holds one block at a time."""
    values: npt.NDArray[np.float32] | None = None
    row = 0
    for block in blocks:
        if values is None:
            shape = (len(images), *block.shape[1:])
            values = np.lib.format.open_memmap(folder / "values.npy", mode="w+", dtype=np.float32, shape=shape)
        values[row : row + len(block)] = block
        row += len(block)
    if values is None or row != len(images):
        raise VectorError(f"{row} vectors for {len(images)} images", fix="Give one vector an image, in the same order.")
    if isinstance(values, np.memmap):
        values.flush()
    write_frame(folder / "images.parquet", pd.DataFrame({"image": pd.Series(images, dtype="str")}), {"source": source})


def _check(keys: list[str], array: npt.NDArray[np.float32], source: str) -> None:
    if not source:
        raise VectorError("The source of the vectors is empty", fix="Give source='model, options'.")
    if array.ndim < 2 or len(array) != len(keys):
        fix = "Give one row per image, [n, ...]."
        raise VectorError(f"Vectors of shape {array.shape} for {len(keys)} images", fix=fix)
    if len(set(keys)) < len(keys):
        twice = sorted(pd.Series(keys)[pd.Series(keys).duplicated()].unique())
        raise VectorError(f"More than one vector for {some(twice)}", fix="Keep one vector an image.")
    size = _rows_at_once(array)
    for start in range(0, len(keys), size):
        block = array[start : start + size].reshape(len(keys[start : start + size]), -1)
        bad = ~np.isfinite(block).all(axis=1)
        if bad.any():
            culprits = [keys[start + row] for row in np.flatnonzero(bad)]
            raise VectorError(f"Vectors with NaN or infinity: {some(culprits)}", fix="Leave these images out.")


def _rows_at_once(array: npt.NDArray[np.float32]) -> int:
    return max(1, _BYTES // max(1, 4 * int(np.prod(array.shape[1:]))))
