"""The rules that several tables share, each raising one clear error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from likewise.errors import TableError, nearest, some


def need_frame(frame: object, noun: str) -> pd.DataFrame:
    """Return a fresh copy with a plain index, or refuse what is not a table."""
    if not isinstance(frame, pd.DataFrame):
        raise TableError(f"{noun} is made from a pandas DataFrame", got=type(frame).__name__)
    names = list(frame.columns)
    if not all(isinstance(name, str) for name in names):
        raise TableError(f"column names of {noun} are text", got=some(n for n in names if not isinstance(n, str)))
    if len(set(names)) < len(names):
        raise TableError(f"{noun} has each column once", got=some({n for n in names if names.count(n) > 1}))
    return frame.reset_index(drop=True)


def need_columns(frame: pd.DataFrame, names: Sequence[str], noun: str) -> None:
    """Every named column is there."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        hint = nearest(missing[0], frame.columns)
        fix = f"{hint} Its columns are {some(frame.columns, 8)}.".strip()
        raise TableError(f"{noun} needs the column {missing[0]!r}", fix=fix)


def need_values(frame: pd.DataFrame, names: Iterable[str], key: str, noun: str) -> None:
    """No null in the named columns; culprits are named by their key."""
    for name in names:
        empty = frame[name].isna()
        if empty.any():
            raise TableError(f"{noun}: {name!r} is never empty", got=f"no value for {some(frame.loc[empty, key])}")


def need_unique(frame: pd.DataFrame, names: Sequence[str], noun: str) -> None:
    """Every combination of the named columns occurs once."""
    twice = frame.duplicated(list(names), keep="first")
    if twice.any():
        rows = frame.loc[twice, list(names)].drop_duplicates()
        culprits = [" / ".join(str(value) for value in row) for row in rows.itertuples(index=False)]
        raise TableError(f"{noun}: one row for each {' x '.join(names)}", got=f"more than one for {some(culprits)}")


def need_numbers(frame: pd.DataFrame, names: Iterable[str], noun: str) -> None:
    """The named columns are numeric and not infinite (empty is allowed)."""
    for name in names:
        values = pd.to_numeric(frame[name], errors="coerce").astype("float64")
        bad = (values.isna() & frame[name].notna()) | np.isinf(values)
        if bad.any():
            raise TableError(f"{noun}: {name!r} holds numbers", got=some(frame.loc[bad, name].unique()))
        frame[name] = values


def as_keys(column: pd.Series) -> pd.Series:
    """Turn a key column into text: 7, 7.0 and '7' are one key; an empty one stays empty."""
    if pd.api.types.is_float_dtype(column.dtype) and (column.dropna() % 1 == 0).all():
        column = column.astype("Int64")
    return column.astype("str").where(column.notna(), None).astype("str")
