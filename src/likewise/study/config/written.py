"""study.toml as it is written: the sections and keys that the strict reader accepts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from likewise.study.config.sections import Arm, Completion, Exclusion, Gap, Pay

Words = str | dict[str, str]
"""Text in the first language of the study, or a table by language."""


@dataclass(frozen=True, kw_only=True)
class OptionEntry:
    """A response option: ``{ value = 1, label = "Yes" }``."""

    value: float
    label: Words


@dataclass(frozen=True, kw_only=True)
class QuestionEntry:
    """[[question]]."""

    name: str
    text: Words
    options: tuple[OptionEntry, ...]
    scale: Literal["nominal", "ordinal"] = "nominal"


@dataclass(frozen=True, kw_only=True)
class ItemEntry:
    """An item of [training], [gold] or [attention]."""

    image: str | None = None
    a: str | None = None
    b: str | None = None
    answer: float | dict[str, float] | None = None
    explanation: Words | None = None
    question: Words | None = None
    options: tuple[OptionEntry, ...] = ()


@dataclass(frozen=True, kw_only=True)
class UnitsSection:
    """[units]: the table of units, and the names of its columns."""

    table: str
    images: str = "."
    unit: str = "unit"
    image: str = "image"
    a: str = "a"
    b: str = "b"
    group: str = ""


@dataclass(frozen=True, kw_only=True)
class ConsentSection:
    """[consent]."""

    text: Words
    contact: str = ""


@dataclass(frozen=True, kw_only=True)
class PictureEntry:
    """An illustration of the instructions."""

    image: str
    caption: Words


@dataclass(frozen=True, kw_only=True)
class InstructionsSection:
    """[instructions]."""

    text: Words | None = None
    pictures: tuple[PictureEntry, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ComprehensionEntry:
    """A question about the instructions."""

    question: Words
    options: tuple[OptionEntry, ...]
    answer: float


@dataclass(frozen=True, kw_only=True)
class ComprehensionSection:
    """[comprehension]."""

    attempts: int = 2
    item: tuple[ComprehensionEntry, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TrainingSection:
    """[training]."""

    qualify: float = 0.6
    tries: int | None = None
    feedback: Literal["misses", "all", "none"] = "misses"
    table: str = ""
    item: tuple[ItemEntry, ...] = ()


@dataclass(frozen=True, kw_only=True)
class GoldSection:
    """[gold]."""

    per_rater: int = 0
    table: str = ""
    item: tuple[ItemEntry, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AttentionSection:
    """[attention]."""

    per_rater: int = 0
    item: tuple[ItemEntry, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WrittenStudy:
    """The whole file."""

    raters: int
    raters_per_unit: int
    units: UnitsSection
    consent: ConsentSection
    format: int = 1
    title: Words | None = None
    kind: Literal["real-or-fake", "skin-tone", "same-person", "own"] = "own"
    seed: int = 0
    languages: tuple[str, ...] = ("en",)
    tasks_per_rater: int | None = None
    scale: str | None = None
    certainty: bool = False
    comment: bool = False
    skip: bool = False
    hold_minutes: float = 20.0
    instructions: InstructionsSection = field(default_factory=InstructionsSection)
    question: tuple[QuestionEntry, ...] = ()
    comprehension: ComprehensionSection = field(default_factory=ComprehensionSection)
    training: TrainingSection = field(default_factory=TrainingSection)
    gold: GoldSection = field(default_factory=GoldSection)
    attention: AttentionSection = field(default_factory=AttentionSection)
    arm: tuple[Arm, ...] = ()
    exclusion: Exclusion = field(default_factory=Exclusion)
    pay: Pay = field(default_factory=Pay)
    completion: Completion = field(default_factory=Completion)
    gap: Gap | None = None
