"""Questions to a vision-language model, and the variants in which each is asked.

A single wording in a single order measures the wording and the order as well. Every question is therefore asked in all
its paraphrases and with its options in counterbalanced orders, and the answers are averaged within the image.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

from likewise.errors import SpecError, nearest
from likewise.runtime.config import Source, validate

Kind = Literal["yes_no", "choice", "pair", "number", "text"]
MATCHED, EDITS, AGAINST = "matched", "edits", "original"
PAIRS = (MATCHED, EDITS, AGAINST)
"""Which two images a pair question shows."""
_NAME = re.compile(r"[\w][\w .\-]{0,59}")
FIRST, SECOND = "first", "second"
"""The answers to a question about two images, as the model gives them."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question of the plan.

    Examples
    --------
    >>> question = Question(name="hire", text=("Would you hire this person?",))
    >>> question.labels
    ['hire']
    >>> [variant.order for variant in question.variants(repeats=1)]
    [('yes', 'no'), ('no', 'yes')]
    """

    name: str
    """Its name in ratings and in the report."""
    text: tuple[str, ...]
    """The wordings; each is asked."""
    kind: Kind = "yes_no"
    """``yes_no``; ``choice`` of one option; ``pair``: which of two images; ``number``; ``text`` with a coding rule."""
    options: tuple[str, ...] = ()
    """Of ``choice``: the options."""
    low: float = 0.0
    """Of ``number``: the smallest answer. Values are stored as (answer - low) / (high - low)."""
    high: float = 1.0
    """Of ``number``: the largest answer."""
    coding: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Of ``text``: a code is present where one of its words or phrases occurs."""
    pairs: tuple[str, ...] = ()
    """Of ``pair``: which images are shown: ``matched`` (focal and reference image of a matched pair), ``edits`` (the
    same image edited to +1 and to -1), ``original`` (an edit and its original, with the reconstruction as a placebo).
    Empty: matched pairs, and edits where the plan has them."""
    orders: int = 2
    """Orders in which options are presented: rotations, beginning with the given one and its reverse."""

    def __post_init__(self) -> None:
        self._check_common()
        needs = {"choice": "options", "text": "coding"}.get(self.kind)
        for key in ("options", "coding"):
            if bool(getattr(self, key)) != (key == needs):
                problem = "needs" if key == needs else "does not use"
                raise SpecError(
                    f"Question {self.name!r} of kind {self.kind!r} {problem} the key {key!r}",
                    fix="Correct the keys of this question; docs/services.md lists them.",
                )
        if self.kind == "choice" and len({option.casefold() for option in self.options}) < max(len(self.options), 2):
            raise SpecError(f"Question {self.name!r} needs at least two different options")
        if self.pairs and self.kind != "pair":
            raise SpecError(
                f"Question {self.name!r} of kind {self.kind!r} does not use the key 'pairs'", fix="Remove the key."
            )
        unknown = [entry for entry in self.pairs if entry not in PAIRS]
        if unknown:
            fix = nearest(unknown[0], PAIRS) or f"Choose from {', '.join(PAIRS)}."
            raise SpecError(f"Question {self.name!r}: pairs has {unknown[0]!r}", fix=fix)
        if self.kind == "number" and not self.low < self.high:
            raise SpecError(f"Question {self.name!r}: low must be below high, not {self.low:g} and {self.high:g}")
        if not 1 <= self.orders <= 24:
            raise SpecError(f"Question {self.name!r}: orders must be between 1 and 24, not {self.orders}")

    def _check_common(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise SpecError(f"Invalid question name {self.name[:60]!r}", fix="Use letters, digits, spaces, - and _.")
        if not self.text or not all(wording.strip() for wording in self.text):
            raise SpecError(f"Question {self.name!r} has no text", fix="Write what the model is asked.")

    @property
    def choices(self) -> tuple[str, ...]:
        """The answers that the model may give, where they are listed."""
        return {"yes_no": ("yes", "no"), "pair": (FIRST, SECOND), "choice": self.options}.get(self.kind, ())

    @property
    def labels(self) -> list[str]:
        """The quantities that it yields: one, or one for each option or code."""
        several = self.options if self.kind == "choice" else tuple(self.coding)
        return [f"{self.name}: {entry}" for entry in several] or [self.name]

    @property
    def refused(self) -> str:
        """The quantity of refusals."""
        return f"{self.name}: refused"

    @property
    def shown_first(self) -> str:
        """The quantity of a pair question that shows an order effect: how often the image shown first is chosen."""
        return f"{self.name}: shown first"

    def variants(self, *, repeats: int) -> list[Variant]:
        """Return every variant: wordings x orders x repeats."""
        return [
            Variant(self, wording, order, repeat)
            for wording, order, repeat in product(range(len(self.text)), self._orders(), range(repeats))
        ]

    def _orders(self) -> list[tuple[str, ...]]:
        if self.kind == "pair":  # the images change places, not the words
            both: list[tuple[str, ...]] = [(FIRST, SECOND), (SECOND, FIRST)]
            return both[: self.orders]
        return list(dict.fromkeys(_rotations(self.choices)))[: self.orders] if self.choices else [()]


def _rotations(options: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the given order, its reverse, and the other rotations: each option is in each place equally often."""
    yield options
    yield options[::-1]
    for shift in range(1, len(options)):
        yield options[shift:] + options[:shift]


@dataclass(frozen=True)
class Variant:
    """A question in one wording, one order of options and one repeat."""

    question: Question
    wording: int
    order: tuple[str, ...]
    repeat: int

    @property
    def swapped(self) -> bool:
        """Whether the two images of a pair change places."""
        return self.question.kind == "pair" and self.order == (SECOND, FIRST)

    @property
    def prompt(self) -> str:
        """The text that is sent."""
        return f"{self.question.text[self.wording].strip()}\n\n{self._instruction()}"

    def _instruction(self) -> str:
        question = self.question
        if question.kind == "number":
            return f'Answer with a number from {question.low:g} to {question.high:g}, as JSON: {{"answer": NUMBER}}'
        if question.kind == "text":
            return 'Answer in one or two sentences, as JSON: {"answer": "TEXT"}'
        if question.kind == "pair":
            return 'Answer "first" or "second", for the first or the second image, as JSON: {"answer": "..."}'
        shown = " or ".join(f'"{option}"' for option in self.order)
        return f'Answer {shown}, as JSON: {{"answer": "..."}}'

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the answer."""
        question = self.question
        if question.kind == "number":
            answer: dict[str, Any] = {"type": "number", "minimum": question.low, "maximum": question.high}
        elif question.kind == "text":
            answer = {"type": "string"}
        else:
            answer = {"type": "string", "enum": list(self.order if question.kind != "pair" else (FIRST, SECOND))}
        return {
            "type": "object",
            "properties": {"answer": answer},
            "required": ["answer"],
            "additionalProperties": False,
        }

    def asked(self) -> dict[str, Any]:
        """Return everything that the answer depends on, for the hash of the request."""
        return {"prompt": self.prompt, "schema": self.schema(), "repeat": self.repeat, "swapped": self.swapped}


def read_questions(given: Sequence[Any]) -> tuple[Question, ...]:
    """Validate the questions of a plan; their names must differ."""
    if not given:
        raise SpecError("The component vlm needs at least one question", fix="Add [[rater.options.questions]].")
    found = tuple(entry if isinstance(entry, Question) else _question(entry) for entry in given)
    twice = [name for name, count in Counter(question.name for question in found).items() if count > 1]
    if twice:
        raise SpecError(f"Two questions have the name {twice[0]!r}", fix="Rename one of them.")
    return found


def _question(plain: Any) -> Question:
    if not isinstance(plain, Mapping):
        raise SpecError(
            f"A question must be a table, not {str(plain)[:60]!r}",
            fix="Write [[rater.options.questions]] with its keys.",
        )
    text = plain.get("text")
    values = {**plain, "text": [text]} if isinstance(text, str) else dict(plain)
    coding = {
        code: [words] if isinstance(words, str) else words for code, words in dict(plain.get("coding", {})).items()
    }
    source = Source("questions", {**values, **({"coding": coding} if coding else {})}, {})
    return validate(Question, source, error=SpecError)
