"""The items of a plan: units from a table; training, gold and attention items from a table or from the plan itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from likewise.errors import LikewiseError, nearest, some
from likewise.study.config.problems import Where, fail, placed
from likewise.study.config.questions import Question
from likewise.study.config.sections import Item
from likewise.study.config.texts import LANGUAGES, Text
from likewise.study.config.written import ItemEntry
from likewise.tables.io import read_frame

_TEXT = ("unit", "image", "a", "b", "explanation", "pair")


class TableRows:
    """Remembers which row of which table an item came from, for messages."""

    def __init__(self) -> None:
        self._tables: dict[str, str] = {}
        self._row: dict[tuple[str, str], int] = {}

    def note(self, part: str, table: str, items: tuple[Item, ...]) -> None:
        """Keep where the items of a part stand; the first line of a table is its header."""
        self._tables[part] = table
        for k, item in enumerate(items):
            for key in (item.key, str(k), *item.images):
                self._row.setdefault((part, key), k + 2)

    def line(self, where: Where) -> str:
        """Return ``units.csv, line 12`` when the place is a row of a table."""
        part = str(where[0]) if where else ""
        if part not in self._tables or len(where) < 2:
            return ""
        row = self._row.get((part, str(where[2]) if where[1] == "item" and len(where) > 2 else str(where[1])))
        return f"{self._tables[part]}, line {row}" if row else ""


def items_from_plan(
    part: str,
    entries: Sequence[ItemEntry],
    questions: tuple[Question, ...],
    text: Callable[..., Text],
    question: Callable[..., Question],
) -> tuple[Item, ...]:
    """Return the ``[[part.item]]`` entries of a plan as items.

    ``text`` and ``question`` build texts and questions in the languages of the study.
    """
    found = []
    for k, entry in enumerate(entries):
        where: Where = (part, "item", k)
        own = None
        if entry.question is not None or entry.options:
            own = question(f"{part}-{k + 1}", entry.question or "", entry.options, "nominal", *where)
        found.append(
            Item(
                key=f"{part}-{k + 1}",
                images=_images(entry, part, where),
                answer=_answer(entry.answer, (own,) if own else questions, where),
                explanation=text(entry.explanation, *where) if entry.explanation is not None else None,
                question=own,
            )
        )
    return tuple(found)


def _images(entry: ItemEntry, part: str, where: Where) -> tuple[str, ...]:
    given = {key: value for key in ("image", "a", "b") if (value := getattr(entry, key)) is not None}
    if set(given) not in ({"image"}, {"a", "b"}):
        fix = 'Give image = "...", or a = "..." and b = "...".'
        raise fail(f"An item of [{part}] names {some(given) or 'no image'}", *where, fix=fix)
    return tuple(given.values())


def _answer(plain: Any, questions: tuple[Question, ...], where: Where) -> dict[str, float]:
    """Take ``answer = 1`` for a single question, else ``answer = { name = 1 }``; none stays none."""
    if plain is None:
        return {}
    if not isinstance(plain, Mapping) and len(questions) > 1:
        fix = f"Give it by question: answer = {{ {questions[0].name} = ... }}."
        raise fail("The study has several questions, and the correct answer names none", *where, fix=fix)
    table = plain if isinstance(plain, Mapping) else {questions[0].name: plain}
    for name, value in table.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise fail(f"The correct answer to {name!r} is {str(value)[:80]!r}, which is not a number", *where)
    return {str(name): float(value) for name, value in table.items()}


def items_from_table(
    folder: Path, part: str, section: Any, questions: tuple[Question, ...], rows: TableRows
) -> tuple[Item, ...]:
    """Return the rows of a table as items; ``rows`` remembers their lines."""
    path = folder / section.table
    try:
        frame = read_frame(path, text=_TEXT)[0]
    except LikewiseError as error:
        raise placed((part, "table"), error) from error
    names = {key: str(getattr(section, key, key)) for key in ("unit", "image", "a", "b")}
    shown = [names["image"]] if names["image"] in frame.columns else [names["a"], names["b"]]
    group = str(getattr(section, "group", ""))
    _need_columns(frame, [*shown, *([group] if group else [])], path.name, part)
    for column in shown:
        empty = frame.index[frame[column].isna()]
        if len(empty):
            raise fail(f"Column {column!r} is empty in {path.name}, line {empty[0] + 2}", part, "table")
    records: list[dict[str, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")  # type: ignore[assignment]
    if part == "units":
        items = tuple(_unit(row, shown, names["unit"], group) for row in records)
    else:
        items = tuple(_control(row, part, k, shown, questions) for k, row in enumerate(records))
    rows.note(part, path.name, items)
    return items


def _need_columns(frame: pd.DataFrame, columns: list[str], table: str, part: str) -> None:
    for column in columns:
        if column not in frame.columns:
            text = f"Column {column!r} not found in {table} (columns: {some(frame.columns, 8)})"
            raise fail(text, part, fix=nearest(column, frame.columns))


def _unit(row: Mapping[str, Any], shown: list[str], unit: str, group: str) -> Item:
    images = tuple(str(row[column]) for column in shown)
    key = str(row[unit]) if row.get(unit) is not None else "|".join(images)
    return Item(key=key, images=images, group=str(row[group]) if group else "")


def _control(row: Mapping[str, Any], part: str, k: int, shown: list[str], questions: tuple[Question, ...]) -> Item:
    answer = row.get("answer")
    where: Where = (part, "item", k)
    if answer is None:
        answer = {q.name: row[q.name] for q in questions if row.get(q.name) is not None} or None
    by_language = {code: str(words) for code in LANGUAGES if (words := row.get(f"explanation_{code}")) is not None}
    words = by_language or row.get("explanation")
    text = Text.of(words if isinstance(words, dict) else str(words)) if words is not None else None
    images = tuple(str(row[column]) for column in shown)
    return Item(key=f"{part}-{k + 1}", images=images, answer=_answer(answer, questions, where), explanation=text)
