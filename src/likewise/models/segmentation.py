"""What is where in a portrait: background, hair, skin of the body, skin of the face, clothes, and others.

The network is MediaPipe's multi-class selfie segmenter (Google, 2023; Apache-2.0): a MobileNet with separable
self-attention in the middle, 256 x 256 px, RGB in [-1, 1]. "Skin of the face" includes eyes, brows and mouth; the tone
is read from it by medians (see tone), which those few pixels do not move.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image

from likewise.errors import SpecError
from likewise.models.batches import in_batches
from likewise.models.needs import licence_of
from likewise.models.recognisers.onnx import session
from likewise.plugins import Pictures
from likewise.weights import where

CLASSES = ("background", "hair", "body skin", "face skin", "clothes", "others")
SIDE = 256
Mask = npt.NDArray[np.bool_]


class Segmenter:
    """Says for each pixel of a picture which of the classes it belongs to."""

    name = "selfie-multiclass"

    def __init__(self, *, weights: str = "selfie-multiclass", device: str = "cpu", batch: int = 4) -> None:
        if batch < 1:
            raise SpecError("a batch has at least 1 picture", got=str(batch))
        self.licence = licence_of(weights)
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
            raise SpecError(f"a class is one of {CLASSES}", got=repr(name))
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
