"""Any ONNX classifier: a model file, a label file (one label per line) and a model card in TOML."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from likewise.errors import InputError, SpecError, nearest, some
from likewise.models.detectors.detected_faces import detect_faces
from likewise.models.perception.segmentation import resized_to
from likewise.models.preprocessing import Preprocessing
from likewise.models.recognizers.onnx import model_of, session
from likewise.runtime.config import read_toml, validate
from likewise.runtime.registry import Array, Pictures
from likewise.runtime.threads import in_batches
from likewise.weights import where


@dataclass(frozen=True, kw_only=True)
class LabelCard:
    """The model card of a classifier: all that is needed besides its weights and its labels."""

    name: str
    license: str
    model: str
    """The model file, relative to the card; or the name of a weight."""
    labels: str
    """The label file, relative to the card: one label per line, in the order of the model's outputs."""
    preprocessing: Preprocessing
    threshold: float = 0.5
    """A label is present where its score reaches this."""
    activation: Literal["none", "softmax", "sigmoid"] = "none"
    """What turns the model's output into scores; none where it outputs scores."""
    look: Literal["face", "whole"] = "whole"
    """Whether the model sees the whole image or the crop of the central face."""
    output: str = ""
    """Which output is used, where the model has several."""


class CardClassifier:
    """The component ``onnx``: a user's classifier, described by a card."""

    def __init__(self, *, card: str, device: str = "cpu", batch: int = 32) -> None:
        path = Path(card)
        self.card = read_label_card(path)
        self.preprocessing = self.card.preprocessing
        self.name, self.license, self.threshold = self.card.name, self.card.license, self.card.threshold
        self.labels = _labels(path.parent / self.card.labels)
        self._session = session(str(where(model_of(self.card.model, path))), device)
        self._output = _output(self._session, self.card)
        self._batch = batch
        self.detector = self.preprocessing.detector if self.card.look != "whole" else ""
        """The detector, where the model sees faces; its license is recorded, too."""
        self._check_width()

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return each label's score; NaN where the model looks at faces and none was found."""
        if self.card.look == "whole":
            scores = self._run(np.stack([resized_to(picture, self.preprocessing.size) for picture in pictures]))
        else:
            seen = detect_faces(pictures, self.preprocessing.detector)
            scores = seen.spread(self._run(seen.crops(self.preprocessing.template, self.preprocessing.size)))
        return {label: np.ascontiguousarray(scores[:, k]) for k, label in enumerate(self.labels)}

    def _run(self, crops: Pictures) -> Array:
        name = self._session.get_inputs()[0].name

        def answer(part: Pictures) -> Array:
            raw = self._session.run([self._output], {name: self.preprocessing.prepared(part)})[0]
            return _activated(raw, self.card.activation)

        return np.concatenate([np.zeros((0, len(self.labels)), np.float32), *in_batches(answer, crops, self._batch)])

    def _check_width(self) -> None:
        size = self.preprocessing.size
        given = self.preprocessing.prepared(np.zeros((1, size, size, 3), np.uint8))
        try:
            answer = self._session.run([self._output], {self._session.get_inputs()[0].name: given})[0]
        except Exception as error:  # the runtime has an exception of its own for every wrong shape
            got = str(error).splitlines()[0][:200]
            raise InputError(
                f"{self.name} does not accept {self.preprocessing.layout} input of {size} px, "
                f"as its model card says: {got}",
                fix="Correct the layout and the size in its model card.",
            ) from error
        width = answer.reshape(1, -1).shape[1]
        if width != len(self.labels):
            raise InputError(
                f"{self.name} has {width} outputs, but its label file has {len(self.labels)} labels",
                fix="Write one label per output, in order.",
            )


def read_label_card(path: Path) -> LabelCard:
    """Read and validate a model card of a classifier; all problems of the file are reported at once."""
    return validate(LabelCard, read_toml(path, error=InputError), error=SpecError)


def _labels(path: Path) -> list[str]:
    try:
        labels = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"Cannot read the labels of {path.name}: {error}", fix="Write one label per line, as UTF-8."
        ) from error
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice or not labels:
        raise InputError(
            f"Duplicate labels in {path.name}: {some(twice)}" if twice else f"No labels in {path.name}",
            fix="Write one label per line, each once.",
        )
    return labels


def _output(opened: Any, card: LabelCard) -> str:
    outputs = [entry.name for entry in opened.get_outputs()]
    if card.output and card.output not in outputs:
        raise SpecError(
            f"The model has no output {card.output!r} (outputs: {some(outputs)})", fix=nearest(card.output, outputs)
        )
    if not card.output and len(outputs) != 1:
        raise SpecError(
            f"The model has {len(outputs)} outputs ({some(outputs)}) and the model card names none",
            fix="Add output = ... to the card.",
        )
    return card.output or outputs[0]


def _activated(answer: Array, activation: str) -> Array:
    flat = answer.reshape(len(answer), -1).astype(np.float64)
    if activation == "softmax":
        flat = np.exp(flat - flat.max(axis=1, keepdims=True))
        flat = flat / flat.sum(axis=1, keepdims=True)
    elif activation == "sigmoid":
        flat = 1 / (1 + np.exp(-np.clip(flat, -80, 80)))
    return flat.astype(np.float32)
