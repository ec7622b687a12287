"""Headwear from the segmentation: what is above the eyes, is worn, and is neither skin nor hair.

No network here was trained to name hats. The segmenter's classes *others* and *clothes* cover caps, hats, scarves and
hoods, so the share of the head above the brows that they take is a reading of them. On half of a pool of photographs it
agrees with people's label *Wearing_Hat* (``benchmarks/balance_pool.py``; docs/matching.md).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from likewise.models.detectors.detection import Detection
from likewise.models.perception.glasses import eye_line
from likewise.models.perception.segmentation import CLASSES, SIDE

_WORN = [CLASSES.index(name) for name in ("others", "clothes")]
_BACKGROUND = CLASSES.index("background")
_BROW, _CROWN, _HALF = 0.4, 2.0, 0.75  # from the line of the eyes up, and to each side, in widths of the eyes


def headwear_share(classes: npt.NDArray[np.uint8], face: Detection, scheme: str, shape: tuple[int, ...]) -> float:
    """Return which share of the head above the brows is covered by something worn; ``classes [256, 256]``."""
    middle, width = eye_line(face, scheme, shape)
    rows = np.clip(np.round(middle[1] - np.array([_CROWN, _BROW]) * width), 0, SIDE).astype(int)
    columns = np.clip(np.round(middle[0] + np.array([-_HALF, _HALF]) * width), 0, SIDE).astype(int)
    above = classes[slice(*rows), slice(*columns)]
    head = above[above != _BACKGROUND]
    return float(np.isin(head, _WORN).mean()) if head.size else 0.0
