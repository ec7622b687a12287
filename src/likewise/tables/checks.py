"""Checks that several tables share; each raises one clear error.

``table`` is what messages call the table: its class, or the file it came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from likewise.errors import TableError, nearest, some


def need_frame(frame: object, table: str) -> pd.DataFrame:
    """Return a copy with a plain index; anything but a data frame with unique text column names is an error."""
    if not isinstance(frame, pd.DataFrame):
        raise TableError(
            f"{table} needs a pandas DataFrame, not {type(frame).__name__}",
            fix="Read the file first, e.g. with pandas.read_csv.",
        )
    names = list(frame.columns)
    if not all(isinstance(name, str) for name in names):
        numbers = some(name for name in names if not isinstance(name, str))
        raise TableError(f"Column names of {table} are not text: {numbers}", fix="Rename these columns.")
    if len(set(names)) < len(names):
        raise TableError(
            f"Duplicate column names in {table}: {some(sorted({n for n in names if names.count(n) > 1}))}",
            fix="Rename one of them.",
        )
    return frame.reset_index(drop=True)


def need_columns(frame: pd.DataFrame, names: Sequence[str], table: str, *, fix: str = "") -> None:
    """Check that every named column exists; ``fix`` says how else a column is named."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        problem = f"Column {missing[0][:80]!r} not found in {table} (columns: {some(frame.columns, 8)})"
        how = fix or "Name one of these, or rename a column."
        raise TableError(problem, fix=nearest(missing[0], frame.columns) or how)


def need_values(frame: pd.DataFrame, names: Iterable[str], key: str, table: str) -> None:
    """Check that the named columns have no missing values; rows are named by their key, or by number without one."""
    for name in names:
        empty = frame[name].isna()
        if empty.any():
            keys, rows = frame.loc[empty, key].dropna(), row_numbers(np.flatnonzero(empty))
            where = f"{key} {some(keys)}" if key != name and len(keys) == empty.sum() else rows
            raise TableError(
                f"Column {name!r} of {table} has no value for {where}", fix="Fill it in or remove the row."
            )


def need_unique(frame: pd.DataFrame, names: Sequence[str], table: str) -> None:
    """Check that every combination of the named columns occurs once."""
    repeated = frame.duplicated(list(names), keep=False)
    if repeated.any():
        keys = frame[list(names)].astype("str").agg(" / ".join, axis=1)
        culprits = list(dict.fromkeys(keys[repeated]))
        where = row_numbers(np.flatnonzero(keys == culprits[0]))
        more = f" and {len(culprits) - 1} more" if len(culprits) > 1 else ""
        problem = f"Duplicate {' x '.join(names)} in {table}: {some(culprits[:1])} ({where}){more}"
        raise TableError(problem, fix="Keep one row of each.")


def row_numbers(rows: Iterable[int]) -> str:
    """Name rows by their number, starting at 1 below the header.

    >>> row_numbers([0, 4])
    'rows 1, 5'
    """
    numbers = [int(row) + 1 for row in rows]
    shown = ", ".join(str(number) for number in numbers[:5])
    more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return f"row{'s' if len(numbers) > 1 else ''} {shown}{more}"


def need_numbers(frame: pd.DataFrame, names: Iterable[str], table: str) -> None:
    """Convert the named columns to float64; text and infinity are errors, missing values are allowed."""
    for name in names:
        if frame[name].dtype == np.float64 and not np.isinf(frame[name].to_numpy()).any():
            continue
        values = pd.to_numeric(frame[name], errors="coerce").astype("float64")
        bad = (values.isna() & frame[name].notna()) | np.isinf(values)
        if bad.any():
            culprits = some(frame.loc[bad, name].unique())
            where = row_numbers(np.flatnonzero(bad))
            raise TableError(
                f"Column {name!r} of {table} has values that are not finite numbers: {culprits} ({where})",
                fix="Write numbers, or leave the cells empty.",
            )
        frame[name] = values


def among(keys: pd.Series, known: Iterable[str]) -> pd.Series:
    """Return which of the keys are known ones.

    ``Series.isin`` visits Arrow text one element at a time and takes thirty times as long.

    >>> among(pd.Series(["a", "b"], dtype="str"), ["b", "c"]).tolist()
    [False, True]
    """
    those = set(texts(known))
    return pd.Series([key in those for key in keys.tolist()], index=keys.index, dtype=bool)


def texts(keys: Iterable[str]) -> list[str]:
    """Return keys as a list; a Series or an Index gives all of its Arrow text at once, not element by element."""
    return keys.tolist() if isinstance(keys, pd.Series | pd.Index) else list(keys)


def as_keys(column: pd.Series) -> pd.Series:
    """Convert a key column to text: 7, 7.0 and '7' are one key; missing values stay missing."""
    if str(column.dtype) == "str":
        return column
    if pd.api.types.is_float_dtype(column.dtype) and (column.dropna() % 1 == 0).all():
        column = column.astype("Int64")
    return column.astype("str").where(column.notna(), None).astype("str")
