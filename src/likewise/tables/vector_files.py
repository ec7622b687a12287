"""The files in which people have embeddings: .npz, .npy with a list of names beside, or a table with numbers."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import InputError, VectorError, some
from likewise.tables.files import read_frame

NAMES = ("images", "image", "names", "keys", "paths", "files")
VALUES = ("values", "embeddings", "features", "vectors")
Loaded = tuple[list[str], npt.NDArray[np.float32], str]
"""Keys, values and what made them."""


def load_vectors(place: Path) -> Loaded:
    """Read keys and values from a file of any of these forms, or from a folder, whose values stay on disk.

    ``.npz`` holds one array of names and one of values, under usual names; ``.npy`` has a ``.csv``, ``.tsv``,
    ``.parquet`` or ``.txt`` of the same name beside it, in the same order; a table has ``image`` and either numbers in
    all other columns or one column of lists. What made them is said by ``source`` in a ``.npz``, else by the file's
    name. Nothing in a file is ever executed.
    """
    if not place.exists():
        raise VectorError(f"{place} is there", got="nothing of that name", fix="Check the path.")
    try:
        return _reader(place)(place)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        raise VectorError(f"{place} holds images, values and source", got=str(error)) from error


def _reader(place: Path) -> Callable[[Path], Loaded]:
    if place.is_dir():
        return _folder
    known = {".npz": _npz, ".npy": _npy, ".parquet": _table, ".csv": _table, ".tsv": _table}
    if place.suffix not in known:
        raise VectorError("vectors are read from .npz, .npy, .parquet, .csv or .tsv", got=place.name)
    return known[place.suffix]


def _folder(place: Path) -> Loaded:
    index, meta = read_frame(place / "images.parquet")
    values = np.load(place / "values.npy", mmap_mode="r", allow_pickle=False)
    return index["image"].tolist(), values, str(meta["source"])


def _npz(place: Path) -> Loaded:
    with np.load(place, allow_pickle=False) as stored:
        names, values = (_one_of(stored.files, known, place) for known in (NAMES, VALUES))
        source = str(stored["source"]) if "source" in stored.files else place.stem
        return [str(name) for name in stored[names].tolist()], stored[values], source


def _one_of(held: list[str], known: tuple[str, ...], place: Path) -> str:
    found = [name for name in known if name in held]
    if len(found) != 1:
        got = some(found) if found else f"{some(held)} in {place.name}"
        raise VectorError(f"an .npz has one array called {' or '.join(known)}", got=got)
    return found[0]


def _npy(place: Path) -> Loaded:
    beside = [path for end in (".csv", ".tsv", ".parquet", ".txt") if (path := place.with_suffix(end)).is_file()]
    if len(beside) != 1:
        fix = f"Put {place.stem}.csv with a column image beside it, or {place.stem}.txt with a name a line."
        raise VectorError(f"one list of names lies beside {place.name}", got=str(len(beside)), fix=fix)
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
            raise VectorError(f"all columns of {place.name} but {key} are numbers", got=some(words) or "no others")
        values = rest.to_numpy(dtype=np.float32)
    return frame[key].astype("str").tolist(), values, place.stem


def _key_column(frame: pd.DataFrame, place: Path) -> str:
    found = [name for name in NAMES if name in frame.columns]
    if not found:
        raise VectorError(f"{place.name} has a column image", got=some(frame.columns))
    return found[0]
