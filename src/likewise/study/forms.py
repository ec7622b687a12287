"""A task's form: what it shows, and what may come back from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from likewise.study.answering import Given
from likewise.study.parts import Item, Parts
from likewise.study.questions import Question

LONGEST_COMMENT = 2000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class MissingError(Exception):
    """A question that was not answered."""

    question: Question


def field_name(k: int) -> str:
    """Return the field of the k-th question; its name would tell an attention question from the others."""
    return f"answer-{k + 1}"


def form_view(study: Parts, item: Item, language: str) -> dict[str, Any]:
    """Return what a task's page shows of the questions."""
    asked = study.asked(item)
    groups = [
        {
            "field": field_name(k),
            "text": question.text(language),
            "options": [
                {"value": f"{o.value:g}", "label": o.label(language), "swatch": o.swatch, "key": str((j + 1) % 10)}
                for j, o in enumerate(question.options)
            ],
        }
        for k, question in enumerate(asked)
    ]
    instant = len(groups) == 1 and not study.certainty and not study.comment
    return {"groups": groups, "instant": instant, "certainty": study.certainty, "comment": study.comment}


def given_from(study: Parts, item: Item, position: int, shown: float | None, fields: Mapping[str, str]) -> Given:
    """Turn a form's fields into an answer; MissingError: a question lacks one; ValueError: it is none."""
    asked = study.asked(item)
    if study.skip and "skip" in fields:
        return Given(position, item.key, {question.name: None for question in asked}, shown=shown)
    values = {question.name: _value(question, fields.get(field_name(k), "")) for k, question in enumerate(asked)}
    certainty = _certainty(fields.get("certainty", "")) if study.certainty else None
    comment = _CONTROL.sub("", fields.get("comment", "")).strip()[:LONGEST_COMMENT] if study.comment else ""
    return Given(position, item.key, values, certainty, comment, shown)


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
