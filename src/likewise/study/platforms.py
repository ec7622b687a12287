"""Files of crowdsourcing platforms: units out as tasks, responses in as Ratings.

Real files have blank rows, columns in any order, rejected or unfinished assignments and unanswered items. An unanswered
item is a missing value, never a response. A response that is not an option of its question is an error.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import pandas as pd

from likewise.errors import LikewiseError, TableError, nearest, some
from likewise.study.config.questions import Question
from likewise.study.config.sections import Item, StudyPlan
from likewise.tables import Ratings
from likewise.tables.io import parse_json, write_text

_EMPTY = ("", "{}", "null", "none", "nan", "undefined", "[]")
_REJECTED = ("rejected", "skipped", "expired", "abandoned", "returned")


def _shown(item: Item, address: str) -> list[str]:
    return [f"{address.rstrip('/')}/{quote(name)}" if address else name for name in item.images]


def _names(study: StudyPlan) -> list[str]:
    return ["image"] if len(study.units[0].images) == 1 else ["image_a", "image_b"]


def toloka_tasks(study: StudyPlan, address: str) -> str:
    """Return a Toloka task file: INPUT columns, and gold with its GOLDEN answers."""
    rows = []
    for item in (*study.units, *study.gold.items):
        row = {f"INPUT:{name}": value for name, value in zip(_names(study), _shown(item, address), strict=True)}
        row["INPUT:unit"] = item.key
        for question in study.questions:
            row[f"GOLDEN:{question.name}"] = f"{item.answer[question.name]:g}" if item.answer else ""
        rows.append(row)
    return _text(rows, "\t")


def mturk_tasks(study: StudyPlan, address: str) -> str:
    """Return an MTurk batch input: one column for each variable of the HIT layout."""
    rows = [
        {"unit": item.key} | dict(zip(_names(study), _shown(item, address), strict=True))
        for item in (*study.units, *study.gold.items)
    ]
    return _text(rows, ",")


def sagemaker_tasks(study: StudyPlan, address: str) -> str:
    """Return a SageMaker Ground Truth input manifest: one JSON object per line."""
    lines = []
    for item in (*study.units, *study.gold.items):
        shown = _shown(item, address)
        source = {"source-ref": shown[0]} if len(shown) == 1 else {"source": json.dumps(shown)}
        lines.append(json.dumps({**source, "unit": item.key}, ensure_ascii=False))
    return "\n".join(lines) + "\n"


def _text(rows: list[dict[str, str]], separator: str) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), delimiter=separator, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


TASKS: dict[str, tuple[str, Callable[[StudyPlan, str], str]]] = {
    "toloka": ("tasks.tsv", toloka_tasks),
    "mturk": ("tasks.csv", mturk_tasks),
    "sagemaker": ("tasks.manifest", sagemaker_tasks),
}


def write_tasks(study: StudyPlan, platform: str, folder: Path, address: str) -> Path:
    """Write the task file of a platform; return its path."""
    name, make = TASKS[platform]
    write_text(folder / f"{platform}-{name}", make(study, address))
    return folder / f"{platform}-{name}"


def read_responses(study: StudyPlan, platform: str, path: Path) -> Ratings:
    """Read the file of responses of a platform.

    Parameters
    ----------
    study
        The study whose units were rated.
    platform
        ``toloka``, ``mturk`` or ``sagemaker``.
    path
        The file as the platform exports it.

    Returns
    -------
    Ratings
        Responses about units; those about gold items are left out.
    """
    if not path.is_file():
        raise TableError(f"File not found: {path}", fix="Check the path.")
    readers: dict[str, Callable[[ResponseBook, Path], None]] = {
        "toloka": _read_toloka, "mturk": _read_mturk, "sagemaker": _read_sagemaker,
    }  # fmt: skip
    book = ResponseBook(study)
    readers[platform](book, path)
    return book.ratings()


class ResponseBook:
    """Collects responses and checks each against the study."""

    def __init__(self, study: StudyPlan) -> None:
        self.study = study
        self._units = {unit.key: unit.key for unit in study.units}
        for unit in study.units:
            self._units.setdefault("|".join(unit.images), unit.key)
        self._controls = {item.key for item in (*study.gold.items, *study.attention.items, *study.training.items)}
        self._rows: dict[tuple[str, str, str], dict[str, Any]] = {}

    def unit(self, named: str, images: Iterable[str]) -> str | None:
        """Return the unit by its key or its images' names; None for a control."""
        files = [unquote(urlsplit(image).path) if "://" in image else image for image in images]
        names = "|".join(Path(file).name if "://" in raw else file for file, raw in zip(files, images, strict=True))
        for key in (named, names):
            if key in self._controls:
                return None
            if key in self._units:
                return self._units[key]
        gold = {"|".join(Path(n).name for n in item.images) for item in self.study.gold.items}
        if "|".join(Path(name).name for name in names.split("|")) in gold:
            return None
        fix = "The file belongs to another study, or has no column with the keys of the units."
        raise TableError(f"Unit {(named or names)[:80]!r} is not in the study", fix=fix)

    def add(self, unit: str, rater: str, question: Question, given: str, seconds: float | None = None) -> None:
        """Keep one response; two different responses by one rater to one unit are an error."""
        value = self._value(question, given)
        key = (unit, rater, question.name)
        old = self._rows.get(key)
        if old is not None and old["value"] is not None and value is not None and old["value"] != value:
            raise TableError(
                f"Rater {rater[:80]!r} has two different responses to unit {unit[:80]!r}", fix="Keep one of them."
            )
        if old is None or old["value"] is None:
            self._rows[key] = {"value": value, "seconds": seconds}

    def _value(self, question: Question, given: str) -> float | None:
        text = given.strip()
        if text.lower() in _EMPTY:
            return None
        known = {f"{value:g}": value for value in question.values}
        known |= {words.lower(): o.value for o in question.options for words in o.label.by_language.values()}
        if question.values in ((1.0, 0.0), (0.0, 1.0)):
            known |= {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
        found = known.get(text.lower(), known.get(text.removesuffix(".0")))
        if found is None:
            fix = f"{nearest(text, known)} Options: {some(known, 12)}.".strip()
            raise TableError(f"{text[:80]!r} is not an option of question {question.name!r}", fix=fix)
        return found

    def ratings(self) -> Ratings:
        """Return everything as Ratings."""
        rows = [{"unit": u, "rater": r, "question": q, **facts} for (u, r, q), facts in self._rows.items()]
        frame = pd.DataFrame(rows, columns=["unit", "rater", "question", "value", "seconds"])
        if frame["seconds"].isna().all():
            frame = frame.drop(columns="seconds")
        return Ratings(frame, units=[unit.key for unit in self.study.units])


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise TableError(f"{path.name} is not UTF-8 text: {error}", fix="Save it as UTF-8.") from error


def _table(path: Path, separator: str) -> list[dict[str, str]]:
    """Read the rows that hold anything; a byte-order mark and blank rows are usual."""
    rows = []
    try:
        found = list(csv.DictReader(io.StringIO(_text_of(path)), delimiter=separator))
    except csv.Error as error:
        raise TableError(f"{path.name} is not a table: {error}", fix="Export the file again.") from error
    for row in found:
        clean = {str(key).strip(): (value or "").strip() for key, value in row.items() if key is not None}
        if any(clean.values()):
            rows.append(clean)
    return rows


def _column(row: Mapping[str, str], names: Iterable[str], path: Path) -> str:
    found = [name for name in names if name in row]
    if not found:
        raise TableError(
            f"Column {some(names)} not found in {path.name} (columns: {some(row, 8)})",
            fix="Export the file from the platform with all columns.",
        )
    return row[found[0]]


def _images(row: Mapping[str, str], study: StudyPlan, prefix: str) -> list[str]:
    return [row[prefix + name] for name in _names(study) if prefix + name in row]


def _read_toloka(book: ResponseBook, path: Path) -> None:
    for row in _table(path, "\t"):
        if row.get("ASSIGNMENT:status", "").lower() in _REJECTED or any(
            row.get(f"GOLDEN:{question.name}") for question in book.study.questions
        ):
            continue
        unit = book.unit(row.get("INPUT:unit", ""), _images(row, book.study, "INPUT:"))
        rater = _column(row, ["ASSIGNMENT:worker_id", "ASSIGNMENT:user_id"], path)
        for question in book.study.questions:
            given = _column(row, [f"OUTPUT:{question.name}"], path)
            if unit is not None and rater:
                book.add(unit, rater, question, given)


def _read_mturk(book: ResponseBook, path: Path) -> None:
    for row in _table(path, ","):
        if row.get("AssignmentStatus", "").lower() in _REJECTED or not row.get("WorkerId", "-"):
            continue
        unit = book.unit(row.get("Input.unit", ""), _images(row, book.study, "Input."))
        rater, spent = _column(row, ["WorkerId"], path), row.get("WorkTimeInSeconds", "")
        seconds = float(spent) if spent.replace(".", "", 1).isdigit() else None
        for question in book.study.questions:
            given = _mturk_answer(row, question, path)
            if unit is not None:
                book.add(unit, rater, question, given, seconds)


def _mturk_answer(row: Mapping[str, str], question: Question, path: Path) -> str:
    """Take ``Answer.same``, or the one of ``Answer.same.1``, ``Answer.same.0`` that is true (crowd-form's way)."""
    if f"Answer.{question.name}" in row:
        return row[f"Answer.{question.name}"]
    parts = {value: f"Answer.{question.name}.{value:g}" for value in question.values}
    ticked = [value for value, name in parts.items() if row.get(name, "").lower() == "true"]
    if not any(name in row for name in parts.values()):
        return _column(row, [f"Answer.{question.name}"], path)
    if len(ticked) > 1:
        raise TableError(
            f"Several options of {question.name!r} are selected: {some(f'{value:g}' for value in ticked)}",
            fix="Ask the question as single choice.",
        )
    return f"{ticked[0]:g}" if ticked else ""


def _read_sagemaker(book: ResponseBook, path: Path) -> None:
    """Read worker responses, one JSON object per line: the source, and ``answers`` or ``annotations``."""
    for number, line in enumerate(_text_of(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = parse_json(line)
            shown = [record["source-ref"]] if "source-ref" in record else parse_json(record.get("source", "[]"))
            unit = book.unit(str(record.get("unit", "")), [str(name) for name in shown])
            answers = record.get("answers", record.get("annotations", []))
            for entry in answers if unit is not None else []:
                _sagemaker_answer(book, str(unit), entry)
        except LikewiseError:
            raise
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            reason = f"{type(error).__name__} {str(error)[:200]}"
            raise TableError(
                f"Invalid JSON in {path.name}, line {number}: {reason}", fix="Export the file again."
            ) from error


def _sagemaker_answer(book: ResponseBook, unit: str, entry: Mapping[str, Any]) -> None:
    content = entry.get("answerContent", entry.get("annotationData", {}).get("content", {}))
    content = parse_json(content) if isinstance(content, str) else content
    for question in book.study.questions:
        given = content.get(question.name)
        if isinstance(given, Mapping):
            given = given.get("label", "")
        text = "" if given is None else f"{given:g}" if isinstance(given, (int, float)) else str(given)
        book.add(unit, str(entry["workerId"]), question, text)
