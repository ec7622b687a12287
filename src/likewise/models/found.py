"""Faces that were found in a picture: what a finder answers, and which of several faces is meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from likewise.models.geometry import Floats, Picture


@dataclass(frozen=True)
class Found:
    """A face: its box (left, top, right, bottom), its five points, and how sure the finder is."""

    box: tuple[float, float, float, float]
    points: Floats
    """``[5, 2]``, in the finder's scheme."""
    score: float


class Finder(Protocol):
    """Whoever finds faces."""

    name: str
    licence: str
    scheme: str
    """How its five points are to be read: *corners* or *centres* (see templates)."""

    def find(self, picture: Picture) -> list[Found]:
        """Return all faces of a picture ``[H, W, 3]``, in its own pixels."""


def central(found: Sequence[Found], picture: Picture) -> Found | None:
    """Return the face nearest to the middle: of several people, whom the photograph is of. None if there is none."""
    height, width = picture.shape[:2]

    def aside(face: Found) -> float:
        left, top, right, bottom = face.box
        return float(np.hypot((left + right - width) / 2, (top + bottom - height) / 2))

    return min(found, key=aside, default=None)


def at_first_sight(look: Callable[[Picture, int], list[Found]], picture: Picture, sides: Sequence[int]) -> list[Found]:
    """Look at a picture brought to each size in turn, until somebody is seen."""
    for side in sides:
        found = look(picture, side)
        if found:
            return found
    return []
