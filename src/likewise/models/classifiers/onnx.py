"""Any ONNX classifier: a model file, a file of labels (one a line) and a short card in TOML."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from likewise.errors import InputError, SpecError, nearest, some
from likewise.models.batches import in_batches
from likewise.models.intake import Intake
from likewise.models.recognisers.onnx import session
from likewise.models.seen import look_for_faces
from likewise.models.segmentation import resized_to
from likewise.plugins import Array, Pictures
from likewise.weights import where

_ACTIVATIONS = ("none", "softmax", "sigmoid")
_LOOKS = ("face", "whole")


@dataclass(frozen=True, kw_only=True)
class LabelCard:
    """What has to be known about a classifier besides its weights and its labels."""

    name: str
    licence: str
    model: str
    """The model file, beside the card; or the name of a weight."""
    labels: str
    """The file of labels, beside the card: one a line, in the order of the model's answer."""
    threshold: float = 0.5
    """A label is present where its score reaches this."""
    activation: str = "none"
    """What makes scores of the model's answer: none (it gives them itself), softmax or sigmoid."""
    look: str = "whole"
    """Whether the model sees the whole picture or the crop of the central face."""
    output: str = ""
    """Which output is meant, when there are several."""

    def __post_init__(self) -> None:
        for option, known in (("activation", _ACTIVATIONS), ("look", _LOOKS)):
            if getattr(self, option) not in known:
                raise SpecError(f"{option} is one of {some(known)}", got=repr(getattr(self, option)))


class OwnClassifier:
    """The occupant ``onnx``: a user's classifier, described by a card."""

    def __init__(self, *, card: str, device: str = "cpu", batch: int = 32) -> None:
        path = Path(card)
        self.card, self.intake = read_label_card(path)
        self.name, self.licence, self.threshold = self.card.name, self.card.licence, self.card.threshold
        self.labels = _labels(path.parent / self.card.labels)
        model = path.parent / self.card.model
        self._session = session(str(where(model if model.is_file() else self.card.model)), device)
        self._output = _output(self._session, self.card)
        self._batch = batch
        self.finder = self.intake.finder if self.card.look != "whole" else ""
        """Who finds the faces for it, where it looks at faces: whose licence is noted, too."""
        self._check_width()

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return each label's score; NaN where the model looks at faces and none was found."""
        if self.card.look == "whole":
            scores = self._run(np.stack([resized_to(picture, self.intake.size) for picture in pictures]))
        else:
            seen = look_for_faces(pictures, self.intake.finder)
            scores = seen.spread(self._run(seen.crops(self.intake.template, self.intake.size)))
        return {label: np.ascontiguousarray(scores[:, k]) for k, label in enumerate(self.labels)}

    def _run(self, crops: Pictures) -> Array:
        name = self._session.get_inputs()[0].name

        def answer(part: Pictures) -> Array:
            raw = self._session.run([self._output], {name: self.intake.prepared(part)})[0]
            return _activated(raw, self.card.activation)

        return np.concatenate([np.zeros((0, len(self.labels)), np.float32), *in_batches(answer, crops, self._batch)])

    def _check_width(self) -> None:
        size = self.intake.size
        given = self.intake.prepared(np.zeros((1, size, size, 3), np.uint8))
        try:
            answer = self._session.run([self._output], {self._session.get_inputs()[0].name: given})[0]
        except Exception as error:  # the runtime has an exception of its own for every wrong shape
            got = str(error).splitlines()[0][:200]
            raise InputError(
                f"{self.name} takes {self.intake.layout} of {size} px, as its card says", got=got
            ) from error
        width = answer.reshape(1, -1).shape[1]
        if width != len(self.labels):
            raise InputError(f"{self.name} has a label for each of its {width} answers", got=f"{len(self.labels)}")


def read_label_card(path: Path) -> tuple[LabelCard, Intake]:
    """Return a card and what the network wants to see."""
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"the card {str(path)!r} is a TOML file", got=str(error)) from error
    intake = plain.pop("intake", {})
    for given, kind, place in ((plain, LabelCard, "a card"), (intake, Intake, "[intake]")):
        known = [entry.name for entry in fields(kind)]
        unknown = [key for key in given if key not in known]
        if unknown:
            fix = nearest(unknown[0], known) or f"It knows {some(known, 16)}."
            raise SpecError(f"{place} has no key {unknown[0]!r}", fix=fix)
    missing = [key for key in ("name", "licence", "model", "labels") if key not in plain]
    missing += [] if "size" in intake else ["intake.size"]
    if missing:
        raise SpecError(f"the card {path.name} says {some(missing)}", got="no such line")
    return LabelCard(**plain), Intake(**intake)


def _labels(path: Path) -> list[str]:
    try:
        labels = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name} is a text file with one label a line", got=str(error)) from error
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice or not labels:
        raise InputError("every label has a name of its own", got=f"twice {some(twice)}" if twice else "no label")
    return labels


def _output(opened: Any, card: LabelCard) -> str:
    outputs = [entry.name for entry in opened.get_outputs()]
    if card.output and card.output not in outputs:
        raise SpecError(
            f"the model has an output {card.output!r}", got=some(outputs), fix=nearest(card.output, outputs)
        )
    if not card.output and len(outputs) != 1:
        raise SpecError("a card names the output when there are several", got=some(outputs), fix="Say output = ...")
    return card.output or outputs[0]


def _activated(answer: Array, activation: str) -> Array:
    flat = answer.reshape(len(answer), -1).astype(np.float64)
    if activation == "softmax":
        flat = np.exp(flat - flat.max(axis=1, keepdims=True))
        flat = flat / flat.sum(axis=1, keepdims=True)
    elif activation == "sigmoid":
        flat = 1 / (1 + np.exp(-np.clip(flat, -80, 80)))
    return flat.astype(np.float32)
