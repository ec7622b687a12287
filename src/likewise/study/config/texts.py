"""Text in one or several languages, written in Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from markdown_it import MarkdownIt
from markupsafe import Markup

from likewise.errors import PlanError, some

LANGUAGES = {"en": "English", "de": "Deutsch"}
"""The languages whose buttons, labels and messages are shipped, under their own names."""


@dataclass(frozen=True)
class Text:
    """The same text by language; a missing language falls back to the first one."""

    by_language: Mapping[str, str]

    def __post_init__(self) -> None:
        if not self.by_language or not all(isinstance(text, str) for text in self.by_language.values()):
            raise PlanError("A text must be a string, or a table of strings by language")
        unknown = [language for language in self.by_language if language not in LANGUAGES]
        if unknown:
            raise PlanError(f"Unknown language {some(unknown)}", fix=f"Known languages: {some(LANGUAGES)}.")

    @classmethod
    def of(cls, words: str | Mapping[str, str] | Text, language: str = "en") -> Text:
        """Take plain text (in ``language``), a table by language, or a Text."""
        if isinstance(words, Text):
            return words
        return cls({language: words} if isinstance(words, str) else dict(words))

    def __call__(self, language: str) -> str:
        """Return the text in this language."""
        return self.by_language.get(language) or next(iter(self.by_language.values()))

    def __bool__(self) -> bool:
        return any(text.strip() for text in self.by_language.values())

    def html(self, language: str) -> Markup:
        """Return the text as HTML; raw HTML in it is escaped."""
        return to_html(self(language))


@cache
def _markdown() -> MarkdownIt:
    """Return CommonMark without raw HTML and without images, which would be loaded from other servers."""
    return MarkdownIt("commonmark", {"html": False}).disable("image")


def to_html(words: str) -> Markup:
    """Return Markdown as safe HTML.

    Raw HTML is escaped, images are not rendered, links to scripts are refused, and a first-level heading becomes a
    second-level one, because the page has its own.

    Examples
    --------
    >>> print(to_html("Look for **blobs** and <b>tags</b>."))
    <p>Look for <strong>blobs</strong> and &lt;b&gt;tags&lt;/b&gt;.</p>
    """
    markdown = _markdown()
    tokens = markdown.parse(words)
    for token in tokens:
        if token.tag == "h1":
            token.tag = "h2"
    return Markup(markdown.renderer.render(tokens, markdown.options, {}).strip())  # noqa: S704  # the renderer escapes
