"""The prompts of a text-to-image audit, from a TOML file or a table."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from likewise.errors import SpecError, some
from likewise.runtime.config import read_toml, validate
from likewise.tables.io import read_frame

_SAFE = re.compile(r"[^a-z0-9]+")
_MOST = 100_000  # images of one audit


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """One prompt.

    Two prompts with the same ``pair`` and different ``variant`` are compared by seed: "doctor" and "female doctor".
    """

    text: str
    term: str = ""
    """What the prompt is about, e.g. an occupation; several prompts may share a term. Default: the text."""
    pair: str = ""
    variant: str = ""

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise SpecError("A prompt has no text", fix="Fill or remove it.")
        if bool(self.pair) != bool(self.variant):
            raise SpecError(
                f"Prompt {self.text[:60]!r} needs both pair and variant, or neither",
                fix="Add the missing key, or remove the other.",
            )

    @property
    def about(self) -> str:
        """The term."""
        return self.term or self.text


@dataclass(frozen=True, kw_only=True)
class PromptFile:
    """What a prompt file may contain."""

    prompt: tuple[Prompt, ...] = ()
    seeds: int = 20
    """Images per prompt."""
    first_seed: int = 0
    terms: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    """Every template is filled with every term: "a photo of a {term}"."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "prompt", (*self.prompt, *_filled(self.templates, self.terms)))
        object.__setattr__(self, "templates", ())
        object.__setattr__(self, "terms", ())
        if not self.prompt:
            raise SpecError("The file has no prompts", fix='Add [[prompt]] with text = "...", or terms and templates.')
        texts = [prompt.text for prompt in self.prompt]
        twice = sorted({text for text in texts if texts.count(text) > 1})
        if twice:
            raise SpecError(
                f"Prompts occur twice: {some(twice)}",
                fix="Remove the copies; use seeds for several images of a prompt.",
            )
        if not self.seeds >= 1 or len(texts) * self.seeds > _MOST:
            raise SpecError(
                f"{len(texts)} prompts x {self.seeds} seeds: between 1 and {_MOST:,} images are possible",
                fix="Change the number of seeds or of prompts.",
            )

    @property
    def jobs(self) -> list[Job]:
        """Every image that is to be drawn."""
        seeds = range(self.first_seed, self.first_seed + self.seeds)
        return [Job(number, prompt, seed) for number, prompt in enumerate(self.prompt) for seed in seeds]


@dataclass(frozen=True)
class Job:
    """One image that is to be drawn."""

    number: int
    prompt: Prompt
    seed: int

    @property
    def file(self) -> str:
        """Its place below the image folder."""
        return f"{self.number:03d}-{slug(self.prompt.text)}/{self.seed:05d}.png"


def slug(text: str) -> str:
    """Return a name for a folder: letters and digits, joined by hyphens.

    Examples
    --------
    >>> slug("A photo of a doctor!")
    'a-photo-of-a-doctor'
    """
    return _SAFE.sub("-", text.casefold()).strip("-")[:40] or "prompt"


def _filled(templates: Sequence[str], terms: Sequence[str]) -> list[Prompt]:
    """Return a prompt for every template and term."""
    if bool(templates) != bool(terms):
        raise SpecError(
            "terms and templates go together", fix='Write templates = ["a photo of a {term}"] and terms = ["doctor"].'
        )
    without = [text for text in templates if "{term}" not in text]
    if without:
        raise SpecError(f"Template {without[0][:60]!r} has no {{term}}", fix="Write {term} where the term belongs.")
    return [Prompt(text=text.replace("{term}", term), term=term) for term in terms for text in templates]


Given = PromptFile | Path | str | Sequence[str | Mapping[str, str]] | pd.DataFrame
"""What prompts can be given as."""


def as_prompts(given: Given, seeds: int | None = None) -> PromptFile:
    """Return prompts from a file, a table, a list of texts, or a list of mappings with text, term, pair, variant."""
    if isinstance(given, PromptFile):
        return given if seeds is None else replace(given, seeds=seeds)
    if isinstance(given, str | Path):
        return read_prompts(Path(given), seeds=seeds)
    if isinstance(given, pd.DataFrame):
        return PromptFile(prompt=tuple(_prompts(given)), seeds=20 if seeds is None else seeds)
    made = tuple(Prompt(text=each) if isinstance(each, str) else Prompt(**each) for each in given)
    return PromptFile(prompt=made, seeds=20 if seeds is None else seeds)


def read_prompts(path: Path, *, seeds: int | None = None) -> PromptFile:
    """Read prompts from TOML, or from a table with the column ``prompt`` (and ``term``, ``pair``, ``variant``)."""
    if path.suffix == ".toml":
        source = read_toml(path, error=SpecError)
        plain = {**source.plain, **({"seeds": seeds} if seeds is not None else {})}
        return validate(PromptFile, source, plain=plain, error=SpecError)
    frame, _ = read_frame(path, text=("prompt", "term", "pair", "variant"))
    if "prompt" not in frame.columns:
        raise SpecError(
            f"Column 'prompt' not found in {path.name} (columns: {some(frame.columns, 8)})", fix="Rename the column."
        )
    return PromptFile(prompt=tuple(_prompts(frame)), seeds=20 if seeds is None else seeds)


def _prompts(frame: pd.DataFrame) -> Sequence[Prompt]:
    known = [name for name in ("term", "pair", "variant") if name in frame.columns]
    return [
        Prompt(text=str(entry["prompt"]), **{name: str(entry[name]) for name in known if not pd.isna(entry[name])})
        for entry in frame.to_dict("records")
    ]
