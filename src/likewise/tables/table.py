"""Base of every table: a validated, immutable data frame with a summary, reading and writing."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

import pandas as pd

from likewise.tables.io import read_frame, write_frame


class FrozenRecord:
    """An immutable object with a summary of at most six lines and an HTML form for notebooks."""

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; create a new one")

    @property
    def frame(self) -> pd.DataFrame:
        """A copy of the rows."""
        raise NotImplementedError

    def _lines(self) -> list[str]:
        raise NotImplementedError

    def __str__(self) -> str:
        """Summarize the table in at most six lines."""
        return "\n".join([line for line in self._lines() if line][:6])

    def __repr__(self) -> str:
        return f"<{self._lines()[0]}>"

    def _repr_html_(self) -> str:
        """Show the summary and the first rows in a notebook; every cell is escaped."""
        head = "<br>".join(html.escape(line) for line in self._lines() if line)
        return f"<div><p>{head}</p>{self.frame.head(10).to_html(index=False, border=0)}</div>"


class Table(FrozenRecord):
    """A table that holds a data frame. Subclasses validate it in ``_checked`` and summarize it in ``_lines``."""

    text_columns: ClassVar[tuple[str, ...]] = ()
    _frame: pd.DataFrame

    def __init__(self, frame: pd.DataFrame) -> None:
        self._set(_frame=self._checked(frame))

    def _checked(self, frame: pd.DataFrame) -> pd.DataFrame:
        raise NotImplementedError

    @property
    def frame(self) -> pd.DataFrame:
        """A copy of the rows."""
        return self._frame.copy()

    def __len__(self) -> int:
        return len(self._frame)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Table) and self._frame.equals(other._frame)

    __hash__ = None  # type: ignore[assignment]  # tables are compared by their rows, never used as keys

    def write(self, path: str | Path) -> Path:
        """Write to ``.parquet`` (rows and metadata) or ``.csv`` (rows), atomically."""
        target = Path(path)
        write_frame(target, self._rows_to_write(), self._meta())
        return target

    def _rows_to_write(self) -> pd.DataFrame:
        return self._frame

    def _meta(self) -> dict[str, Any]:
        return {}

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a table that ``write`` wrote, or any table with the same columns."""
        frame, meta = read_frame(Path(path), text=cls.text_columns)
        return cls._restored(frame, meta)

    @classmethod
    def _restored(cls, frame: pd.DataFrame, meta: dict[str, Any]) -> Self:
        return cls(frame)


def counted(values: pd.Series, most: int = 4) -> str:
    """Count the most frequent values.

    >>> counted(pd.Series(["male", "female", "female"]))
    'female 2, male 1'
    """
    counts = values.value_counts().sort_index().sort_values(ascending=False, kind="stable")
    shown = ", ".join(f"{value} {count}" for value, count in counts.head(most).items())
    return shown + (f" and {len(counts) - most} more" if len(counts) > most else "")


def listed(names: list[str], most: int = 8) -> str:
    """List the first names and count the rest.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "none") + more
