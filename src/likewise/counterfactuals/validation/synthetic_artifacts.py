"""Synthetic artifacts: what goes wrong with edited faces, drawn on purpose, to train and to test the artifact detector.

Six kinds, each inside the mask of the edit and with random place, size and form: patches of a wrong color, a ghost (a
moved copy shows through), a double feature (mouth, eye, brow or nose twice), a seam, blur, and a wrong tone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import ndimage

Picture = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
Rng = np.random.Generator
_COLORS = ((40, 200, 60), (200, 40, 200), (60, 80, 220), (230, 200, 40), (30, 180, 190), (220, 40, 40))
_FEATURES = (  # height and width of the center in the mask's box, and the radii
    (0.76, 0.50, 0.075, 0.20),
    (0.42, 0.30, 0.06, 0.14),
    (0.42, 0.70, 0.06, 0.14),
    (0.34, 0.30, 0.05, 0.15),
    (0.34, 0.70, 0.05, 0.15),
    (0.60, 0.50, 0.07, 0.13),
)


TRIES, LEAST_AREA, LEAST_CHANGE = 6, 0.02, 6
"""What changes less than so much of the mask by so many bytes is drawn again: a copied eye may land on hair."""


def add_artifact(kind: str, edit: Picture, mask: Mask, rng: Rng) -> Picture:
    """Return an edited picture ``[H, W, 3]`` with one artifact of this kind inside the mask ``[H, W]``."""
    own = edit.astype(np.float32)
    for _ in range(TRIES):
        made = np.clip(np.rint(ARTIFACTS[kind](own, mask, rng)), 0, 255)
        if np.quantile(np.abs(made - own)[mask].max(axis=-1), 1 - LEAST_AREA) >= LEAST_CHANGE:
            break
    return made.astype(np.uint8)


def _box(mask: Mask) -> tuple[int, int, int, int]:
    rows, columns = np.nonzero(mask)
    return int(rows.min()), int(columns.min()), int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1


def _blended(edit: Floats, other: Floats, weight: Floats) -> Floats:
    return np.asarray(edit * (1 - weight[..., None]) + other * weight[..., None])


def _soft(mask: Mask, width: float) -> Floats:
    return np.asarray(ndimage.gaussian_filter(mask.astype(np.float32), width) * mask)


def _grid(mask: Mask) -> tuple[Floats, Floats]:
    y, x = np.mgrid[: mask.shape[0], : mask.shape[1]].astype(np.float32)
    return y, x


def _warped(edit: Floats, mask: Mask, move: tuple[float, float], *, zoom: float = 1, turn: float = 0) -> Floats:
    """Move the picture, and enlarge and turn it about the middle of the mask."""
    top, left, high, wide = _box(mask)
    middle = np.array([top + high / 2, left + wide / 2])
    back = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) / zoom
    offset = middle - back @ (middle + np.asarray(move))
    planes = [
        ndimage.affine_transform(edit[..., k], back, offset, order=1, mode="nearest") for k in range(edit.shape[-1])
    ]
    return np.stack(planes, axis=-1)


def _half(mask: Mask, rng: Rng, *, beyond: float) -> Mask:
    """Return the part of the mask on one side of a straight line at random."""
    angle, (rows, columns) = rng.uniform(0, 2 * np.pi), np.nonzero(mask)
    y, x = _grid(mask)
    across = (y - np.median(rows)) * np.sin(angle) + (x - np.median(columns)) * np.cos(angle)
    return np.asarray(mask & (across > beyond * _box(mask)[2]))


def _patch(edit: Floats, mask: Mask, rng: Rng) -> Floats:
    """Color one spot or several: an ellipse, its border bent, sharp or soft."""
    color = np.array(_COLORS[rng.integers(len(_COLORS))], np.float32) + rng.uniform(-20, 20, 3).astype(np.float32)
    for _ in range(rng.integers(1, 3)):
        weight = _spot(mask, rng) * np.float32(rng.uniform(0.35, 0.75))
        edit = _blended(edit, np.broadcast_to(color, edit.shape), weight)
    return edit


def _spot(mask: Mask, rng: Rng) -> Floats:
    rows, columns = np.nonzero(mask)
    at, radius = rng.integers(len(rows)), rng.uniform(0.06, 0.15) * _box(mask)[2]
    y, x = _grid(mask)
    turn, long = rng.uniform(0, np.pi), rng.uniform(1, 1.8)
    dy, dx = y - rows[at], x - columns[at]
    along, across = dy * np.sin(turn) + dx * np.cos(turn), dy * np.cos(turn) - dx * np.sin(turn)
    bent = 1 + rng.uniform(0, 0.3) * np.sin(rng.integers(2, 6) * np.arctan2(dy, dx) + rng.uniform(0, 6))
    inside = (radius * bent - np.hypot(along / long, across)) / rng.uniform(1, 0.6 * radius + 1) + 0.5
    return np.asarray(np.clip(inside, 0, 1) * mask, dtype=np.float32)


def _ghost(edit: Floats, mask: Mask, rng: Rng) -> Floats:
    """Let a copy show through that is moved, and sometimes enlarged, turned or mirrored."""
    angle, far = rng.uniform(0, 2 * np.pi), rng.uniform(0.05, 0.13) * _box(mask)[2]
    move = (far * np.sin(angle), far * np.cos(angle))
    odd = rng.random() < 0.4
    source = edit[:, ::-1] if rng.random() < 0.15 else edit
    zoom, turn = (rng.uniform(0.85, 1.2), rng.uniform(-0.2, 0.2)) if odd else (1.0, 0.0)
    shown = _soft(mask, 2) if rng.random() < 0.7 else _soft(_half(mask, rng, beyond=rng.uniform(-0.3, 0.1)), 3)
    return _blended(edit, _warped(source, mask, move, zoom=zoom, turn=turn), shown * np.float32(rng.uniform(0.3, 0.55)))


def _double(edit: Floats, mask: Mask, rng: Rng) -> Floats:
    """Copy a feature of the face to a place beside it."""
    top, left, high, wide = _box(mask)
    down, right, tall, broad = _FEATURES[rng.choice(len(_FEATURES), p=(0.34, 0.18, 0.18, 0.08, 0.08, 0.14))]
    center = (top + (down + rng.uniform(-0.03, 0.03)) * high, left + (right + rng.uniform(-0.03, 0.03)) * wide)
    size = rng.uniform(0.85, 1.25)
    radii = (tall * high * size, broad * wide * size)
    move = _beside(rng, high, wide)
    y, x = _grid(mask)
    reach = np.hypot((y - center[0] - move[0]) / radii[0], (x - center[1] - move[1]) / radii[1])
    weight = np.clip((1.3 - reach) / rng.uniform(0.1, 0.4), 0, 1) * mask * rng.uniform(0.65, 1)
    return _blended(edit, _warped(edit, mask, move), weight.astype(np.float32))


def _beside(rng: Rng, high: int, wide: int) -> tuple[float, float]:
    """Return a move: mostly up or down, sometimes aslant."""
    far = rng.uniform(0.1, 0.17) * high
    aside = rng.uniform(-0.05, 0.05) if rng.random() < 0.7 else rng.uniform(-0.2, 0.2)
    return float(rng.choice([-1, 1]) * far), float(aside * wide)


def _seam(edit: Floats, mask: Mask, rng: Rng) -> Floats:
    """Make a step of brightness or color along a contour of the mask, a line or a corner, or draw the line itself."""
    high = _box(mask)[2]
    if rng.random() < 0.5:
        side = ndimage.distance_transform_edt(mask) > rng.uniform(1, 0.09 * high + 1.5)
    else:
        side = _half(mask, rng, beyond=rng.uniform(-0.25, 0.25))
        side = side & _half(mask, rng, beyond=rng.uniform(-0.3, 0)) if rng.random() < 0.3 else side
    colored = rng.uniform(0.5, 1, 3) if rng.random() < 0.8 else rng.uniform(-0.6, 1, 3)
    step = rng.choice([-1, 1]) * rng.uniform(12, 28) * colored / max(np.abs(colored).max(), 0.9)
    if rng.random() < 0.15:
        inner = ndimage.binary_erosion(side, iterations=int(rng.integers(2, 4)))
        side, step = side & ~inner, step * 1.6
    return np.asarray(edit + (side[..., None] * step).astype(np.float32))


def _blur(edit: Floats, mask: Mask, rng: Rng) -> Floats:
    """Blur all of the skin or one side of it: evenly, along one axis, or by a median."""
    width = rng.uniform(0.006, 0.02) * _box(mask)[2]
    way = rng.random()
    if way < 0.6:
        blurred = ndimage.gaussian_filter(edit, (width, width, 0))
    elif way < 0.8:
        blurred = ndimage.uniform_filter(edit, (max(3, round(3.4 * width)),) * 2 + (1,))
    else:
        blurred = ndimage.median_filter(edit, size=(2 * round(1.6 * width) + 1,) * 2 + (1,))
    shown = _soft(mask, 2) if rng.random() < 0.8 else _soft(_half(mask, rng, beyond=rng.uniform(-0.3, 0)), 3)
    return _blended(edit, blurred, shown)


def _tone(edit: Floats, mask: Mask, rng: Rng) -> Floats:
    """Tint the skin: add a color that is far from gray, or multiply by one."""
    tint = rng.normal(size=3)
    tint -= tint.mean()
    tint *= rng.uniform(18, 40) / np.linalg.norm(tint)
    gray = rng.uniform(-12, 12)
    change = tint + gray if rng.random() < 0.6 else edit / 140 * (tint + gray)
    return np.asarray(edit + _soft(mask, 3)[..., None] * np.asarray(change, np.float32))


ARTIFACTS: dict[str, Callable[[Floats, Mask, Rng], Floats]] = {
    "color patch": _patch,
    "ghost": _ghost,
    "double feature": _double,
    "seam": _seam,
    "blur": _blur,
    "wrong tone": _tone,
}
"""By kind: how it is drawn."""
