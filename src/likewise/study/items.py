"""The items of a plan: units from a table, training and gold from a table or from the plan itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from likewise.errors import LikewiseError, StudyError, nearest, some
from likewise.study.parts import Item
from likewise.study.questions import Question, question_from
from likewise.study.texts import LANGUAGES, Text
from likewise.tables.files import read_frame

Where = tuple[str | int, ...]
_ITEM = ("image", "a", "b", "answer", "explanation", "question", "options")


class Rows:
    """Remembers which row of which table an item came from."""

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


def items_of(
    section: Mapping[str, Any], part: str, questions: tuple[Question, ...], folder: Path, rows: Rows
) -> tuple[Item, ...]:
    """Read the items of a part, from its table and from the plan."""
    if part == "units" and "table" not in section:
        raise StudyError("[units] names its table", got="no such line", fix='table = "units.csv"', where=("units",))
    items: tuple[Item, ...] = ()
    if "table" in section:
        items = _from_table(section, part, questions, folder)
        rows.note(part, Path(str(section["table"])).name, items)
        if section.get("item"):
            raise StudyError(f"[{part}] has a table or items", got="both", fix="Choose one.", where=(part, "item"))
        return items
    entries = section.get("item", [])
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise StudyError(f"[[{part}.item]] is a list of sections", got=repr(entries), where=(part, "item"))
    return tuple(_from_plan(entry, part, k, questions) for k, entry in enumerate(entries))


def _from_plan(entry: Mapping[str, Any], part: str, k: int, questions: tuple[Question, ...]) -> Item:
    where: Where = (part, "item", k)
    for key in entry:
        if key not in _ITEM:
            fix = nearest(key, _ITEM) or f"It knows {some(_ITEM, 8)}."
            raise StudyError(f"an item has no key {key!r}", fix=fix, where=(*where, key))
    own = None
    if "question" in entry or "options" in entry:
        plain = {"name": f"{part}-{k + 1}", "text": entry.get("question", ""), "options": entry.get("options", [])}
        own = _placed(where, question_from, plain)
    asked = (own,) if own else questions
    words = entry.get("explanation")
    return Item(
        key=f"{part}-{k + 1}",
        images=_images(entry, where),
        answer=_answer(entry.get("answer"), asked, where),
        explanation=_placed(where, Text.of, words) if words is not None else None,
        question=own,
    )


def _images(entry: Mapping[str, Any], where: Where) -> tuple[str, ...]:
    names = [entry[key] for key in ("image", "a", "b") if key in entry]
    shape = set(entry) & {"image", "a", "b"}
    if shape not in ({"image"}, {"a", "b"}) or not all(isinstance(name, str) for name in names):
        raise StudyError("an item shows an image, or the images a and b", got=some(shape) or "none", where=where)
    return tuple(names)


def _answer(plain: Any, asked: tuple[Question, ...], where: Where) -> dict[str, float]:
    """Take ``answer = 1`` when one question is asked, else ``answer = { name = 1 }``; none stays none."""
    if plain is None:
        return {}
    table = plain if isinstance(plain, Mapping) else {asked[0].name: plain}
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in table.values())
    if not numbers or (not isinstance(plain, Mapping) and len(asked) > 1):
        raise StudyError("a right answer is a number, by question if there are several", got=repr(plain), where=where)
    return {str(name): float(value) for name, value in table.items()}


def _from_table(
    section: Mapping[str, Any], part: str, questions: tuple[Question, ...], folder: Path
) -> tuple[Item, ...]:
    path = folder / str(section["table"])
    frame: pd.DataFrame = _placed((part, "table"), lambda: read_frame(path, text=tuple(_TEXT)))[0]
    names = {key: str(section.get(key, key)) for key in ("unit", "image", "a", "b")}
    pair = names["image"] not in frame.columns
    shown = [names["a"], names["b"]] if pair else [names["image"]]
    group = str(section.get("group", ""))
    for column in [*shown, *([group] if group else [])]:
        if column not in frame.columns:
            fix = f"{nearest(column, frame.columns)} Its columns are {some(frame.columns, 8)}.".strip()
            raise StudyError(f"{path.name} has the column {column!r}", got="none", fix=fix, where=(part,))
    for column in shown:
        empty = frame.index[frame[column].isna()]
        if len(empty):
            raise StudyError(f"{column!r} is never empty", got=f"an empty one in {path.name}, line {empty[0] + 2}",
                             where=(part, "table"))  # fmt: skip
    return tuple(_from_row(row, part, k, shown, names["unit"], group, questions) for k, row in enumerate(_rows(frame)))


_TEXT = ("unit", "image", "a", "b", "explanation", "pair")


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")  # type: ignore[assignment]
    return records


def _from_row(
    row: Mapping[str, Any], part: str, k: int, shown: list[str], unit: str, group: str, questions: tuple[Question, ...]
) -> Item:
    images = tuple(str(row[column]) for column in shown)
    key = str(row[unit]) if row.get(unit) is not None else "|".join(images)
    if part == "units":
        return Item(key=key, images=images, group=str(row[group]) if group else "")
    answer = row.get("answer")
    where: Where = (part, "item", k)
    if answer is None:
        answer = {q.name: row[q.name] for q in questions if row.get(q.name) is not None} or None
    by_language = {code: str(words) for code in LANGUAGES if (words := row.get(f"explanation_{code}")) is not None}
    words = by_language or row.get("explanation")
    text = _placed(where, Text.of, words if isinstance(words, dict) else str(words)) if words is not None else None
    return Item(key=f"{part}-{k + 1}", images=images, answer=_answer(answer, questions, where), explanation=text)


def _placed(where: Where, make: Callable[..., Any], *given: Any) -> Any:
    try:
        return make(*given)
    except LikewiseError as error:
        raise StudyError(str(error).removesuffix("."), where=where) from error
