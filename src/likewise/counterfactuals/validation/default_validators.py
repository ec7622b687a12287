"""Default validators of edits: available networks that read what is edited and what is held.

A network is available when its weights are fetched and its libraries installed. It is not used when it is under audit
itself. What has no validator is noted: the rule is then broken for all edits (``validity``).
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from likewise.counterfactuals.validation.validity import NETWORK, SKIN_TONE, ValiditySpec, classifier_and_label
from likewise.weights.cache import entry


@dataclass(frozen=True)
class Reader:
    """A classifier that reads an attribute, and what it needs."""

    validator: str
    weights: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the component."""
        return classifier_and_label(self.validator)[0]

    @property
    def at_hand(self) -> bool:
        """Whether it can be used here and now."""
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
    "tone": (Reader(f"{SKIN_TONE}: darker", ("selfie-multiclass",), ("onnxruntime",)),),
}
"""By attribute, the first choice first: the shipped directions were fitted on labels of ``gender`` and ``age``."""
TOY: Mapping[str, tuple[Reader, ...]] = {
    "gender": (Reader("world-attributes: female"),),
    "smile": (Reader("world-attributes: smiling"),),
    "age": (Reader("world-attributes: older"),),
    "eyeglasses": (Reader("world-attributes: eyeglasses"),),
}
TOY_ARTIFACTS = "world-artifacts: artifact"
RECOGNIZERS = (
    Reader("mobilefacenet", ("mobilefacenet", "retinaface"), ("torch", "onnxruntime")),
    Reader("dlib", ("dlib-resnet", _POINTS), ("dlib",)),
    Reader("openface", ("openface", _POINTS), ("dlib", "torch")),
)
_WORDS = {
    "gender": ("gender", "sex", "male", "female"), "smile": ("smile", "smiling", "happy"),
    "age": ("age", "young", "old", "older"), "eyeglasses": ("eyeglasses", "glasses"), "tone": ("tone", "ita"),
}  # fmt: skip
_OPPOSITE = ("male", "young", "younger", "lighter", "light", "pale")


def kind_of(column: str) -> str:
    """Return what a column is about, by its words; empty where no word is known."""
    words = re.split(r"[^a-z]+", column.lower())
    return next((kind for kind, known in _WORDS.items() if any(word in known for word in words)), "")


def readers_at_hand() -> list[str]:
    """Return the networks that are available as validators; which edits are valid depends on them."""
    every = [*RECOGNIZERS, *(reader for readers in READERS.values() for reader in readers)]
    return [reader.name for reader in every if reader.at_hand]


@dataclass(frozen=True)
class Edited:
    """What the sweep records about itself."""

    attribute: str
    toward: str
    """The group that strength +1 looks like."""
    held: tuple[str, ...] | None
    """What the editor holds; None where it is not stated, and then everything else that is read should stay."""
    toy: bool

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> Edited:
        """Read the summary of the sweep's sidecar."""
        held = summary["held"]
        return cls(
            str(summary["attribute"]), str(summary["toward"]), None if held is None else tuple(held),
            bool(summary.get("toy", False)),
        )  # fmt: skip


def choose_validators(spec: ValiditySpec, audited: set[str], edited: Edited) -> tuple[ValiditySpec, list[str]]:
    """Choose the validators that the plan does not name; note the choice, and what has no validator."""
    table, own = TOY if edited.toy else READERS, kind_of(edited.attribute)
    notes: list[str] = []
    if spec.target is None:
        validator = _reader(table, own, audited)
        notes += [] if validator else [f"No validator of {edited.attribute} is available: name a target in [validity]."]
        spec = replace(spec, target=_toward_focal(validator, edited))
    if spec.held is None:
        names = tuple(table) if edited.held is None else edited.held
        found = {name: _reader(table, kind_of(name), audited) for name in names if kind_of(name) != own}
        unread = [name for name, validator in found.items() if not validator]
        notes += [f"No validator reads these held attributes: {', '.join(unread)}."] if unread else []
        read = tuple(dict.fromkeys(filter(None, found.values())))
        spec = replace(spec, held=read if read or not names else None)
    if spec.recognizer is None:
        spec = replace(spec, recognizer="world" if edited.toy else _first(RECOGNIZERS, audited))
        notes += [] if spec.recognizer else ["No recognizer is available as validator of the person."]
    if spec.artifacts is None:
        spec = replace(spec, artifacts=TOY_ARTIFACTS if edited.toy else NETWORK)
    return spec, [_message(spec), *notes]


def _reader(table: Mapping[str, tuple[Reader, ...]], kind: str, audited: set[str]) -> str:
    names = {reader.name: reader.validator for reader in table.get(kind, ())}
    return names.get(_first(table.get(kind, ()), audited), "")


def _first(readers: Sequence[Reader], audited: set[str]) -> str:
    return next((reader.name for reader in readers if reader.at_hand and reader.name not in audited), "")


def _toward_focal(validator: str, edited: Edited) -> str:
    """Return the label of the group that +1 looks like: of two genders the other one, of ages the younger ones."""
    if edited.toy:  # the world's editor moves toward the one label there is
        return validator
    name, label = classifier_and_label(validator)
    toward = edited.toward.lower() if edited.toward.lower() in _OPPOSITE else edited.attribute.lower()
    if label == "female" and toward == "male":
        return f"{name}: male"
    if name == SKIN_TONE and (toward in ("lighter", "light", "pale") or "ita" in re.split(r"[^a-z]+", toward)):
        return f"{name}: lighter"
    if label == _OLDER and ("young" in re.split(r"[^a-z]+", toward) or toward in _OPPOSITE):
        return f"{name}: 0-2 + 3-9 + 10-19 + 20-29 + 30-39"
    return validator


def _message(spec: ValiditySpec) -> str:
    said = {
        "attribute": spec.target, "held attributes": "; ".join(spec.held or ()), "person": spec.recognizer,
        "artifacts": spec.artifacts,
    }  # fmt: skip
    return "Validators of the edits: " + ", ".join(f"{what}: {name or 'none'}" for what, name in said.items()) + "."
