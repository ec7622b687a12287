"""Face detections: what a detector returns, and which of several faces is used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from likewise.models.geometry import Floats, Picture


@dataclass(frozen=True)
class Detection:
    """A detected face: its box (left, top, right, bottom), its five landmarks, and the detector's score."""

    box: tuple[float, float, float, float]
    points: Floats
    """``[5, 2]``, in the detector's landmark scheme."""
    score: float


class Detector(Protocol):
    """A face detector."""

    name: str
    license: str
    scheme: str
    """The scheme of its five landmarks: *corners* or *centers* (see ``landmarks``)."""

    def find(self, picture: Picture) -> list[Detection]:
        """Return all faces of an image ``[H, W, 3]``, in its own pixels."""


def central(found: Sequence[Detection], picture: Picture) -> Detection | None:
    """Return the face nearest to the center, which is the subject of a portrait; None if there is no face."""
    height, width = picture.shape[:2]

    def offset(face: Detection) -> float:
        left, top, right, bottom = face.box
        return float(np.hypot((left + right - width) / 2, (top + bottom - height) / 2))

    return min(found, key=offset, default=None)


def detect_at_sizes(
    detect: Callable[[Picture, int], list[Detection]], picture: Picture, sides: Sequence[int]
) -> list[Detection]:
    """Run a detector on an image resized to each side in turn, until a face is detected."""
    for side in sides:
        found = detect(picture, side)
        if found:
            return found
    return []
