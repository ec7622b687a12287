"""Non-maximum suppression: of boxes that overlap, the one with the highest score is kept."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from likewise.models.geometry import Floats


def non_maximum_suppression(boxes: Floats, scores: Floats, *, overlap: float = 0.4) -> list[int]:
    """Return the boxes to keep, highest score first.

    Parameters
    ----------
    boxes
        ``[n, 4]``: left, top, right, bottom.
    scores
        ``[n]``.
    overlap
        Boxes whose intersection over union with a better one is larger are dropped.

    Examples
    --------
    >>> boxes = np.array([[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30.0]])
    >>> non_maximum_suppression(boxes, np.array([0.8, 0.9, 0.7]))
    [1, 2]
    """
    left = np.argsort(-scores, kind="stable")
    kept: list[int] = []
    while len(left):
        first, left = int(left[0]), left[1:]
        kept.append(first)
        left = left[_intersection_over_union(boxes[first], boxes[left]) <= overlap]
    return kept


def _intersection_over_union(box: Floats, others: Floats) -> npt.NDArray[np.float64]:
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    shared = np.prod(np.clip(high - low, 0, None), axis=1)
    areas = [np.prod(each[..., 2:] - each[..., :2], axis=-1) for each in (box, others)]
    return np.asarray(shared / (areas[0] + areas[1] - shared))
