"""What goes wrong with edited faces, in many forms, to train the artifact validator with.

Half of the time the forms of ``synthetic_artifacts``; otherwise regions of any shape (a half, a rectangle, an ellipse,
a blob, all but a rim) that are exposed, tinted or painted otherwise, copies of the same or of another face, features
pasted anywhere or missing, noise and blocks. All stay inside the mask. Figures are measured with artifacts by other
code (``other_artifacts``), whose forms and ranges are its own.
"""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy import ndimage

from likewise.counterfactuals.validation.synthetic_artifacts import ARTIFACTS

Picture = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
Rng = np.random.Generator
SHARES = {
    "color patch": 0.08, "ghost": 0.16, "double feature": 0.31, "seam": 0.21, "blur": 0.1, "wrong tone": 0.05,
    "noise": 0.05, "missing feature": 0.04,
}  # fmt: skip
"""How often each kind is planted: the hard ones more often."""
DOUBLE, LOCATED = "double feature", 0.7
"""How often a doubled feature is taken from where it was detected, instead of from where it is in most faces."""
TRIES, LEAST_AREA, LEAST_CHANGE = 6, 0.015, 6
"""What changes less than so much of the mask by so many bytes is drawn again."""
_FEATURES = np.array(  # height and width of the center in the mask's box, and the radii
    [(0.77, 0.5, 0.08, 0.2), (0.43, 0.3, 0.06, 0.14), (0.43, 0.7, 0.06, 0.14), (0.35, 0.3, 0.05, 0.15),
     (0.35, 0.7, 0.05, 0.15), (0.6, 0.5, 0.08, 0.13)]
)  # fmt: skip


def plant(kind: str, edit: Picture, mask: Mask, other: Picture, rng: Rng, *, points: Floats | None = None) -> Picture:
    """Return an edit ``[H, W, 3]`` with one artifact inside the mask.

    ``other`` is another face in the same frame; ``points`` are the edit's eyes, nose and corners of the mouth.
    """
    own = edit.astype(np.float32)
    located = points is not None and np.isfinite(points).all()
    for _ in range(TRIES):
        known = kind in ARTIFACTS and (kind not in FORMS or rng.random() < 0.4)
        if kind == DOUBLE and located and rng.random() < LOCATED:
            made = _doubled(own, mask, np.asarray(points), rng)
        else:
            made = ARTIFACTS[kind](own, mask, rng) if known else FORMS[kind](own, mask, other.astype(np.float32), rng)
        made = np.where(mask[..., None], np.clip(np.rint(made), 0, 255), own)
        if np.quantile(np.abs(made - own)[mask].max(axis=-1), 1 - LEAST_AREA) >= LEAST_CHANGE:
            break
    return made.astype(np.uint8)


def _box(mask: Mask) -> tuple[int, int, int, int]:
    rows, columns = np.nonzero(mask)
    return int(rows.min()), int(columns.min()), int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1


def _turned(mask: Mask, center: tuple[float, float], angle: float) -> tuple[Floats, Floats]:
    """Return coordinates along and across an angle, from a center."""
    y, x = np.mgrid[: mask.shape[0], : mask.shape[1]].astype(np.float32)
    dy, dx = y - np.float32(center[0]), x - np.float32(center[1])
    cos, sin = np.float32(np.cos(angle)), np.float32(np.sin(angle))
    return dy * sin + dx * cos, dy * cos - dx * sin


def region(mask: Mask, rng: Rng, *, large: bool) -> Mask:
    """Return a part of the mask: a blob, an ellipse or a rectangle; if large also a half, or all but a rim."""
    rows, columns = np.nonzero(mask)
    at, high = rng.integers(len(rows)), float(np.ptp(rows))
    center = (float(rows[at]), float(columns[at]))
    way, angle = rng.random(), rng.uniform(0, 2 * np.pi)
    if large and way < 0.25:
        depth = ndimage.distance_transform_edt(mask)
        return np.asarray(depth > rng.uniform(0.005, 0.09) * high + 1)
    along, across = _turned(mask, center, angle if rng.random() < 0.5 else np.pi / 2 * int(rng.integers(4)))
    if large and way < 0.5:
        return np.asarray(mask & (along > 0))
    size = rng.uniform(0.14, 0.4) * high if large else rng.uniform(0.045, 0.13) * high
    flat = rng.uniform(0.5, 1)
    if way < 0.75:
        return np.asarray(mask & (np.abs(along) < size) & (np.abs(across) < flat * size))
    bent = 1 + rng.uniform(0, 0.35) * np.sin(rng.integers(2, 7) * np.arctan2(across, along) + rng.uniform(0, 6))
    return np.asarray(mask & (np.hypot(along, across / flat) < size * bent))


def _weight(part: Mask, softness: float) -> Floats:
    return ndimage.gaussian_filter(part.astype(np.float32), softness)[..., None]


def _blended(edit: Floats, other: npt.ArrayLike, weight: npt.ArrayLike) -> Floats:
    return np.asarray(edit * (1 - np.asarray(weight)) + np.asarray(other) * np.asarray(weight), dtype=np.float32)


def _patch(edit: Floats, mask: Mask, other: Floats, rng: Rng) -> Floats:
    """Color a spot in any hue: flat, or with the light of the skin under it."""
    hue = Image.new("HSV", (1, 1), (int(rng.integers(256)), int(rng.integers(110, 256)), 255)).convert("RGB")
    color = np.asarray(hue.getpixel((0, 0)), np.float32)
    light = edit.max(axis=-1, keepdims=True) / 255 if rng.random() < 0.6 else np.float32(rng.uniform(0.3, 1))
    weight = _weight(region(mask, rng, large=False), rng.uniform(0.3, 3)) * rng.uniform(0.35, 0.95)
    return _blended(edit, color * light, weight)


def _seam(edit: Floats, mask: Mask, other: Floats, rng: Rng) -> Floats:
    """Expose or tint one part otherwise; its border is sharp."""
    factor = rng.uniform(0.75, 0.9) if rng.random() < 0.5 else rng.uniform(1.1, 1.28)
    way = rng.random()
    if way < 0.65:
        changed = edit * np.float32(factor)
    elif way < 0.8:
        changed = 255 * np.power(np.clip(edit, 0, 255) / 255, np.float32(factor**-1.6))
    else:
        changed = edit * np.asarray(1 + rng.choice([-1, 1]) * rng.uniform(0.04, 0.2, 3), np.float32)
    return _blended(edit, changed, _weight(region(mask, rng, large=True), rng.uniform(0.2, 0.9)))


def _moved(edit: Floats, move: tuple[float, float], center: tuple[float, float], zoom: float, turn: float) -> Floats:
    back = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) / zoom
    offset = np.asarray(center) - back @ (np.asarray(center) + np.asarray(move))
    planes = [ndimage.affine_transform(edit[..., k], back, offset, order=1, mode="nearest") for k in range(3)]
    return np.stack(planes, axis=-1)


def _ghost(edit: Floats, mask: Mask, other: Floats, rng: Rng) -> Floats:
    """Let the same face, moved, or another one show through."""
    top, left, high, wide = _box(mask)
    foreign, angle = rng.random() < 0.3, rng.uniform(0, 2 * np.pi)
    far = rng.uniform(0, 0.1) * high if foreign else rng.uniform(0.05, 0.18) * high
    center = (top + rng.uniform(0.4, 0.7) * high, left + rng.uniform(0.4, 0.6) * wide)
    zoom, turn = rng.uniform(0.9, 1.1), rng.normal(0, 0.08)
    shown = _moved(other if foreign else edit, (far * np.sin(angle), far * np.cos(angle)), center, zoom, turn)
    if foreign:  # in the same light, or it would be a patch
        shown = shown - shown[mask].mean(axis=0) + edit[mask].mean(axis=0)
    part = mask if rng.random() < 0.8 else region(mask, rng, large=True)
    return _blended(edit, shown, _weight(part, rng.uniform(0.5, 4)) * rng.uniform(0.28, 0.55))


def _double(edit: Floats, mask: Mask, other: Floats, rng: Rng) -> Floats:
    """Paste a feature of this or of another face anywhere on the skin."""
    top, left, high, wide = _box(mask)
    down, right, tall, broad = _FEATURES[rng.choice(6, p=(0.36, 0.2, 0.2, 0.06, 0.06, 0.12))]
    center = (top + (down + rng.normal(0, 0.025)) * high, left + (right + rng.normal(0, 0.025)) * wide)
    far, angle = rng.uniform(0.1, 0.32) * high, rng.uniform(0, 2 * np.pi)
    if rng.random() < 0.6:
        angle = rng.choice([-1, 1]) * np.pi / 2 + rng.normal(0, 0.25)
    move = (far * np.sin(angle), far * np.cos(angle))
    turn = rng.normal(0, 0.15) if rng.random() < 0.3 else 0.0
    along, across = _turned(mask, (center[0] + move[0], center[1] + move[1]), 0.0)
    power, size = rng.choice([2, 4, 8]), rng.uniform(0.9, 1.6)
    reach = (np.abs(across) / (tall * high * size)) ** power + (np.abs(along) / (broad * wide * size)) ** power
    weight = _weight((reach < 1) & mask, rng.uniform(0.5, 3)) * rng.uniform(0.65, 1)
    source = other if rng.random() < 0.15 else edit
    return _blended(edit, _moved(source, move, center, rng.uniform(0.85, 1.15), turn), weight)


def _doubled(edit: Floats, mask: Mask, points: Floats, rng: Rng) -> Floats:
    """Paste an eye, the nose or the mouth of this face above, below or beside its place, whole or in part."""
    eyes, mouth = points[:2], points[3:].mean(axis=0)
    unit = max(float(np.hypot(*(eyes[0] - eyes[1]))), float(np.hypot(*(eyes.mean(axis=0) - mouth))), 8.0)
    places = np.stack([mouth, eyes[0], eyes[1], points[2]])
    which = int(rng.choice(4, p=(0.45, 0.22, 0.22, 0.11)))
    tall, broad = np.array([(0.22, 0.5), (0.17, 0.32), (0.17, 0.32), (0.25, 0.28)])[which] * rng.uniform(0.75, 1.3)
    far, angle = rng.uniform(0.22, 0.85), rng.choice([-1, 1]) * np.pi / 2 + rng.normal(0, 0.35)
    if rng.random() < 0.2:
        angle = rng.uniform(0, 2 * np.pi)
    move = (unit * far * np.sin(angle), unit * far * np.cos(angle))
    center = (float(places[which][1]), float(places[which][0]))
    along, across = _turned(mask, (center[0] + move[0], center[1] + move[1]), 0.0)
    power = rng.choice([2, 4, 8])
    reach = (np.abs(across) / (tall * unit)) ** power + (np.abs(along) / (broad * unit)) ** power
    weight = _weight((reach < 1) & mask, rng.uniform(0.5, 3.5)) * rng.uniform(0.6, 1)
    turn = rng.normal(0, 0.15) if rng.random() < 0.3 else 0.0
    return _blended(edit, _moved(edit, move, center, rng.uniform(0.85, 1.15), turn), weight)


def _blur(edit: Floats, mask: Mask, other: Floats, rng: Rng) -> Floats:
    """Make the picture small and large again, or blur it along one line."""
    high = _box(mask)[2]
    if rng.random() < 0.6:
        share = 1 / (rng.uniform(0.014, 0.035) * high)
        image = Image.fromarray(np.clip(edit, 0, 255).astype(np.uint8))
        small = image.resize([max(8, round(side * share)) for side in image.size], Image.Resampling.BOX)
        made = np.asarray(small.resize(image.size, Image.Resampling.BICUBIC), np.float32)
    else:
        widths = np.array([1, rng.uniform(0, 1)])[rng.permutation(2)] * rng.uniform(0.009, 0.025) * high
        made = ndimage.gaussian_filter(edit, (*widths, 0))
    part = mask if rng.random() < 0.75 else region(mask, rng, large=True)
    return _blended(edit, made, _weight(part, rng.uniform(0.5, 3)))


def _tone(edit: Floats, mask: Mask, other: Floats, rng: Rng) -> Floats:
    """Turn the hue, or mix the colors otherwise."""
    if rng.random() < 0.5:
        hue, *rest = Image.fromarray(np.clip(edit, 0, 255).astype(np.uint8)).convert("HSV").split()
        turn = int(rng.choice([-1, 1]) * rng.integers(11, 60))
        table = [(value + turn) % 256 for value in range(256)]
        made = np.asarray(Image.merge("HSV", (hue.point(table), *rest)).convert("RGB"), np.float32)
    else:
        gains = 1 + rng.choice([-1, 1]) * rng.uniform(0.07, 0.2) * rng.permutation([1.0, -1.0, 0.0])
        made = edit * gains.astype(np.float32)
    return _blended(edit, made, _weight(mask, rng.uniform(0.5, 4)))


def _noise(edit: Floats, mask: Mask, other: Floats, rng: Rng) -> Floats:
    """Add grain, single pixels of black or white, or the blocks of a strong compression."""
    part = mask if rng.random() < 0.5 else region(mask, rng, large=True)
    way = rng.random()
    if way < 0.3:
        struck = part & (rng.random(mask.shape) < rng.uniform(0.003, 0.03))
        return np.where(struck[..., None], np.float32(255 * rng.integers(2)), edit)
    if way < 0.7:
        grain = rng.normal(0, rng.uniform(9, 25), edit.shape)
        return _blended(edit, edit + grain, _weight(part, 1))
    file = io.BytesIO()
    Image.fromarray(np.clip(edit, 0, 255).astype(np.uint8)).save(file, "JPEG", quality=int(rng.integers(4, 12)))
    return _blended(edit, np.asarray(Image.open(file), np.float32), _weight(part, 1))


def _missing(edit: Floats, mask: Mask, other: Floats, rng: Rng) -> Floats:
    """Let a feature fade into the skin around it."""
    top, left, high, wide = _box(mask)
    down, right, tall, broad = _FEATURES[rng.choice(6, p=(0.3, 0.25, 0.25, 0.05, 0.05, 0.1))]
    along, across = _turned(mask, (top + down * high, left + right * wide), 0.0)
    reach = np.hypot(across / (1.3 * tall * high), along / (1.2 * broad * wide))
    plain = ndimage.gaussian_filter(edit, (*[rng.uniform(0.06, 0.12) * high] * 2, 0))
    return _blended(edit, plain, _weight((reach < 1) & mask, rng.uniform(1, 4)) * rng.uniform(0.8, 1))


FORMS: dict[str, Callable[[Floats, Mask, Floats, Rng], Floats]] = {
    "color patch": _patch, "ghost": _ghost, "double feature": _double, "seam": _seam, "blur": _blur,
    "wrong tone": _tone, "noise": _noise, "missing feature": _missing,
}  # fmt: skip
"""By kind: how it is planted."""
