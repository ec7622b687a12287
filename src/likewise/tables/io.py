"""Read and write tables and files. Writes are atomic: a temporary file beside the target, then ``os.replace``."""

from __future__ import annotations

import contextlib
import csv
import errno
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from likewise.errors import InputError, ReadOnlyError, SpaceError, TableError, VersionError

TABLE_FORMAT = 1
"""Version of the tables that are written; a higher one was written by a newer version of likewise."""
MOST_COLUMNS = 50_000
"""More columns than any table of attributes or embeddings has; reading such a file would exhaust memory."""
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_CLOSED = {errno.EROFS, errno.EACCES, errno.EPERM}
_META = b"likewise"
_NA = ["", "NA", "N/A", "NaN", "nan", "null"]
_BOMS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_COMMA_NUMBER, _POINT_NUMBER = re.compile(r"-?\d+,\d+"), re.compile(r"-?\d+\.\d+")


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn the operating system's write errors into errors that say what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            fix = "Free some space and run again; finished work is kept."
            raise SpaceError(f"No space left to write {path.name}: {error.strerror}", fix=fix) from error
        if error.errno in _CLOSED:
            fix = "Choose a folder that you can write to, or change its permissions."
            raise ReadOnlyError(f"Folder {path.parent} cannot be written to: {error.strerror}", fix=fix) from error
        raise


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; it becomes ``path`` on success and is removed on failure."""
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
    """Write a text file atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_frame(path: Path, frame: pd.DataFrame, meta: Mapping[str, Any] | None = None) -> None:
    """Write a data frame as Parquet (with metadata and checksums) or CSV, by the file's extension."""
    with replacing(path) as temporary:
        if path.suffix == ".csv":
            frame.to_csv(temporary, index=False, lineterminator="\n")
        elif path.suffix == ".parquet":
            kept = json.dumps({**(meta or {}), "table_format": TABLE_FORMAT}, sort_keys=True)
            table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata({_META: kept.encode()})
            pq.write_table(table, temporary, write_page_checksum=True)
        else:
            raise InputError(f"Cannot write a table as {path.name!r}", fix="Use the extension .parquet or .csv.")


def read_frame(path: Path, *, text: tuple[str, ...] = ()) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read a data frame and its metadata from Parquet, CSV or TSV.

    A CSV file may be separated by commas, semicolons (also with decimal commas) or tabs, in UTF-8 with or without a
    byte order mark, or in UTF-16.

    Parameters
    ----------
    path
        The file.
    text
        Columns that stay text: ``007`` is not 7, and ``NA`` is a name.

    Raises
    ------
    TableError
        The file is missing, damaged, empty, of another format or absurdly wide.
    VersionError
        A newer version of likewise wrote the file.
    """
    if not path.is_file():
        raise TableError(f"File not found: {path}", fix="Check the path.")
    suffix = path.suffix.lower()
    if suffix not in {".parquet", ".csv", ".tsv"}:
        fix = "Export the sheet as CSV." if suffix.startswith(".xls") else "Use a .parquet, .csv or .tsv file."
        raise TableError(f"Cannot read {path.name!r} as a table", fix=fix)
    try:
        return _read_parquet(path) if suffix == ".parquet" else (_read_csv(path, text), {})
    except (InputError, VersionError):
        raise
    except pd.errors.EmptyDataError as error:
        raise TableError(f"{path.name} is empty", fix="Check that the export finished.") from error
    except UnicodeError as error:
        fix = "Save the table as UTF-8 (in Excel: CSV UTF-8)."
        raise TableError(f"Cannot read {path.name}: not UTF-8 text ({error})", fix=fix) from error
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError, csv.Error) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:300]
        raise TableError(
            f"Cannot read {path.name}: the file is damaged or not {suffix} ({reason})", fix="Write or export it again."
        ) from error


def parse_json(text: str | bytes) -> Any:
    """Parse JSON from a file; anything that is not JSON, or is nested too deeply, is a ValueError."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _read_parquet(path: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    schema = pq.read_schema(path)
    _check_width(len(schema.names), path)
    meta = parse_json((schema.metadata or {}).get(_META, b"{}"))
    if not isinstance(meta, dict):
        raise ValueError("its metadata is not a table")
    written = meta.pop("table_format", TABLE_FORMAT)
    if not isinstance(written, int) or written > TABLE_FORMAT:
        problem = f"{path.name} was written by a newer version of likewise (table format {str(written)[:20]}, "
        raise VersionError(f"{problem}this version reads up to {TABLE_FORMAT})", fix="Update likewise.")
    table = pq.read_table(path, page_checksum_verification=True)
    return table.replace_schema_metadata(None).to_pandas(), meta


def _check_width(columns: int, path: Path) -> None:
    if columns > MOST_COLUMNS:
        fix = "Is the table transposed? Store embeddings as .npz or .npy."
        raise TableError(f"{path.name} has {columns:,} columns, the limit is {MOST_COLUMNS:,}", fix=fix)


def _read_csv(path: Path, text: tuple[str, ...]) -> pd.DataFrame:
    encoding = _encoding(path)
    separator, decimal = _dialect(path, encoding)
    names = pd.read_csv(path, sep=separator, nrows=0, encoding=encoding).columns
    return pd.read_csv(
        path,
        sep=separator,
        decimal=decimal,
        encoding=encoding,
        dtype={name: "str" for name in text if name in names},
        keep_default_na=False,
        na_values={name: [""] if name in text else _NA for name in names},
    )


def _encoding(path: Path) -> str:
    """Return the encoding that the byte order mark names; without a mark, UTF-16 is recognized by its zero bytes."""
    with path.open("rb") as handle:
        head = handle.read(256)
    for mark, encoding in _BOMS.items():
        if head.startswith(mark):
            return encoding
    if head and head[1::2].count(0) > len(head) // 4:
        return "utf-16-le"
    return "utf-16-be" if head and head[::2].count(0) > len(head) // 4 else "utf-8"


def _dialect(path: Path, encoding: str) -> tuple[str, str]:
    """Return separator and decimal mark, by the header and the first rows."""
    with path.open(encoding=encoding, newline="") as handle:
        header = re.sub(r'"[^"]*"', "", handle.readline())
        separator = "\t" if path.suffix.lower() == ".tsv" else max(",;\t", key=header.count)
        _check_width(header.count(separator) + 1, path)
        if separator == ",":
            return separator, "."
        cells = [cell.strip() for _, line in zip(range(50), handle, strict=False) for cell in line.split(separator)]
    commas = any(_COMMA_NUMBER.fullmatch(cell) for cell in cells)
    return separator, "," if commas and not any(_POINT_NUMBER.fullmatch(cell) for cell in cells) else "."
