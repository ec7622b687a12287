"""Who judges edits where the plan names nobody: networks at hand that read what is turned and what is held.

A judge is at hand when its weights were fetched and its libraries are there. It is not asked when it is under audit
itself. What nobody reads is said, so that the report never shows a rule that was not looked at as one that was kept.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from likewise.cli.plan import Plan
from likewise.make.certificate import CertificateSpec, judge_of
from likewise.weights.cache import entry


@dataclass(frozen=True)
class Reader:
    """A classifier that reads an attribute, and what it needs."""

    judge: str
    weights: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The slot's occupant."""
        return judge_of(self.judge)[0]

    @property
    def at_hand(self) -> bool:
        """Whether it can be made here and now."""
        there = all(importlib.util.find_spec(module) is not None for module in self.modules)
        return there and all(entry(name) is not None for name in self.weights)


_NETWORK = {"modules": ("dlib", "onnxruntime")}
_POINTS = "dlib-landmarks-5"
_OLDER = "40-49 + 50-59 + 60-69 + 70 or more"
READERS: Mapping[str, tuple[Reader, ...]] = {
    "gender": (
        Reader("faceres-gender: female", ("faceres", _POINTS), **_NETWORK),
        Reader("gender: female", ("gender-v1", _POINTS), **_NETWORK),
    ),
    "smile": (Reader("emotion: happy", ("emotion", _POINTS), **_NETWORK),),
    "age": (
        Reader(f"faceres-age: {_OLDER}", ("faceres", _POINTS), **_NETWORK),
        Reader(f"age: {_OLDER}", ("age-v1", _POINTS), **_NETWORK),
    ),
}
"""By what they read, the first choice first: the shipped directions were fitted on what ``gender`` and ``age`` said."""
TOY: Mapping[str, tuple[Reader, ...]] = {
    "gender": (Reader("world-attributes: female"),),
    "smile": (Reader("world-attributes: smiling"),),
    "age": (Reader("world-attributes: older"),),
    "eyeglasses": (Reader("world-attributes: eyeglasses"),),
}
RECOGNISERS = (
    Reader("mobilefacenet", ("mobilefacenet", "retinaface"), ("torch", "onnxruntime")),
    Reader("dlib", ("dlib-resnet", _POINTS), ("dlib",)),
    Reader("openface", ("openface", _POINTS), ("dlib", "torch")),
)
_WORDS = {
    "gender": ("gender", "sex", "male", "female"), "smile": ("smile", "smiling", "happy"),
    "age": ("age", "young", "old", "older"), "eyeglasses": ("eyeglasses", "glasses"),
}  # fmt: skip
_OPPOSITE = ("male", "young", "younger")


def kind_of(column: str) -> str:
    """Say what a column is about, by its words; nothing where no word is known."""
    words = re.split(r"[^a-z]+", column.lower())
    return next((kind for kind, known in _WORDS.items() if any(word in known for word in words)), "")


def readers_at_hand() -> list[str]:
    """Name the networks that could judge here and now; what is certified depends on them."""
    every = [*RECOGNISERS, *(reader for readers in READERS.values() for reader in readers)]
    return [reader.name for reader in every if reader.at_hand]


@dataclass(frozen=True)
class Edited:
    """What the sweep says of itself."""

    attribute: str
    towards: str
    """Which level +1 looks like."""
    held: tuple[str, ...] | None
    """What the editor holds; None where it does not say, and then everything else that is read should stay."""
    toy: bool

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> Edited:
        """Read the summary of the sweep's sidecar."""
        held = summary["held"]
        return cls(
            str(summary["attribute"]), str(summary["towards"]), None if held is None else tuple(held),
            bool(summary.get("toy", False)),
        )  # fmt: skip


def settled_judges(spec: CertificateSpec, plan: Plan, edited: Edited) -> tuple[CertificateSpec, list[str]]:
    """Fill in the judges that the plan does not name; say who was chosen, and what nobody reads."""
    audited = {rater.name for rater in plan.rater}
    table, own = TOY if edited.toy else READERS, kind_of(edited.attribute)
    notes: list[str] = []
    if spec.target is None:
        judge = _reader(table, own, audited)
        notes += (
            [] if judge else [f"Nobody at hand says whether {edited.attribute} moves: name a target in [certificate]."]
        )
        spec = replace(spec, target=_turned(judge, edited))
    if spec.held is None:
        names = tuple(table) if edited.held is None else edited.held
        found = {name: _reader(table, kind_of(name), audited) for name in names if kind_of(name) != own}
        unread = [name for name, judge in found.items() if not judge]
        notes += [f"Nobody at hand says whether these stay: {', '.join(unread)}."] if unread else []
        spec = replace(spec, held=tuple(dict.fromkeys(filter(None, found.values()))))
    if spec.recogniser is None:
        spec = replace(spec, recogniser="world" if edited.toy else _first(RECOGNISERS, audited))
        notes += [] if spec.recogniser else ["No recogniser at hand says whether it is still the same person."]
    return spec, [_told(spec), *notes]


def _reader(table: Mapping[str, tuple[Reader, ...]], kind: str, audited: set[str]) -> str:
    names = {reader.name: reader.judge for reader in table.get(kind, ())}
    return names.get(_first(table.get(kind, ()), audited), "")


def _first(readers: Sequence[Reader], audited: set[str]) -> str:
    return next((reader.name for reader in readers if reader.at_hand and reader.name not in audited), "")


def _turned(judge: str, edited: Edited) -> str:
    """Have the target read what +1 looks like: of two genders the other one, and of ages the younger ones."""
    if edited.toy:  # the world's editor turns towards the one label there is
        return judge
    name, label = judge_of(judge)
    towards = edited.towards.lower() if edited.towards.lower() in _OPPOSITE else edited.attribute.lower()
    if label == "female" and towards == "male":
        return f"{name}: male"
    if label == _OLDER and ("young" in re.split(r"[^a-z]+", towards) or towards in _OPPOSITE):
        return f"{name}: 0-2 + 3-9 + 10-19 + 20-29 + 30-39"
    return judge


def _told(spec: CertificateSpec) -> str:
    said = {"the attribute": spec.target, "what is held": "; ".join(spec.held or ()), "the person": spec.recogniser}
    judges = ", ".join(f"{what}: {who or 'nobody'}" for what, who in said.items())
    return f"The judges of the edits. {judges[0].upper()}{judges[1:]}."
