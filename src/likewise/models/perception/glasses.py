"""Eyeglasses from the segmentation: what is on the band of the eyes and is neither skin nor hair.

No network here was trained to name eyeglasses. The segmenter's class *others* (things that are worn) covers their
lenses and frames, so the share of the eyes' band that it takes is a reading of them. How well it agrees with people's
labels is measured by ``benchmarks/directions.py labels``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from likewise.models.detectors.detection import Detection
from likewise.models.perception.segmentation import CLASSES, SIDE

WORN = 0.02
"""Share of the band from which eyeglasses count as worn."""
_OTHERS = CLASSES.index("others")
_WIDER = {"corners": 1.0, "centers": 1.6}  # width of the eyes, in distances between their outermost points
_ABOVE, _BELOW = 0.15, 0.30  # of the band's width, from the line of the eyes
_EYES = {"corners": (0, 1, 2, 3), "centers": (0, 1)}


def worn_share(classes: npt.NDArray[np.uint8], face: Detection, scheme: str, shape: tuple[int, ...]) -> float:
    """Return which share of the band of a face's eyes shows something worn; ``classes [256, 256]`` of its picture."""
    middle, width = eye_line(face, scheme, shape)
    half = width / 2
    left, right = middle[0] - half, middle[0] + half
    top, bottom = middle[1] - 2 * half * _ABOVE, middle[1] + 2 * half * _BELOW
    rows = slice(*np.clip([round(top), round(bottom) + 1], 0, SIDE).astype(int))
    columns = slice(*np.clip([round(left), round(right) + 1], 0, SIDE).astype(int))
    band = classes[rows, columns]
    return float((band == _OTHERS).mean()) if band.size else 0.0


def eye_line(face: Detection, scheme: str, shape: tuple[int, ...]) -> tuple[npt.NDArray[np.float64], float]:
    """Return the middle of the eyes ``(x, y)`` and their width at the outer corners, in pixels of the segmentation."""
    scale = np.array([SIDE / shape[1], SIDE / shape[0]])
    eyes = np.asarray(face.points, dtype=np.float64)[list(_EYES[scheme])] * scale
    return eyes.mean(axis=0), float(np.ptp(eyes[:, 0])) * _WIDER[scheme]
