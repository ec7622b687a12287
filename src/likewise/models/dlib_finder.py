"""dlib's finder of faces."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from likewise.models.found import Found, at_first_sight
from likewise.models.geometry import Picture, resized
from likewise.models.needs import licence_of, needed
from likewise.weights import where


class DlibFinder:
    """dlib's detector (histograms of gradients) and its five-point predictor.

    King, "Dlib-ml", JMLR 2009; Kazemi and Sullivan, "One millisecond face alignment", CVPR 2014. The detector knows
    faces of 80 pixels and more, so pictures are first brought to so many pixels: photographs down, thumbnails up. A
    picture in which nothing is found is looked at once more, larger.
    """

    name, scheme = "dlib", "corners"

    def __init__(self, *, weights: str = "dlib-landmarks-5", sides: tuple[int, ...] = (400, 800)) -> None:
        dlib = needed("dlib", "faces")
        self.licence = licence_of(weights)
        self._sides = sides
        self._detectors = threading.local()  # a detector keeps the picture it looks at, so each thread has its own
        self._detector = dlib.get_frontal_face_detector
        self._predict = dlib.shape_predictor(str(where(weights)))

    def find(self, picture: Picture) -> list[Found]:
        """Return all faces of a picture."""
        return at_first_sight(self._at, picture, self._sides)

    def _at(self, picture: Picture, side: int) -> list[Found]:
        looked_at = np.ascontiguousarray(resized(picture, side))
        factor = (picture.shape[1] / looked_at.shape[1], picture.shape[0] / looked_at.shape[0])
        if not hasattr(self._detectors, "mine"):
            self._detectors.mine = self._detector()
        boxes, scores, _ = self._detectors.mine.run(looked_at, 0, 0.0)
        return [self._face(looked_at, box, score, factor) for box, score in zip(boxes, scores, strict=True)]

    def _face(self, picture: Picture, box: Any, score: float, factor: tuple[float, float]) -> Found:
        parts = self._predict(picture, box).parts()
        points = (np.array([(part.x, part.y) for part in parts], dtype=np.float64) + 0.5) * factor - 0.5
        x, y = factor
        return Found((box.left() * x, box.top() * y, box.right() * x, box.bottom() * y), points, float(score))
