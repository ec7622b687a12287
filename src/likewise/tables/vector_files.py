"""Read files of embeddings: .npz, .npy with a file of keys beside it, or a table of numbers."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import InputError, VectorError, VersionError, nearest, some
from likewise.tables.io import read_frame

NAMES = ("images", "image", "names", "keys", "paths", "files")
VALUES = ("values", "embeddings", "features", "vectors")
Loaded = tuple[list[str], npt.NDArray[np.float32], str]
"""Keys, values and source."""


def load_vectors(place: Path) -> Loaded:
    """Read keys, values and source from a file of embeddings, or from a folder of an audit (memory-mapped).

    - ``.npz``: an array of keys (``images``, ``names``, ...) and one of values (``values``, ``embeddings``, ...), and
      optionally ``source``.
    - ``.npy``: a ``.csv``, ``.tsv``, ``.parquet`` or ``.txt`` of the same name beside it holds the keys, in order.
    - a table: a column ``image``, and numbers in all other columns or one column of lists.

    The source is the file's name unless the file says otherwise. Pickled objects are never loaded.
    """
    if not place.exists():
        raise VectorError(f"File not found: {place}", fix="Check the path.")
    try:
        return _reader(place)(place)
    except (InputError, VersionError):
        raise
    except (OSError, ValueError, KeyError, EOFError, SyntaxError, MemoryError) as error:
        if "allow_pickle" in str(error):
            fix = "Save keys as text and values as numbers, e.g. np.savez(file, keys=np.array(keys, dtype=str), ...)."
            raise VectorError(f"{place.name} holds pickled Python objects, which are not opened", fix=fix) from error
        raise VectorError(
            f"Cannot read vectors from {place.name}: {str(error)[:300]}",
            fix="Check that the file is complete, and of the kind that its name says.",
        ) from error
    except (zipfile.BadZipFile, zlib.error, struct.error) as error:
        raise VectorError(f"{place.name} is damaged: {error}", fix="Write or copy it again.") from error


def _reader(place: Path) -> Callable[[Path], Loaded]:
    if place.is_dir():
        return _folder
    known = {".npz": _npz, ".npy": _npy, ".parquet": _table, ".csv": _table, ".tsv": _table}
    if place.suffix not in known:
        raise VectorError(f"Cannot read vectors from {place.name!r}", fix="Use .npz, .npy, .parquet, .csv or .tsv.")
    return known[place.suffix]


def _folder(place: Path) -> Loaded:
    index, meta = read_frame(place / "images.parquet")
    values = np.load(place / "values.npy", mmap_mode="r", allow_pickle=False)
    return index["image"].tolist(), values, str(meta["source"])


def _npz(place: Path) -> Loaded:
    with place.open("rb") as handle, np.load(handle, allow_pickle=False) as stored:
        names, values = (_one_of(stored.files, known, place) for known in (NAMES, VALUES))
        source = str(stored["source"]) if "source" in stored.files else place.stem
        return [str(name) for name in stored[names].tolist()], stored[values], source


def _one_of(held: list[str], known: tuple[str, ...], place: Path) -> str:
    found = [name for name in known if name in held]
    if len(found) != 1:
        problem = f"{len(found)} arrays of {place.name} are named {' or '.join(known)} (arrays: {some(held)})"
        raise VectorError(problem, fix="Store exactly one of these.")
    return found[0]


def _npy(place: Path) -> Loaded:
    beside = [path for end in (".csv", ".tsv", ".parquet", ".txt") if (path := place.with_suffix(end)).is_file()]
    if len(beside) != 1:
        fix = f"Put {place.stem}.csv with a column image beside it, or {place.stem}.txt with a key per line."
        raise VectorError(f"{len(beside) or 'No'} files with image keys beside {place.name}", fix=fix)
    if beside[0].suffix == ".txt":
        names = [line.strip() for line in beside[0].read_text(encoding="utf-8").splitlines() if line.strip()]
    else:
        frame = read_frame(beside[0], text=NAMES)[0]
        names = frame[_key_column(frame, beside[0])].astype("str").tolist()
    return names, np.load(place, mmap_mode="r", allow_pickle=False), place.stem


def _table(place: Path) -> Loaded:
    frame = read_frame(place, text=NAMES)[0]
    key = _key_column(frame, place)
    rest = frame.drop(columns=key)
    if rest.shape[1] == 1 and not pd.api.types.is_numeric_dtype(rest.dtypes.iloc[0]):
        values = np.stack([np.asarray(entry, dtype=np.float32) for entry in rest.iloc[:, 0]])
    else:
        words = [name for name in rest.columns if not pd.api.types.is_numeric_dtype(rest[name].dtype)]
        if words or rest.empty:
            which = f"columns that are not numbers: {some(words)}" if words else f"no columns besides {key}"
            raise VectorError(
                f"{place.name} has {which}", fix="Keep the image key and the numbers of the vectors only."
            )
        values = rest.to_numpy(dtype=np.float32)
    return frame[key].astype("str").tolist(), values, place.stem


def _key_column(frame: pd.DataFrame, place: Path) -> str:
    found = [name for name in NAMES if name in frame.columns]
    if not found:
        problem = f"Column 'image' not found in {place.name} (columns: {some(frame.columns, 8)})"
        raise VectorError(problem, fix=nearest("image", frame.columns))
    return found[0]
