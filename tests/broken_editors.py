"""Editors that do not do what they should, for tests of edit validity."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from likewise.runtime.registry import to_pictures
from likewise.simulation.components import WorldEditor
from likewise.simulation.scene import draw, see


class Nothing(WorldEditor):
    """Returns what it gets."""

    name = "nothing"

    def edit(self, pictures, level):
        return pictures


class Tint(WorldEditor):
    """Colors the picture: pink at one end, yellow at the other."""

    name = "tint"

    def edit(self, pictures, level):
        tint = np.array([12.0, 4.0 * np.sign(level) - 2, -10.0 * np.sign(level)]) * abs(level)
        return np.clip(pictures + tint, 0, 255).astype(np.uint8)


def ghosted(pictures):
    """Return pictures in which a shifted copy shows through."""
    moved = ndimage.shift(pictures.astype(float), (0, 3, 3, 0), order=1, mode="nearest")
    return np.rint(0.6 * pictures + 0.4 * moved).astype(np.uint8)


class Ghost(WorldEditor):
    """Moves the attribute as it should, and leaves a shifted copy of the face in the picture."""

    name = "ghost"

    def edit(self, pictures, level):
        edited = super().edit(pictures, level)
        return ghosted(edited) if level else edited


class Haunted(WorldEditor):
    """Leaves the copy in every picture, also at strength 0 and in its reconstruction: no strength differs in it."""

    name = "haunted"

    def edit(self, pictures, level):
        return ghosted(super().edit(pictures, level))

    def redraw(self, pictures, images=None):
        return ghosted(to_pictures(draw(see(pictures))))


class Reverse(WorldEditor):
    """Moves the attribute the wrong way."""

    name = "reverse"

    def edit(self, pictures, level):
        return super().edit(pictures, -level)


class Aging(WorldEditor):
    """Makes faces older along with the attribute."""

    name = "aging"

    def edit(self, pictures, level):
        factors = see(pictures)
        factors[:, 0], factors[:, 1] = level, factors[:, 1] + 0.8 * level
        return to_pictures(draw(factors))
