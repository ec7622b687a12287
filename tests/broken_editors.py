"""Editors that do not do what they should, for tests of edit validity."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image
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


class GhostEverywhere(WorldEditor):
    """Leaves the copy in every picture, also at strength 0 and in its reconstruction: no strength differs in it."""

    name = "ghost-everywhere"

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


class Mirror(WorldEditor):
    """Shows the mirror image toward one end."""

    name = "mirror"

    def edit(self, pictures, level):
        return pictures[:, :, ::-1] if level > 0 else pictures


class Bright(WorldEditor):
    """Makes the whole picture brighter with the strength."""

    name = "bright"

    def edit(self, pictures, level):
        return np.clip(pictures * (1 + 0.12 * level), 0, 255).astype(np.uint8)


class Compressed(WorldEditor):
    """Only compresses, the more the stronger."""

    name = "compressed"

    def edit(self, pictures, level):
        return np.stack([jpeg(picture, 92 - 25 * abs(level)) for picture in pictures])


def jpeg(picture, quality):
    """Write and read a picture as JPEG."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=round(quality))
    return np.asarray(Image.open(file))


class Stranger(WorldEditor):
    """Shows another person of the wanted group instead, clean and with everything else as it was."""

    name = "stranger"

    def edit(self, pictures, level):
        factors = see(pictures)
        factors[:, 0] = level
        factors[:, 7:10] = -1.5 * np.sign(factors[:, 7:10])
        return to_pictures(draw(factors))


class Mistaken(WorldEditor):
    """Returns the reconstruction of another person's image, moved as it should be."""

    name = "mistaken"

    def edit(self, pictures, level):
        return super().edit(np.roll(pictures, 3, axis=0), level)


class Late(WorldEditor):
    """Moves only at the strongest edit: what a slope per unit of strength says of it is not what happened."""

    name = "late"

    def edit(self, pictures, level):
        return super().edit(pictures, 1 if level >= 2 else -1)


class Specks(WorldEditor):
    """Changes single pixels, toward white or black with the strength."""

    name = "specks"

    def edit(self, pictures, level):
        places = np.random.default_rng(8).integers(pictures.shape[1], size=(2, 6))
        edited = pictures.copy()
        edited[:, places[0], places[1]] = np.clip(edited[:, places[0], places[1]] + 60.0 * level, 0, 255)
        return edited


class Picky(WorldEditor):
    """Edits only images that look female to the validator already, and leaves all others as they are."""

    name = "picky"

    def edit(self, pictures, level):
        chosen = see(pictures)[:, 0] > 0
        return np.where(chosen[:, None, None, None], super().edit(pictures, level), pictures)
