"""Responses from any long table: one row for each unit and rater, under any column names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from likewise.errors import TableError, nearest, some
from likewise.study.config.questions import Question
from likewise.study.config.sections import StudyPlan
from likewise.study.platforms import ResponseBook
from likewise.tables import Ratings
from likewise.tables.io import read_frame


@dataclass(frozen=True, kw_only=True)
class LongColumns:
    """The columns of a long table; an empty name is guessed."""

    unit: str = ""
    """The unit; guessed: ``unit``, ``trial``, ``pair``, ``image``, or the images ``a`` and ``b``."""
    rater: str = ""
    """The rater; guessed: ``rater``, ``worker``, ``worker_id``, ``participant``, ``user``, ``annotator``."""
    question: str = ""
    """The name of the question; guessed: ``question``. Without it the study has one question."""
    value: str = ""
    """The response; guessed: ``value``, ``response``, ``answer``, ``label``, ``rating``, or the question's name."""
    seconds: str = ""
    """Seconds per response; guessed: ``seconds``; optional."""


_GUESSES = {
    "unit": ("unit", "trial", "pair", "image"),
    "rater": ("rater", "worker", "worker_id", "participant", "participant_id", "user", "annotator"),
    "question": ("question",),
    "value": ("value", "response", "answer", "label", "rating"),
    "seconds": ("seconds",),
}


def read_long_table(study: StudyPlan, path: Path, columns: LongColumns | None = None) -> Ratings:
    """Read responses from a table with one row for each unit and rater.

    Parameters
    ----------
    study
        The study whose units were rated. Units are matched by their key, or by the names of their images.
    path
        A CSV, TSV or Parquet file.
    columns
        The names of its columns; what is not named is guessed.

    Returns
    -------
    Ratings
        The responses. An empty cell is a missing value; a value may be the number or the label of an option.

    Raises
    ------
    TableError
        A column is missing, a unit is not in the study, or a value is not an option.
    """
    frame, _ = read_frame(path)
    names = _names(frame.rename(columns=_stripped), columns or LongColumns(), study, path.name)
    ids = {names.get(part) for part in ("unit", "rater", "a", "b")} - {""}
    keys = tuple(name for name in frame.columns if _stripped(name) in ids)  # they stay text: rater 07 is not rater 7
    frame = read_frame(path, text=keys)[0].rename(columns=_stripped)
    text = frame.astype(object).where(frame.notna(), None)
    book = ResponseBook(study)
    for row in text.to_dict("records"):
        _add(book, study, {str(key): value for key, value in row.items()}, names)
    return book.ratings()


def _stripped(name: object) -> str:
    return str(name).strip()


def _names(frame: pd.DataFrame, columns: LongColumns, study: StudyPlan, table: str) -> dict[str, str]:
    lower = {name.lower(): name for name in frame.columns}
    found: dict[str, str] = {}
    for part, guesses in _GUESSES.items():
        given = getattr(columns, part)
        if given and given not in frame.columns:
            text = f"Column {given!r} not found in {table} (columns: {some(frame.columns, 8)})"
            raise TableError(text, fix=nearest(given, frame.columns))
        found[part] = given or next((lower[guess] for guess in guesses if guess in lower), "")
    if not found["unit"] and {"a", "b"} <= set(lower):
        found["a"], found["b"] = lower["a"], lower["b"]
    wide = [question.name for question in study.questions if question.name in frame.columns]
    if not found["value"] and not wide:
        raise _missing("value", table, frame)
    if not found["unit"] and "a" not in found:
        raise _missing("unit", table, frame)
    if not found["rater"]:
        raise _missing("rater", table, frame)
    if found["value"] and not found["question"] and len(study.questions) > 1:
        raise _missing("question", table, frame)
    return found


def _missing(part: str, table: str, frame: pd.DataFrame) -> TableError:
    text = f"No column of {table} looks like the {part} (columns: {some(frame.columns, 8)})"
    return TableError(text, fix=f"Name it with --{part}.")


def _add(book: ResponseBook, study: StudyPlan, row: Mapping[str, Any], names: Mapping[str, str]) -> None:
    rater = row[names["rater"]]
    if rater is None:
        return
    images = [_text(row[names[part]]) for part in ("a", "b") if part in names]
    key = _text(row[names["unit"]]) if names["unit"] else ""
    unit = book.unit(key, images or [key])
    if unit is None:
        return
    spent = row[names["seconds"]] if names["seconds"] else None
    seconds = float(spent) if isinstance(spent, (int, float)) and not isinstance(spent, bool) else None
    for question, value in _responses(study, row, names):
        book.add(unit, _text(rater), question, _text(value), seconds)


def _responses(study: StudyPlan, row: Mapping[str, Any], names: Mapping[str, str]) -> list[tuple[Question, Any]]:
    known = {question.name: question for question in study.questions}
    if not names["value"]:
        return [(question, row[name]) for name, question in known.items() if name in row]
    name = _text(row[names["question"]]) if names["question"] else study.questions[0].name
    if name not in known:
        fix = nearest(name, known) or f"Questions: {some(known)}."
        raise TableError(f"Question {name[:80]!r} is not in the study", fix=fix)
    return [(known[name], row[names["value"]])]


def _text(value: Any) -> str:
    """Return a cell as text; a whole number has no decimal point, and keeps all its digits: it may be an id."""
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
