"""The sections of a study plan; ``validate.py`` has the rules that they must meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from likewise.study.config.questions import KINDS, Question
from likewise.study.config.texts import Text

FORMAT = 2
"""The newest format of study.toml. Format 1 is read too; in it ``training.tries`` was 1 unless set."""
FORMATS = (1, 2)


@dataclass(frozen=True, kw_only=True)
class Item:
    """What a task shows: a unit, or a training, gold or attention item."""

    key: str
    images: tuple[str, ...]
    """File names below the image folder; never shown to raters."""
    answer: Mapping[str, float] = field(default_factory=dict)
    """The correct value by question, for training, gold and attention items."""
    explanation: Text | None = None
    question: Question | None = None
    """Attention items have a question of their own."""
    group: str = ""
    """The value of the group column, for power and the analysis; never shown."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """Practice with feedback, and the share of correct answers needed to qualify."""

    items: tuple[Item, ...] = ()
    qualify: float = 0.6
    tries: int = 1
    feedback: str = "misses"
    """``misses``: explain wrong answers; ``all``: explain every answer; ``none``: explain nothing."""


@dataclass(frozen=True, kw_only=True)
class Controls:
    """Gold or attention items: how many of them each rater gets, at random positions."""

    items: tuple[Item, ...] = ()
    per_rater: int = 0


@dataclass(frozen=True, kw_only=True)
class Comprehension:
    """Questions about the instructions, answered before anything else."""

    items: tuple[Item, ...] = ()
    """Each has a question of its own and no image."""
    attempts: int = 2
    """Failed attempts after which the study ends for a rater. Platforms ask for at least two."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """A condition that raters are randomized to."""

    name: str
    attention: bool = True
    pay: float | None = None


@dataclass(frozen=True, kw_only=True)
class Exclusion:
    """Exclusion rules, fixed before the first response. A rule at its default excludes no rater."""

    gold_below: float = 0.0
    attention_missed: int = 0
    """Exclude a rater with this many missed attention questions (0: off)."""
    median_seconds_below: float = 0.0
    same_answer_above: float = 1.0
    """Exclude a rater who gives the same response to more than this share of the units."""
    replace: bool = True
    """Reassign the units of an excluded rater, so that every unit reaches its quota of valid responses."""


@dataclass(frozen=True, kw_only=True)
class Pay:
    """Payment per task, for the cost and the implied hourly wage."""

    per_task: float = 0.0
    currency: str = "USD"
    fee: float = 0.0
    """The fee of the platform on top, 0.2 for 20 %."""
    seconds_per_task: float = 0.0
    """Expected seconds; 0 takes the typical value of the kind. ``likewise study plan`` also shows the measured one."""
    minimum_wage: float = 0.0
    """``likewise study plan`` warns about an hourly wage below this."""


@dataclass(frozen=True, kw_only=True)
class Completion:
    """Completion codes for the platform (empty: a different code for each rater), and the return address."""

    code: str = ""
    screened_out: str = ""
    declined: str = ""
    redirect: str = ""
    """An address in which ``{code}`` stands for the code."""


@dataclass(frozen=True, kw_only=True)
class Gap:
    """The gap that the study should detect, for ``likewise study plan``."""

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
    """What raters read first and can open at any time."""

    text: Text
    pictures: tuple[tuple[str, Text], ...] = ()
    """Image and caption."""


@dataclass(frozen=True, kw_only=True)
class StudyPlan:
    """All sections of a plan. ``Study`` is the validated form."""

    title: Text
    """The title, by language where there are several."""
    kind: str
    """What is asked: a kind that is known, such as skin-tone, or own questions."""
    questions: tuple[Question, ...]
    """The questions about each unit."""
    units: tuple[Item, ...]
    """What raters answer about."""
    images: Path
    """The folder that image file names are relative to."""
    consent: Consent
    """What raters agree to before anything is recorded."""
    instructions: Instructions
    """What raters read first and can open at any time."""
    raters: int
    """How many raters are expected; more may join while units are below their quota."""
    raters_per_unit: int
    """The quota: responses of different raters about each unit."""
    tasks_per_rater: int
    """The most units that one rater sees."""
    comprehension: Comprehension = field(default_factory=Comprehension)
    """Questions about the instructions."""
    training: Training = field(default_factory=Training)
    """Items with feedback, and the share that qualifies."""
    gold: Controls = field(default_factory=Controls)
    """Units with a known answer."""
    attention: Controls = field(default_factory=Controls)
    """Units that anyone who looks answers correctly."""
    arms: tuple[Arm, ...] = ()
    """Versions of the study that raters are randomized to."""
    exclusion: Exclusion = field(default_factory=Exclusion)
    """Whose responses are not analyzed, decided before the study."""
    pay: Pay = field(default_factory=Pay)
    """What raters are paid."""
    completion: Completion = field(default_factory=Completion)
    """The codes and the address that raters get at the end."""
    gap: Gap | None = None
    """The gap that the study should detect."""
    languages: tuple[str, ...] = ("en",)
    """The languages that raters can choose."""
    certainty: bool = False
    """Also ask how sure the rater is."""
    comment: bool = False
    """Also offer a field for a comment."""
    skip: bool = False
    """Offer "I cannot tell", which is recorded as a missing value."""
    hold_minutes: float = 20.0
    """A task without a response for this long is reassigned to another rater."""
    seed: int = 0
    """For the order of units and the assignment to arms."""
    format: int = FORMAT
    """The format of the plan."""

    @cached_property
    def items(self) -> dict[str, Item]:
        """Every item by its key."""
        groups = (self.units, self.training.items, self.gold.items, self.attention.items)
        return {item.key: item for group in groups for item in group}

    @cached_property
    def places(self) -> dict[str, int]:
        """The index of each unit in the plan."""
        return {unit.key: k for k, unit in enumerate(self.units)}

    @cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of every item: ``work``, ``training``, ``gold`` or ``attention``."""
        parts = ("training", "gold", "attention")
        controls = {item.key: part for part in parts for item in getattr(self, part).items}
        return {unit.key: "work" for unit in self.units} | controls

    @property
    def responses(self) -> int:
        """How many responses about units the study collects."""
        return len(self.units) * self.raters_per_unit

    @cached_property
    def pictures(self) -> list[str]:
        """Every image file of the study, once, sorted."""
        names = [name for item in self.items.values() for name in item.images]
        return sorted({*names, *(name for name, _ in self.instructions.pictures)})

    @property
    def seconds(self) -> float:
        """Expected seconds per task: those of the plan, or the typical ones of the kind."""
        usual = KINDS[self.kind].seconds if self.kind in KINDS else 8.0 * len(self.questions)
        return self.pay.seconds_per_task or usual

    def questions_of(self, item: Item) -> tuple[Question, ...]:
        """Return the questions about an item."""
        return (item.question,) if item.question else self.questions
