"""Ratings: what a rater, be it a model or a person, answered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import pandas as pd

from likewise.errors import TableError, some
from likewise.tables.checks import as_keys, need_columns, need_frame, need_numbers, need_unique, need_values, texts
from likewise.tables.table import Table, counted

COLUMNS = ("unit", "rater", "question", "value", "seconds", "session", "confidence")


class Ratings(Table):
    """One answer a row: ``unit`` (an image or a trial), ``rater``, ``question``, ``value``.

    A recognizer, a classifier and a person are all raters. An empty value means that there is no answer (no face
    detected, question skipped): it is kept and counted, and never treated as an answer.

    Parameters
    ----------
    frame : DataFrame
        The columns ``unit``, ``rater``, ``question`` and ``value``; optionally ``seconds``, ``session`` and
        ``confidence``. One row per unit, rater and question.
    units : iterable of str, optional
        The images or trials of the design; any other unit is an error.

    Examples
    --------
    >>> import pandas as pd
    >>> ratings = Ratings(
    ...     pd.DataFrame({"unit": ["a|b", "c|d"], "rater": "net", "question": "distance", "value": [0.4, None]})
    ... )
    >>> len(ratings), int(ratings.frame["value"].isna().sum())
    (2, 1)
    """

    text_columns: ClassVar[tuple[str, ...]] = ("unit", "rater", "question", "session")

    def __init__(self, frame: pd.DataFrame, *, units: Iterable[str] | None = None) -> None:
        super().__init__(frame)
        if units is not None:
            self.check_units(units)

    def _checked(self, frame: pd.DataFrame) -> pd.DataFrame:
        frame = need_frame(frame, "Ratings")
        need_columns(frame, ["unit", "rater", "question", "value"], "Ratings")
        unknown = [name for name in frame.columns if name not in COLUMNS]
        if unknown:
            raise TableError(f"Ratings has unknown columns: {some(unknown)}", fix=f"Columns: {some(COLUMNS, 7)}.")
        for name in ("unit", "rater", "question"):
            frame[name] = as_keys(frame[name])
        need_values(frame, ["unit", "rater", "question"], "unit", "Ratings")
        need_unique(frame, ["unit", "rater", "question"], "Ratings")
        need_numbers(frame, [name for name in ("value", "seconds", "confidence") if name in frame.columns], "Ratings")
        return frame

    def check_units(self, units: Iterable[str]) -> None:
        """Every unit is one of these images or pairs."""
        unknown = sorted(set(texts(self._frame["unit"])) - set(texts(units)))
        if unknown:
            fix = "They must be images or trials of this audit; rate again if the design has changed."
            raise TableError(f"Rated units that are not in the design: {some(unknown)}", fix=fix)

    @classmethod
    def together(cls, parts: Iterable[Ratings]) -> Ratings:
        """Put the answers of several raters into one table."""
        frames = [part.frame for part in parts if len(part)]
        empty = pd.DataFrame({"unit": [], "rater": [], "question": [], "value": []})
        return cls(pd.concat(frames, ignore_index=True) if frames else empty)

    def _lines(self) -> list[str]:
        frame = self._frame
        value = frame["value"].dropna()
        return [
            f"Ratings: {len(frame)} answers on {frame['unit'].nunique()} units",
            f"  raters ({frame['rater'].nunique()}): {counted(frame['rater'])}",
            f"  questions ({frame['question'].nunique()}): {counted(frame['question'])}",
            f"  values: {value.min():.3g} to {value.max():.3g}, mean {value.mean():.3g}"
            if len(value)
            else "  no values",
            f"  no answer: {int(frame['value'].isna().sum())}",
            "  one value per unit, rater and question",
        ]
