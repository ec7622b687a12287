"""Whole files or none: every write goes to a temporary name beside its target and then ``os.replace``."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from likewise.errors import InputError, ReadOnlyError, SpaceError, TableError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_CLOSED = {errno.EROFS, errno.EACCES, errno.EPERM}
_META = b"likewise"
_NA = ["", "NA", "N/A", "NaN", "nan", "null"]


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn the operating system's refusals to write into errors that say what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            fix = "Free some space and run again; what was finished is kept."
            raise SpaceError(f"no space is left for {path.name}", got=str(error), fix=fix) from error
        if error.errno in _CLOSED:
            fix = "Choose a folder that you may write to, or change its permissions."
            raise ReadOnlyError(f"{path.parent} cannot be written to", got=str(error), fix=fix) from error
        raise


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name to write to; it becomes ``path`` on success and vanishes on failure."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            with temporary.open("rb") as handle:
                os.fsync(handle.fileno())
            temporary.replace(path)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_frame(path: Path, frame: pd.DataFrame, meta: Mapping[str, Any] | None = None) -> None:
    """Write a frame as Parquet (with metadata) or CSV, by the file's ending."""
    with replacing(path) as temporary:
        if path.suffix == ".csv":
            frame.to_csv(temporary, index=False, lineterminator="\n")
        elif path.suffix == ".parquet":
            table = pa.Table.from_pandas(frame, preserve_index=False)
            table = table.replace_schema_metadata({_META: json.dumps(meta or {}, sort_keys=True).encode()})
            pq.write_table(table, temporary)
        else:
            raise InputError("a table is written as .parquet or .csv", got=path.name)


def read_frame(path: Path, *, text: tuple[str, ...] = ()) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read a frame and its metadata; the columns in ``text`` stay text (``007`` is not 7, ``NA`` is a name)."""
    if not path.is_file():
        raise TableError(f"{path} is not there", fix="Check the path.")
    try:
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            meta = json.loads((table.schema.metadata or {}).get(_META, b"{}"))
            return table.replace_schema_metadata(None).to_pandas(), meta
        if path.suffix in {".csv", ".tsv"}:
            return _read_csv(path, text), {}
    except (pa.ArrowException, ValueError, UnicodeDecodeError) as error:
        raise TableError(f"{path} cannot be read as {path.suffix}", got=str(error).splitlines()[0]) from error
    raise InputError("a table is read from .parquet, .csv or .tsv", got=path.name)


def _read_csv(path: Path, text: tuple[str, ...]) -> pd.DataFrame:
    separator = "\t" if path.suffix == ".tsv" else ","
    names = pd.read_csv(path, sep=separator, nrows=0).columns
    return pd.read_csv(
        path,
        sep=separator,
        dtype={name: "str" for name in text if name in names},
        keep_default_na=False,
        na_values={name: [""] if name in text else _NA for name in names},
    )
