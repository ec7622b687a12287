"""Synthetic artifacts: what goes wrong with edited faces, drawn on purpose, to train and to test the artifact detector.

Six kinds, each inside the mask of the edit and with random place and size: a patch of a wrong color, a ghost (a shifted
copy shows through), a double feature (mouth or eye twice), a seam, blur, and a wrong tone of the whole skin.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import ndimage

Picture = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Rng = np.random.Generator
_COLORS = ((40, 200, 60), (200, 40, 200), (60, 80, 220), (230, 200, 40))
_TINTS = ((25, -10, 10), (10, 10, -30), (-20, 10, -5), (-5, -5, 30), (20, -15, 25))


def add_artifact(kind: str, edit: Picture, mask: Mask, rng: Rng) -> Picture:
    """Return an edited picture ``[H, W, 3]`` with one artifact of this kind inside the mask ``[H, W]``."""
    made = ARTIFACTS[kind](edit.astype(np.float64), mask, rng)
    return np.clip(np.rint(made), 0, 255).astype(np.uint8)


def _box(mask: Mask) -> tuple[int, int, int, int]:
    rows, columns = np.nonzero(mask)
    return int(rows.min()), int(columns.min()), int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1


def _blended(edit: Floats, other: Floats, weight: Floats) -> Floats:
    return np.asarray(edit * (1 - weight[..., None]) + other * weight[..., None])


def _soft(mask: Mask, width: float) -> Floats:
    return np.asarray(ndimage.gaussian_filter(mask.astype(float), width) * mask)


def _patch(edit: Floats, mask: Mask, rng: Rng) -> Floats:
    rows, columns = np.nonzero(mask)
    at, radius = rng.integers(len(rows)), rng.uniform(0.06, 0.14) * _box(mask)[2]
    y, x = np.mgrid[: mask.shape[0], : mask.shape[1]]
    inside = (radius - np.hypot(y - rows[at], x - columns[at])) / rng.uniform(1, 0.6 * radius + 1) + 0.5
    weight = np.clip(inside, 0, 1) * mask * rng.uniform(0.35, 0.7)
    return _blended(edit, np.broadcast_to(np.array(_COLORS[rng.integers(4)], float), edit.shape), weight)


def _ghost(edit: Floats, mask: Mask, rng: Rng) -> Floats:
    angle, far = rng.uniform(0, 2 * np.pi), rng.uniform(0.05, 0.12) * _box(mask)[2]
    moved = ndimage.shift(edit, (far * np.sin(angle), far * np.cos(angle), 0), order=1, mode="nearest")
    return _blended(edit, moved, _soft(mask, 2) * rng.uniform(0.3, 0.5))


def _double(edit: Floats, mask: Mask, rng: Rng) -> Floats:
    """Copy the mouth up or down, or an eye down."""
    top, left, high, wide = _box(mask)
    if rng.random() < 0.5:
        center, radii = (top + 0.76 * high, left + wide / 2), (0.07 * high, 0.2 * wide)
        move = (rng.choice([-1, 1]) * rng.uniform(0.1, 0.15) * high, 0.0)
    else:
        center = (top + 0.42 * high, left + wide / 2 + rng.choice([-1, 1]) * 0.2 * wide)
        radii, move = (0.06 * high, 0.14 * wide), (rng.uniform(0.1, 0.15) * high, rng.uniform(-0.05, 0.05) * wide)
    moved = ndimage.shift(edit, (*move, 0), order=1, mode="nearest")
    y, x = np.mgrid[: mask.shape[0], : mask.shape[1]]
    reach = np.hypot((y - center[0] - move[0]) / radii[0], (x - center[1] - move[1]) / radii[1])
    return _blended(edit, moved, np.clip((1.3 - reach) / 0.3, 0, 1) * mask * rng.uniform(0.7, 1))


def _seam(edit: Floats, mask: Mask, rng: Rng) -> Floats:
    """Brighten or darken one side of a contour of the mask, or of a straight line."""
    high = _box(mask)[2]
    if rng.random() < 0.6:
        side = ndimage.distance_transform_edt(mask) > rng.uniform(1, 0.06 * high + 1.5)
    else:
        angle, (rows, columns) = rng.uniform(0, np.pi), np.nonzero(mask)
        y, x = np.mgrid[: mask.shape[0], : mask.shape[1]]
        across = (y - np.median(rows)) * np.sin(angle) + (x - np.median(columns)) * np.cos(angle)
        side = mask & (across > rng.uniform(-0.2, 0.2) * high)
    step = rng.choice([-1, 1]) * rng.uniform(12, 25) * np.array([1, rng.uniform(0.6, 1), rng.uniform(0.6, 1)])
    return np.asarray(edit + side[..., None] * step)


def _blur(edit: Floats, mask: Mask, rng: Rng) -> Floats:
    width = rng.uniform(0.009, 0.02) * _box(mask)[2]
    return _blended(edit, ndimage.gaussian_filter(edit, (width, width, 0)), _soft(mask, 2))


def _tone(edit: Floats, mask: Mask, rng: Rng) -> Floats:
    tint = np.array(_TINTS[rng.integers(len(_TINTS))]) * rng.uniform(0.8, 1.4)
    return np.asarray(edit + _soft(mask, 3)[..., None] * tint)


ARTIFACTS: dict[str, Callable[[Floats, Mask, Rng], Floats]] = {
    "color patch": _patch,
    "ghost": _ghost,
    "double feature": _double,
    "seam": _seam,
    "blur": _blur,
    "wrong tone": _tone,
}
"""By kind: how it is drawn."""
