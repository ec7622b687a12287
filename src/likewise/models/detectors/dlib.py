"""dlib's face detector."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from likewise.models.detectors.detection import Detection, detect_at_sizes
from likewise.models.geometry import Picture, resized
from likewise.runtime.optional import require
from likewise.weights import where
from likewise.weights.licenses import license_of


class DlibDetector:
    """dlib's detector (histograms of gradients) and its five-point predictor.

    King, "Dlib-ml", JMLR 2009; Kazemi and Sullivan, "One millisecond face alignment", CVPR 2014. The detector knows
    faces of 80 pixels and more, so images are resized first. An image without a detected face is
    searched once more at a larger size.
    """

    name, scheme = "dlib", "corners"

    def __init__(self, *, weights: str = "dlib-landmarks-5", sides: tuple[int, ...] = (400, 800)) -> None:
        dlib = require("dlib", "faces")
        self.license = license_of(weights)
        self._sides = sides
        self._detectors = threading.local()  # a detector keeps its image, so each thread has its own
        self._detector = dlib.get_frontal_face_detector
        self._predict = dlib.shape_predictor(str(where(weights)))

    def find(self, picture: Picture) -> list[Detection]:
        """Return all faces of an image."""
        return detect_at_sizes(self._at, picture, self._sides)

    def _at(self, picture: Picture, side: int) -> list[Detection]:
        small = np.ascontiguousarray(resized(picture, side))
        factor = (picture.shape[1] / small.shape[1], picture.shape[0] / small.shape[0])
        if not hasattr(self._detectors, "mine"):
            self._detectors.mine = self._detector()
        boxes, scores, _ = self._detectors.mine.run(small, 0, 0.0)
        return [self._face(small, box, score, factor) for box, score in zip(boxes, scores, strict=True)]

    def _face(self, picture: Picture, box: Any, score: float, factor: tuple[float, float]) -> Detection:
        parts = self._predict(picture, box).parts()
        points = (np.array([(part.x, part.y) for part in parts], dtype=np.float64) + 0.5) * factor - 0.5
        x, y = factor
        return Detection((box.left() * x, box.top() * y, box.right() * x, box.bottom() * y), points, float(score))
