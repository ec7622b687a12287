"""What is where in a portrait: background, hair, skin of the body, skin of the face, clothes, and others.

The network is MediaPipe's multi-class selfie segmenter (Google, 2023; Apache-2.0): a MobileNet with separable
self-attention in the middle, 256 x 256 px, RGB in [-1, 1]. "Skin of the face" includes eyes, brows and mouth; the tone
is read from it by medians (see tone), which those few pixels do not move.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy import ndimage

from likewise.errors import SpecError, some
from likewise.models.recognizers.onnx import session
from likewise.runtime.registry import Pictures
from likewise.runtime.threads import in_batches
from likewise.weights import where
from likewise.weights.licenses import license_of

CLASSES = ("background", "hair", "body skin", "face skin", "clothes", "others")
SIDE = 256
Mask = npt.NDArray[np.bool_]


class Segmenter:
    """Says for each pixel of a picture which of the classes it belongs to."""

    name = "selfie-multiclass"

    def __init__(self, *, weights: str = "selfie-multiclass", device: str = "cpu", batch: int = 4) -> None:
        if batch < 1:
            raise SpecError(f"batch is {batch}; it must be at least 1")
        self.license = license_of(weights)
        self._session, self._batch = session(str(where(weights)), device), batch

    def classes(self, pictures: Pictures) -> npt.NDArray[np.uint8]:
        """Return the number of each pixel's class, ``[n, 256, 256]``; pictures of another shape are stretched."""
        parts = in_batches(self._classes, pictures, self._batch)
        return np.concatenate([np.zeros((0, SIDE, SIDE), np.uint8), *parts])

    def _classes(self, pictures: Pictures) -> npt.NDArray[np.uint8]:
        squares = np.stack([square(picture) for picture in pictures])
        signals = squares.astype(np.float32) / np.float32(127.5) - np.float32(1)
        logits = self._session.run(["classes"], {self._session.get_inputs()[0].name: signals})[0]
        numbers: npt.NDArray[np.uint8] = logits.argmax(axis=-1).astype(np.uint8)
        return numbers

    def masks(self, pictures: Pictures, name: str) -> Mask:
        """Return where the pictures show this class, ``[n, 256, 256]``."""
        if name not in CLASSES:
            raise SpecError(f"Unknown class {name!r}", fix=f"Choose one of {some(CLASSES, 8)}.")
        mine: Mask = self.classes(pictures) == CLASSES.index(name)
        return mine


def square(picture: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the picture at the segmenter's size."""
    return resized_to(picture, SIDE)


def resized_to(picture: npt.NDArray[np.uint8], side: int) -> npt.NDArray[np.uint8]:
    """Return the picture as a square of ``side`` pixels, averaged where it shrinks."""
    if picture.shape[:2] == (side, side):
        return picture
    return np.asarray(Image.fromarray(picture).resize((side, side), Image.Resampling.BILINEAR, reducing_gap=2.0))


def one_piece(mask: Mask, *, near: tuple[float, float] | None = None) -> Mask:
    """Return the one connected piece of the mask that is meant: the nearest to ``(x, y)``, or the largest."""
    pieces, count = ndimage.label(mask)
    if count < 2:
        return mask
    if near is None:
        sizes = ndimage.sum_labels(mask, pieces, range(1, count + 1))
        return np.asarray(pieces == 1 + int(np.argmax(sizes)))
    spots = ndimage.distance_transform_edt(~mask, return_distances=False, return_indices=True)
    row = int(np.clip(round(near[1]), 0, mask.shape[0] - 1))
    column = int(np.clip(round(near[0]), 0, mask.shape[1] - 1))
    return np.asarray(pieces == pieces[tuple(spots[:, row, column])])
