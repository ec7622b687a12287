"""Text in one or several languages, and the few marks that a researcher may use in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup, escape

from likewise.errors import PlanError, some

LANGUAGES = {"en": "English", "de": "Deutsch"}
"""The languages whose buttons, labels and messages are shipped, under their own names."""


@dataclass(frozen=True)
class Text:
    """The same words by language; asked for one that is missing, it gives the first."""

    by_language: Mapping[str, str]

    def __post_init__(self) -> None:
        if not self.by_language or not all(isinstance(text, str) for text in self.by_language.values()):
            raise PlanError("a text is words, or words by language", got=repr(dict(self.by_language)))
        unknown = [language for language in self.by_language if language not in LANGUAGES]
        if unknown:
            raise PlanError("a text's languages are shipped ones", got=some(unknown), fix=f"Use {some(LANGUAGES)}.")

    @classmethod
    def of(cls, words: str | Mapping[str, str] | Text) -> Text:
        """Take plain words (English unless the study says otherwise), a table by language, or a Text."""
        if isinstance(words, Text):
            return words
        return cls({"en": words} if isinstance(words, str) else dict(words))

    def __call__(self, language: str) -> str:
        """Return the words in this language."""
        return self.by_language.get(language) or next(iter(self.by_language.values()))

    def __bool__(self) -> bool:
        return any(text.strip() for text in self.by_language.values())

    def html(self, language: str) -> Markup:
        """Return paragraphs and lists; everything else is escaped."""
        return paragraphs(self(language))


def paragraphs(words: str) -> Markup:
    """Turn blank-line-separated paragraphs, ``- `` lists, ``## `` headings and ``**bold**`` into markup."""
    blocks = [block for block in re.split(r"\n\s*\n", words.strip()) if block.strip()]
    return Markup("\n").join(_block(block.strip()) for block in blocks)


def _block(block: str) -> Markup:
    lines = [line.strip() for line in block.splitlines()]
    if all(line.startswith("- ") for line in lines):
        items = Markup("").join(Markup("<li>{}</li>").format(_bold(line[2:])) for line in lines)
        return Markup("<ul>{}</ul>").format(items)
    if lines[0].startswith("## ") and len(lines) == 1:
        return Markup("<h2>{}</h2>").format(lines[0][3:])
    return Markup("<p>{}</p>").format(_bold(" ".join(lines)))


def _bold(line: str) -> Markup:
    return Markup(re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", str(escape(line))))  # noqa: S704  # escaped first
