"""YuNet: a detector of 76 thousand parameters that gives boxes and five landmarks, run by onnxruntime.

Wu, Peng and Yu, "YuNet: A Tiny Millisecond-level Face Detector", Machine Intelligence Research 2023. The weights are
those of OpenCV Zoo (2023mar). The output is decoded as OpenCV's FaceDetectorYN does it: one place a cell of 8, 16 and
32 pixels, its score the geometric mean of class and objectness.
"""

from __future__ import annotations

import numpy as np

from likewise.models.detectors.detection import Detection, detect_at_sizes
from likewise.models.detectors.overlap import non_maximum_suppression
from likewise.models.geometry import Floats, Picture, resized
from likewise.models.recognizers.onnx import session
from likewise.weights import where
from likewise.weights.licenses import license_of

STRIDES = (8, 16, 32)
_OUTPUTS = tuple(f"{part}_{stride}" for part in ("cls", "obj", "bbox", "kps") for stride in STRIDES)


class YuNetDetector:
    """Detects faces of about 10 to 300 pixels; an image is resized, and once more if no face is detected."""

    name, scheme = "yunet", "centers"

    def __init__(
        self,
        *,
        weights: str = "yunet",
        sides: tuple[int, ...] = (320, 640),
        confidence: float = 0.7,
        device: str = "cpu",
    ) -> None:
        self.license = license_of(weights)
        self._sides, self._confidence = sides, confidence
        self._session = session(str(where(weights)), device)

    def find(self, picture: Picture) -> list[Detection]:
        """Return all faces of an image, highest score first."""
        return detect_at_sizes(self._at, picture, self._sides)

    def _at(self, picture: Picture, side: int) -> list[Detection]:
        small = resized(picture, side)
        height, width = small.shape[:2]
        scores, boxes, points = self._decoded(small)
        kept = non_maximum_suppression(boxes, scores, overlap=0.3)
        factor = np.array([picture.shape[1] / width, picture.shape[0] / height])
        return [_detection(boxes[k], points[k], float(scores[k]), factor) for k in kept]

    def _decoded(self, picture: Picture) -> tuple[Floats, Floats, Floats]:
        """Return scores ``[n]``, boxes ``[n, 4]`` and landmarks ``[n, 5, 2]`` above the confidence, in pixels."""
        given = _padded(picture)  # [1, 3, H, W], BGR from 0 to 255
        answers = self._session.run(list(_OUTPUTS), {self._session.get_inputs()[0].name: given})
        raw = {name: answer[0].astype(np.float64) for name, answer in zip(_OUTPUTS, answers, strict=True)}
        parts = [_cells(raw, stride, given.shape[3] // stride) for stride in STRIDES]
        scores, boxes, points = (np.concatenate(part) for part in zip(*parts, strict=True))
        sure = scores > self._confidence
        return scores[sure], boxes[sure], points[sure]


def _padded(picture: Picture) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Pad with black to the right and below, to a multiple of the largest stride."""
    height, width = picture.shape[:2]
    below, right = -height % STRIDES[-1], -width % STRIDES[-1]
    bgr = np.pad(picture[..., ::-1], ((0, below), (0, right), (0, 0)))
    return np.ascontiguousarray(np.moveaxis(bgr.astype(np.float32), -1, 0)[None])


def _cells(raw: dict[str, Floats], stride: int, columns: int) -> tuple[Floats, Floats, Floats]:
    """Decode the cells of one stride, row by row."""
    number = np.arange(len(raw[f"cls_{stride}"]))
    corner = np.stack([number % columns, number // columns], axis=1)  # [n, 2]: x, y of the cell
    score = np.sqrt(np.clip(raw[f"cls_{stride}"], 0, 1) * np.clip(raw[f"obj_{stride}"], 0, 1))[:, 0]
    box = raw[f"bbox_{stride}"]
    center, half = (corner + box[:, :2]) * stride, np.exp(np.clip(box[:, 2:], -20, 20)) * stride / 2
    points = (raw[f"kps_{stride}"].reshape(-1, 5, 2) + corner[:, None]) * stride
    return score, np.concatenate([center - half, center + half], axis=1), points


def _detection(box: Floats, points: Floats, score: float, factor: Floats) -> Detection:
    left, top, right, bottom = (float(number) for number in box * np.tile(factor, 2))
    return Detection((left, top, right, bottom), points * factor - 0.5, score)  # pixel centers at whole numbers
