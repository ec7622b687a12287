"""The background of a portrait: did an edit of the whole picture change it?

An endpoint that edits whole pictures draws every pixel again, so no two bytes are equal. What is compared is the
background (in the original and in the edit, away from the person), at 256 pixels, slightly blurred: a pixel counts as
changed where a color differs by more than ``TOLERANCE``, a picture where that is more than ``SHARE`` of the background.
The yardstick is the endpoint's own round trip: what differs from the original but not from the reconstruction control
(the picture that was sent and returned without an edit) is what the endpoint does to every picture, and is no edit.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from likewise.models.perception.segmentation import CLASSES, SIDE, Segmenter, square
from likewise.runtime.registry import Pictures

SEGMENTER = "selfie-multiclass"
"""The weights of the network that finds the background."""
TOLERANCE = 24.0
"""Of 255: recompression and drawing again change a blurred color by less."""
SHARE = 0.05
"""Share of the background that may differ: hair and shoulders of another shape uncover some of it."""
_MARGIN, _BLUR, _LEAST = 6, 1.5, 0.02  # pixels around the person; sigma; share of the picture that is background


def background_changed(original: Pictures, edits: Pictures, control: Pictures | None = None) -> npt.NDArray[np.int64]:
    """Return for each edit how many pixels of the original's background changed; 0 where it is within tolerance.

    ``control`` is the reconstruction: the original as the endpoint returns it without an edit.
    """
    known = [original] if control is None else [original, control]
    every = np.stack([square(picture) for picture in (*known, *edits)])
    behind = segmenter().classes(every) == CLASSES.index("background")
    smooth = ndimage.gaussian_filter(every.astype(np.float32), (0, _BLUR, _BLUR, 0))
    scale = original.shape[0] * original.shape[1] / SIDE**2
    pairs = zip(smooth[len(known) :], behind[len(known) :], strict=True)
    return np.array([_changed(smooth[: len(known)], edit, behind[0] & own, scale) for edit, own in pairs], np.int64)


def _changed(
    known: npt.NDArray[np.float32], edit: npt.NDArray[np.float32], behind: npt.NDArray[np.bool_], scale: float
) -> int:
    """Count the pixels that differ from the original and from the control."""
    inner = ndimage.binary_erosion(behind, iterations=_MARGIN, border_value=1)
    if inner.mean() < _LEAST:  # the person fills the picture
        return 0
    differs = (np.abs(edit - known).max(axis=-1)[:, inner] > TOLERANCE).all(axis=0)
    return round(float(differs.sum()) * scale) if differs.mean() > SHARE else 0


@lru_cache(maxsize=1)
def segmenter() -> Segmenter:
    """Return the network that finds the background; it is loaded once a process."""
    return Segmenter(weights=SEGMENTER)
