"""A reading: what an answer says, in the form that all services share."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from likewise.plugins import Array


@dataclass(frozen=True)
class Reading:
    """Labels with their confidence from 0 to 1, and the model version that the service names."""

    labels: dict[str, float]
    model: str = ""

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, float]], *, model: str = "", scale: float = 1.0) -> Reading:
        """Read labels in any language; one that is named twice has its larger confidence."""
        labels: dict[str, float] = {}
        for label, confidence in pairs:
            word, value = _word(label), float(confidence) / scale
            if not 0 <= value <= 1 + 1e-6:
                raise ValueError("a confidence lies between 0 and 1")
            labels[word] = max(labels.get(word, 0.0), min(value, 1.0))
        return cls(labels, model)

    def renamed(self, words: Mapping[str, str]) -> Reading:
        """Return it with other words for some labels."""
        return Reading.of([(words.get(label, label), value) for label, value in self.labels.items()], model=self.model)


def _word(label: object) -> str:
    """One spelling for one word: composed letters, no space around."""
    if not isinstance(label, str) or not label.strip():
        raise ValueError("a label is a word")
    return unicodedata.normalize("NFC", label.strip())


def in_rows(readings: Sequence[Reading | None]) -> dict[str, Array]:
    """Lay readings out as one array a label; nothing was said about a picture that was refused."""
    names = sorted({label for reading in readings if reading for label in reading.labels})
    scores = {name: np.zeros(len(readings), dtype=np.float32) for name in names}
    for row, reading in enumerate(readings):
        for name in names:
            scores[name][row] = np.nan if reading is None else reading.labels.get(name, 0.0)
    return scores
