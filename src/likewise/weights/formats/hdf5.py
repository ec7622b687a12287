"""Reads the arrays of an HDF5 file, such as Keras writes, with h5py.

Only groups and plain arrays of numbers are read. Links (soft and external), external storage, virtual datasets and
filters are refused before any data is read: they reach into other files, run plugins or expand. The declared size of
each array is compared with the bytes that the file stores for it, and depth and count are bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import UnsafeFileError, WeightsError
from likewise.runtime.optional import require
from likewise.weights.formats.describe import describe

_DEEPEST, _MOST = 16, 100_000


def read_datasets(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Read every array of a file.

    Parameters
    ----------
    path
        The HDF5 file.

    Returns
    -------
    dict
        The arrays by their path of group names, such as ``"conv1/kernel"``.

    Raises
    ------
    WeightsError
        The file is no HDF5 file, or is damaged.
    UnsafeFileError
        It links to other files, uses filters, or declares more data than it stores.
    """
    h5py = require("h5py", "torch")
    try:
        with h5py.File(path, "r") as file:
            return dict(_Walk(h5py, path).arrays(file, "", 0))
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, UnicodeDecodeError) as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise WeightsError(f"{path.name} is not a readable HDF5 file: {reason}", fix="Get the file again.") from error


class _Walk:
    """Visits the groups of one file and counts what it has seen."""

    def __init__(self, h5py: Any, path: Path) -> None:
        self._h5py, self._name, self._limit = h5py, path.name, path.stat().st_size
        self._visited, self._bytes = 0, 0

    def arrays(self, group: Any, above: str, depth: int) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Yield the arrays below a group with their paths."""
        if depth > _DEEPEST:
            raise self._unsafe(f"groups nested more than {_DEEPEST} deep")
        for name in group:
            self._visited += 1
            if self._visited > _MOST:
                raise self._unsafe(f"more than {_MOST:,} objects, or a cycle")
            place = f"{above}{name}"
            if not isinstance(group.get(name, getlink=True), self._h5py.HardLink):
                raise self._unsafe(f"a link at {describe(place)}")
            found = group[name]
            if isinstance(found, self._h5py.Group):
                yield from self.arrays(found, f"{place}/", depth + 1)
            else:
                yield place, self._read(found, place)

    def _read(self, dataset: Any, place: str) -> npt.NDArray[Any]:
        if not isinstance(dataset, self._h5py.Dataset):
            raise self._unsafe(f"something else than an array at {describe(place)}")
        if dataset.external or dataset.is_virtual or dataset.id.get_create_plist().get_nfilters():
            raise self._unsafe(f"external, virtual or filtered data at {describe(place)}")
        if dataset.dtype.kind not in "fiu":
            raise self._unsafe(f"the type {str(dataset.dtype)[:40]} at {describe(place)}")
        self._bytes += dataset.nbytes
        if dataset.nbytes > dataset.id.get_storage_size() or self._bytes > self._limit:
            raise self._unsafe(f"more numbers at {describe(place)} than it stores")
        return np.asarray(dataset[()])

    def _unsafe(self, what: str) -> UnsafeFileError:
        return UnsafeFileError(f"{self._name} has {what}", fix="Only groups and plain arrays of numbers are read.")
