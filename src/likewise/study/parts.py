"""The parts of a study's plan: items, training, controls, arms, pay, words. ``rules.py`` says what they must hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from likewise.study.questions import KINDS, Question
from likewise.study.texts import Text

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Item:
    """Something to look at: a unit, or a training, gold or attention item."""

    key: str
    images: tuple[str, ...]
    """File names below the study's image folder; nobody who answers ever sees them."""
    answer: Mapping[str, float] = field(default_factory=dict)
    """The right value by question, for training, gold and attention items."""
    explanation: Text | None = None
    question: Question | None = None
    """An attention item asks a question of its own."""
    group: str = ""
    """The level of the plan's group column, for power and the analysis; never shown."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """Practice with feedback, and the mark that lets a rater go on."""

    items: tuple[Item, ...] = ()
    qualify: float = 0.6
    tries: int = 1
    feedback: str = "misses"
    """``misses``: the explanation comes after a wrong answer; ``all``: after every answer; ``none``: never."""


@dataclass(frozen=True, kw_only=True)
class Controls:
    """Gold or attention items: how many of them each rater meets, at random places."""

    items: tuple[Item, ...] = ()
    per_rater: int = 0


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A condition that raters are randomised to."""

    name: str
    attention: bool = True
    pay: float | None = None


@dataclass(frozen=True, kw_only=True)
class Exclusion:
    """Whose answers do not count. Fixed before the first answer; a rule at its default excludes nobody."""

    gold_below: float = 0.0
    attention_missed: int = 0
    """So many missed attention questions, and the rater is out."""
    median_seconds_below: float = 0.0
    same_answer_above: float = 1.0
    """A rater who gives one answer to more than this share of the units is out."""
    replace: bool = True
    """Ask somebody else in place of an excluded rater, so that every unit keeps its quota of answers that count."""


@dataclass(frozen=True, kw_only=True)
class Pay:
    """What people get, and what that makes an hour."""

    per_task: float = 0.0
    currency: str = "USD"
    fee: float = 0.0
    """The platform's share on top, 0.2 for 20 %."""
    seconds_per_task: float = 0.0
    """Expected; the kind's usual value when it is 0. ``likewise study plan`` puts the measured one beside it."""
    minimum_wage: float = 0.0
    """An hour below this is warned of."""


@dataclass(frozen=True, kw_only=True)
class Completion:
    """Codes for the platform (a code of the rater's own when empty), and where to go in the end."""

    code: str = ""
    screened_out: str = ""
    declined: str = ""
    redirect: str = ""
    """An address in which ``{code}`` stands for the code."""


@dataclass(frozen=True, kw_only=True)
class Gap:
    """The gap that the study is to find, for ``likewise study plan``."""

    focal: str
    reference: str
    rate: float = 0.5
    image_reach: float = 0.15
    rater_reach: float = 0.10
    power: float = 0.8


@dataclass(frozen=True, kw_only=True)
class Consent:
    """What raters agree to before anything is recorded."""

    text: Text
    contact: str = ""


@dataclass(frozen=True, kw_only=True)
class Instructions:
    """What raters read first and can always open again."""

    text: Text
    pictures: tuple[tuple[str, Text], ...] = ()
    """Image and caption."""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Everything that a plan says; ``Study`` is this, checked."""

    title: Text
    kind: str
    questions: tuple[Question, ...]
    units: tuple[Item, ...]
    images: Path
    """The folder that all file names are relative to."""
    consent: Consent
    instructions: Instructions
    raters: int
    """How many people are expected; more may come as long as places are free."""
    raters_per_unit: int
    tasks_per_rater: int
    training: Training = field(default_factory=Training)
    gold: Controls = field(default_factory=Controls)
    attention: Controls = field(default_factory=Controls)
    arms: tuple[Arm, ...] = ()
    exclusion: Exclusion = field(default_factory=Exclusion)
    pay: Pay = field(default_factory=Pay)
    completion: Completion = field(default_factory=Completion)
    gap: Gap | None = None
    languages: tuple[str, ...] = ("en",)
    certainty: bool = False
    comment: bool = False
    skip: bool = False
    """Offer "cannot tell": no answer, which stays empty."""
    hold_minutes: float = 20.0
    """A place that was not answered for so long goes to somebody else."""
    seed: int = 0
    format: int = FORMAT

    @cached_property
    def items(self) -> dict[str, Item]:
        """Every item by its key."""
        groups = (self.units, self.training.items, self.gold.items, self.attention.items)
        return {item.key: item for group in groups for item in group}

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each unit stands in the plan."""
        return {unit.key: k for k, unit in enumerate(self.units)}

    @cached_property
    def kinds(self) -> dict[str, str]:
        """What every item is: ``work``, ``training``, ``gold`` or ``attention``."""
        parts = ("training", "gold", "attention")
        controls = {item.key: part for part in parts for item in getattr(self, part).items}
        return {unit.key: "work" for unit in self.units} | controls

    @property
    def answers(self) -> int:
        """How many answers about units the study collects."""
        return len(self.units) * self.raters_per_unit

    @property
    def pictures(self) -> list[str]:
        """Every image file that belongs to the study, once."""
        names = [name for item in self.items.values() for name in item.images]
        return sorted({*names, *(name for name, _ in self.instructions.pictures)})

    @property
    def seconds(self) -> float:
        """Expected seconds for a task: the plan's, or the kind's usual ones."""
        usual = KINDS[self.kind].seconds if self.kind in KINDS else 8.0 * len(self.questions)
        return self.pay.seconds_per_task or usual

    def asked(self, item: Item) -> tuple[Question, ...]:
        """Return what is asked about an item."""
        return (item.question,) if item.question else self.questions
