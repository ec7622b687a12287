"""Hostile and odd messages: no number is invented, and what is ambiguous is no answer."""

from __future__ import annotations

import pytest

from likewise.services.vlm.parsing import parse
from likewise.services.vlm.questions import Question


def parsed(text: str, high: float = 10.0):
    question = Question(name="pay", kind="number", low=0.0, high=high, text=("What does this person earn?",))
    variant = question.variants(repeats=1)[0]
    return parse(variant, {"message": {"content": text}, "finish_reason": "stop"})


@pytest.mark.parametrize(
    "text",
    [
        '{"answer": NaN}', '{"answer": 1e999}', '{"answer": 1' + "0" * 400 + "}", '{"answer": true}',
        '{"answer": null}',
        '{"answer": [1,2]}', '{"answer": 3, "answer": 9}', '{"answer": ' + "[" * 5000 + "]" * 5000 + "}",
        '{"answer": 1', '{"answer": {"low": 2}}', '{"answer": -5}', "",
    ],
)  # fmt: skip
def test_no_number_is_taken_from_an_answer_of_another_form(text):
    found = parsed(text)
    assert found.values == {} and not found.refused and found.problem


@pytest.mark.parametrize("text", ['{"answer": "1,500"}', "1,500"])
def test_a_comma_before_three_digits_is_ambiguous(text):
    assert parsed(text, high=5000).problem


@pytest.mark.parametrize("text", ['{"answer": 7.5}', '{"answer": "7,5"}', 'So: {"answer": 7.5}.', "7.5", "about 7,5"])
def test_plain_answers_are_read(text):
    assert parsed(text).values == {"pay": 0.75}
