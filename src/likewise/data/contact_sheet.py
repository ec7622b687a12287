"""The contact sheet: a few images of a sweep at all strengths, as one picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image

from likewise.data.image_grid import sheet
from likewise.data.keys import key_of
from likewise.data.pictures import PictureSource
from likewise.runtime.registry import Pictures

ROWS, SIDE = 8, 96


def contact_sheet(
    originals: PictureSource, made: PictureSource, images: Sequence[str], levels: Sequence[float]
) -> Pictures:
    """Return one row per face: the original, and its levels in order; faces come evenly from the whole list."""
    few = [images[k] for k in np.unique(np.linspace(0, len(images) - 1, min(ROWS, len(images))).round().astype(int))]
    rows = [
        np.stack([thumbnail(originals([image])[0]), *map(thumbnail, made([key_of(image, level) for level in levels]))])
        for image in few
    ]
    return sheet(rows, ["original", *(f"{level:+g}" for level in levels)])


def thumbnail(picture: Pictures) -> Pictures:
    """Return the middle square at the sheet's size."""
    side = min(picture.shape[:2])
    top, left = (picture.shape[0] - side) // 2, (picture.shape[1] - side) // 2
    square = Image.fromarray(picture[top : top + side, left : left + side])
    return np.asarray(square.resize((SIDE, SIDE), Image.Resampling.LANCZOS, reducing_gap=2.0))
