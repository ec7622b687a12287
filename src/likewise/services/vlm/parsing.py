"""From a model's message to an answer: a value, a refusal, or something that cannot be parsed.

A refusal is an answer and is analyzed by group. A message that cannot be parsed is no answer; it is counted and kept.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from likewise.services.vlm.questions import FIRST, SECOND, Question, Variant

_REFUSAL = re.compile(
    r"\b(?:i(?:'|’)?m (?:sorry|unable|not able)|i (?:can(?:not|'t|’t)|won(?:'|’)t|must decline|am (?:unable|not able))"
    r"|(?:i )?cannot (?:help|assist|comply|answer|identify|make)|as an ai\b|against (?:my|our) (?:policy|guidelines))",
    re.IGNORECASE,
)
_OBJECT = re.compile(r"\{[^{}]*\}")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:[.,]\d+)?(?![\w.]*\d)")
_KEY = re.compile(r'"answer"\s*:')
_THOUSANDS = re.compile(r"\d,\d{3}(?!\d)")
_LONGEST = 20_000  # characters of a message that are looked at
_FILTERED = frozenset({"content_filter", "safety", "refusal"})


@dataclass(frozen=True)
class Parsed:
    """An answer by label, a refusal, or neither."""

    values: dict[str, float]
    refused: bool = False
    problem: str = ""
    """Why there is no answer; empty when there is one or when the model refused."""


def parse(variant: Variant, choice: Mapping[str, Any]) -> Parsed:
    """Parse one choice of a chat completion.

    Examples
    --------
    >>> from likewise.services.vlm.questions import Question
    >>> variant = Question(name="hire", text=("Would you hire this person?",)).variants(repeats=1)[0]
    >>> parse(variant, {"message": {"content": 'Sure. ```json {"answer": "yes"} ```'}, "finish_reason": "stop"}).values
    {'hire': 1.0}
    >>> parse(variant, {"message": {"content": "I'm sorry, I cannot judge people."}, "finish_reason": "stop"}).refused
    True
    """
    message = choice.get("message") or {}
    reason = str(choice.get("finish_reason") or "")
    if message.get("refusal") or reason in _FILTERED:
        return Parsed({}, refused=True)
    text = _text_of(message.get("content"))[:_LONGEST]
    sure = _by_logprobs(variant, choice.get("logprobs"))
    if sure is not None:
        return Parsed(sure)
    answer = _answer(text)
    values = None if answer is None else _values(variant, answer)
    if values is None and not _REFUSAL.search(text):
        values = _plain(variant, text)
    if values is not None:
        return Parsed(values)
    if _REFUSAL.search(text):
        return Parsed({}, refused=True)
    cut = "the message is cut off" if reason == "length" else "no answer in the expected form"
    return Parsed({}, problem="an empty message" if not text.strip() else cut)


def _text_of(content: object) -> str:
    """Return the text of a message: plain, or in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        parts = [part.get("text", "") for part in content if isinstance(part, Mapping)]
        return " ".join(part for part in parts if isinstance(part, str))
    return ""


def _answer(text: str) -> Any:
    """Return the answer of the last JSON object that has one, also when prose or a code fence surrounds it."""
    for found in reversed(_OBJECT.findall(text)):
        try:
            plain = json.loads(found, object_pairs_hook=_unique)
        except (ValueError, RecursionError):  # also thousands of brackets
            continue
        if isinstance(plain, dict) and "answer" in plain:
            return plain["answer"]
    return None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that has a key twice: which of its answers is meant is not known."""
    plain = dict(pairs)
    if len(plain) < len(pairs):
        raise ValueError("a key occurs twice")
    return plain


def _values(variant: Variant, answer: Any) -> dict[str, float] | None:
    question = variant.question
    if question.kind == "number":
        return _number(question, answer)
    if question.kind == "text":
        return _coded(question, answer) if isinstance(answer, str) else None
    if question.kind == "yes_no" and isinstance(answer, bool):
        return {question.name: float(answer)}
    chosen = _chosen(question, answer)
    return None if chosen is None else _of_choice(variant, chosen)


def _plain(variant: Variant, text: str) -> dict[str, float] | None:
    """Read an answer without JSON, where it is unambiguous: one option, one number, or free text."""
    question = variant.question
    if _KEY.search(text):  # JSON with an answer of another form, e.g. a list: no number is picked out of it
        return None
    if question.kind == "text":
        return _coded(question, text) if text.strip() and "{" not in text else None
    if question.kind == "number":
        numbers = _NUMBER.findall(text)
        return _number(question, numbers[0]) if len(numbers) == 1 else None
    words = [option for option in question.choices if re.search(rf"\b{re.escape(option)}\b", text, re.IGNORECASE)]
    return _of_choice(variant, words[0]) if len(words) == 1 else None


def _chosen(question: Question, answer: Any) -> str | None:
    said = str(answer).strip().strip(".\"'").casefold() if isinstance(answer, str) else ""
    return next((option for option in question.choices if option.casefold() == said), None)


def _of_choice(variant: Variant, chosen: str) -> dict[str, float]:
    question = variant.question
    if question.kind == "yes_no":
        return {question.name: float(chosen == "yes")}
    if question.kind == "pair":  # the value is about the images, whatever their places were
        first = {FIRST: SECOND, SECOND: FIRST}[chosen] if variant.swapped else chosen
        return {question.name: float(first == FIRST)}
    return {f"{question.name}: {option}": float(option == chosen) for option in question.options}


def _number(question: Question, answer: Any) -> dict[str, float] | None:
    if _THOUSANDS.search(str(answer)):  # 1,500 is one and a half or fifteen hundred
        return None
    try:
        value = float(str(answer).replace(",", ".")) if not isinstance(answer, bool) else math.nan
    except ValueError:
        return None
    if not question.low <= value <= question.high:
        return None
    return {question.name: (value - question.low) / (question.high - question.low)}


def _coded(question: Question, text: str) -> dict[str, float]:
    return {
        f"{question.name}: {code}": float(
            any(re.search(rf"\b{re.escape(word)}\b", text, re.IGNORECASE) for word in words)
        )
        for code, words in question.coding.items()
    }


def _by_logprobs(variant: Variant, logprobs: object) -> dict[str, float] | None:
    """Return the probability of yes (or of the first image) from the log-probabilities of the answer token."""
    question = variant.question
    if question.kind not in ("yes_no", "pair") or not isinstance(logprobs, Mapping):
        return None
    for token in logprobs.get("content") or []:
        shares = dict.fromkeys(question.choices, 0.0)
        for entry in token.get("top_logprobs") or []:
            word = _chosen(question, str(entry.get("token", "")))
            if word is not None:
                shares[word] += math.exp(min(float(entry.get("logprob", -math.inf)), 0.0))
        total = sum(shares.values())
        if total > 0.5:  # the answer token: most of its probability is on the options
            share = shares[question.choices[0]] / total
            return {question.name: 1 - share if variant.swapped else share}
    return None
