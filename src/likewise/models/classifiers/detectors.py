"""Face detectors as systems under audit: did they find a face, how many, and how sure were they?

The components ``dlib-detector``, ``yunet-detector`` and ``retinaface-detector`` have three labels for each image:
``face detected`` (1 or 0: its mean is the recall, where every image shows a face), ``several faces`` and ``detection
confidence``. They have no threshold: the values are averaged, so gaps are differences of the detection rate and slopes
show how it changes along an edit.
"""

from __future__ import annotations

import math

import numpy as np

from likewise.errors import SpecError
from likewise.models.detectors.detection import Detection
from likewise.models.detectors.registry import detector as _detector
from likewise.runtime.registry import Array, Pictures

DETECTED, SEVERAL, CONFIDENCE = "face detected", "several faces", "detection confidence"


class DetectorRater:
    """A face detector as a classifier of whole images."""

    threshold = math.nan
    unbounded = False
    """Whether its scores are margins, not probabilities; they are then squashed by the logistic function."""

    def __init__(self, *, detector: str, least: float = 0.0) -> None:
        if not 0 <= least < 1:
            raise SpecError(f"least is {least}", fix="Give the smallest confidence that counts, from 0 to below 1.")
        self.detector, self._least = detector, least
        self.name = f"{detector}-detector"
        self.license = _detector(detector).license

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return for each picture whether a face was detected, whether several were, and the largest confidence."""
        found = [self._confidences(_detector(self.detector).find(picture)) for picture in pictures]
        return {
            DETECTED: np.array([len(each) > 0 for each in found], np.float32),
            SEVERAL: np.array([len(each) > 1 for each in found], np.float32),
            CONFIDENCE: np.array([max(each, default=0.0) for each in found], np.float32),
        }

    def _confidences(self, found: list[Detection]) -> list[float]:
        scores = [face.score for face in found]
        sure = [1 / (1 + math.exp(-score)) if self.unbounded else min(max(score, 0.0), 1.0) for score in scores]
        return [each for each in sure if each >= self._least]


class DlibDetectorRater(DetectorRater):
    """The component ``dlib-detector``; ``least`` is the smallest confidence that counts as a detection."""

    unbounded = True

    def __init__(self, *, least: float = 0.0) -> None:
        super().__init__(detector="dlib", least=least)


class YuNetRater(DetectorRater):
    """The component ``yunet-detector``; ``least`` is the smallest confidence that counts as a detection."""

    def __init__(self, *, least: float = 0.0) -> None:
        super().__init__(detector="yunet", least=least)


class RetinaFaceRater(DetectorRater):
    """The component ``retinaface-detector``; ``least`` is the smallest confidence that counts as a detection."""

    def __init__(self, *, least: float = 0.0) -> None:
        super().__init__(detector="retinaface", least=least)
