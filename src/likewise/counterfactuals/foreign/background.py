"""The background of a portrait: did an edit of the whole picture change it?

An endpoint that edits whole pictures draws every pixel again, so no two bytes are equal. What is compared is the
background (in the original and in the edit, away from the person), at 256 pixels, slightly blurred: a pixel counts as
changed where a color differs by more than ``TOLERANCE``, a picture where that is more than ``SHARE`` of the background.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from likewise.models.perception.segmentation import CLASSES, SIDE, Segmenter, square
from likewise.runtime.registry import Pictures

TOLERANCE = 24.0
"""Of 255: recompression and drawing again change a blurred color by less."""
SHARE = 0.05
"""Share of the background that may differ: hair and shoulders of another shape uncover some of it."""
_MARGIN, _BLUR, _LEAST = 6, 1.5, 0.02  # pixels around the person; sigma; share of the picture that is background


def background_changed(original: Pictures, edits: Pictures) -> npt.NDArray[np.int64]:
    """Return for each edit how many pixels of the original's background changed; 0 where it is within tolerance."""
    every = np.stack([square(picture) for picture in (original, *edits)])
    behind = segmenter().classes(every) == CLASSES.index("background")
    smooth = ndimage.gaussian_filter(every.astype(np.float32), (0, _BLUR, _BLUR, 0))
    scale = original.shape[0] * original.shape[1] / SIDE**2
    return np.array([_changed(smooth[0], edit, behind[0] & own, scale)
                     for edit, own in zip(smooth[1:], behind[1:], strict=True)], dtype=np.int64)  # fmt: skip


def _changed(
    original: npt.NDArray[np.float32], edit: npt.NDArray[np.float32], behind: npt.NDArray[np.bool_], scale: float
) -> int:
    inner = ndimage.binary_erosion(behind, iterations=_MARGIN, border_value=1)
    if inner.mean() < _LEAST:  # the person fills the picture
        return 0
    differs = np.abs(edit - original).max(axis=-1)[inner] > TOLERANCE
    return round(float(differs.sum()) * scale) if differs.mean() > SHARE else 0


@lru_cache(maxsize=1)
def segmenter() -> Segmenter:
    """Return the network that finds the background; it is loaded once a process."""
    return Segmenter()
