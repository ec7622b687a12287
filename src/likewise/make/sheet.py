"""sheet: a few faces of a sweep at all levels on one picture, to be looked at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image

from likewise.images import Album
from likewise.make.counterfactual import key_of
from likewise.plugins import Pictures

ROWS, SIDE, GAP = 8, 96, 3


def contact_sheet(originals: Album, made: Album, images: Sequence[str], levels: Sequence[float]) -> Pictures:
    """Return one row a face: the original, and its levels in order; faces come evenly from the whole list."""
    few = [images[k] for k in np.unique(np.linspace(0, len(images) - 1, min(ROWS, len(images))).round().astype(int))]
    rows = [[originals([image])[0], *made([key_of(image, level) for level in levels])] for image in few]
    tall, wide = len(few) * (SIDE + GAP) - GAP, (len(levels) + 1) * (SIDE + GAP) - GAP + 4 * GAP
    sheet = np.full((tall, wide, 3), 255, np.uint8)
    for row, pictures in enumerate(rows):
        for column, picture in enumerate(pictures):
            top, left = row * (SIDE + GAP), column * (SIDE + GAP) + (4 * GAP if column else 0)
            sheet[top : top + SIDE, left : left + SIDE] = _thumbnail(picture)
    return sheet


def _thumbnail(picture: Pictures) -> Pictures:
    """Return the middle square at the sheet's size."""
    side = min(picture.shape[:2])
    top, left = (picture.shape[0] - side) // 2, (picture.shape[1] - side) // 2
    square = Image.fromarray(picture[top : top + side, left : left + side])
    return np.asarray(square.resize((SIDE, SIDE), Image.Resampling.LANCZOS, reducing_gap=2.0))
