"""LabelResponse: the labels and confidences of one response, in the form that all services share."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from likewise.runtime.registry import Array


@dataclass(frozen=True)
class LabelResponse:
    """Labels with their confidence from 0 to 1, and the model version that the service states."""

    labels: dict[str, float]
    model: str = ""

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, float]], *, model: str = "", scale: float = 1.0) -> LabelResponse:
        """Read labels in any language; a label that occurs twice has its larger confidence."""
        labels: dict[str, float] = {}
        for label, confidence in pairs:
            word, value = _normalized(label), float(confidence) / scale
            if not 0 <= value <= 1 + 1e-6:
                raise ValueError("confidence outside 0 to 1")
            labels[word] = max(labels.get(word, 0.0), min(value, 1.0))
        return cls(labels, model)

    def renamed(self, words: Mapping[str, str]) -> LabelResponse:
        """Return it with other names for some labels."""
        pairs = [(words.get(label, label), value) for label, value in self.labels.items()]
        return LabelResponse.of(pairs, model=self.model)


def _normalized(label: object) -> str:
    """One spelling for one word: composed letters, no space around."""
    if not isinstance(label, str) or not label.strip():
        raise ValueError("a label is not a word")
    return unicodedata.normalize("NFC", label.strip())


def scores_by_label(responses: Sequence[LabelResponse | None]) -> dict[str, Array]:
    """Return one array a label: 0 where a response does not have it, NaN for a refused picture."""
    names = sorted({label for response in responses if response for label in response.labels})
    scores = {name: np.zeros(len(responses), dtype=np.float32) for name in names}
    for row, response in enumerate(responses):
        for name in names:
            scores[name][row] = np.nan if response is None else response.labels.get(name, 0.0)
    return scores
