"""The form of a task: what it shows, and what may come back from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from likewise.study.config.questions import Question
from likewise.study.config.sections import Item, StudyPlan
from likewise.study.server.responses import Submission

LONGEST_COMMENT = 2000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class MissingError(Exception):
    """A question without a response."""

    question: Question


def field_name(k: int) -> str:
    """Return the field of the k-th question; the name of the question would reveal an attention question."""
    return f"answer-{k + 1}"


def groups_of(questions: Sequence[Question], language: str) -> list[dict[str, Any]]:
    """Return questions with their options, fields and number keys, for a template."""
    return [
        {
            "field": field_name(k),
            "text": question.text(language),
            "options": [
                {"value": f"{o.value:g}", "label": o.label(language), "swatch": o.swatch, "key": str((j + 1) % 10)}
                for j, o in enumerate(question.options)
            ],
        }
        for k, question in enumerate(questions)
    ]


def form_view(study: StudyPlan, item: Item, language: str) -> dict[str, Any]:
    """Return what the page of a task shows of its questions; it is the same for all raters of a language."""
    groups = groups_of(study.questions_of(item), language)
    instant = len(groups) == 1 and not study.certainty and not study.comment
    return {"groups": groups, "instant": instant, "certainty": study.certainty, "comment": study.comment,
            "skip": study.skip}  # fmt: skip


def given_from(
    study: StudyPlan, item: Item, position: int, shown: float | None, fields: Mapping[str, str]
) -> Submission:
    """Turn the fields of a form into a response.

    Raises
    ------
    MissingError
        A question has no response.
    ValueError
        A response is not an option of its question.
    """
    asked = study.questions_of(item)
    if study.skip and "skip" in fields:
        return Submission(position, item.key, {question.name: None for question in asked}, shown=shown)
    values = {question.name: _value(question, fields.get(field_name(k), "")) for k, question in enumerate(asked)}
    certainty = _certainty(fields.get("certainty", "")) if study.certainty else None
    comment = _CONTROL.sub("", fields.get("comment", "")).strip()[:LONGEST_COMMENT] if study.comment else ""
    return Submission(position, item.key, values, certainty, comment, shown)


def _value(question: Question, text: str) -> float:
    if not text:
        raise MissingError(question)
    known = {f"{value:g}": value for value in question.values}
    if text not in known:
        raise ValueError(text)
    return known[text]


def _certainty(text: str) -> int | None:
    if text not in ("", "0", "1", "2"):
        raise ValueError(text)
    return int(text) if text else None


def comprehends(study: StudyPlan, fields: Mapping[str, str]) -> bool:
    """Return whether all responses to the comprehension check are correct; raise as ``given_from`` does."""
    questions = [item.question for item in study.comprehension.items if item.question is not None]
    given = {question.name: _value(question, fields.get(field_name(k), "")) for k, question in enumerate(questions)}
    return all(given[name] == value for item in study.comprehension.items for name, value in item.answer.items())
