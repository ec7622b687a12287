"""Artifacts to prove the artifact validator with: by other means than those it was trained on.

The training's artifacts are arithmetic on the mask's box (``synthetic_artifacts``). These are made with an image
library, from what a face detector found in the very picture: polygons and rectangles painted in a hue, copies turned
about the nose, the mouth or an eye cut out and pasted, one part exposed differently, pictures made small and large
again, another white balance. All stay inside the mask.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter

from likewise.models.detectors.registry import detector

Picture = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Points = npt.NDArray[np.float64]
Rng = np.random.Generator


def spoil(kind: str, edit: Picture, mask: Mask, rng: Rng) -> Picture:
    """Return an edited picture ``[H, W, 3]`` with one artifact of this kind inside the mask ``[H, W]``."""
    made = OTHER_ARTIFACTS[kind](Image.fromarray(edit), mask, rng)
    return np.where(mask[..., None], np.asarray(made), edit)


def landmarks(image: Image.Image, mask: Mask) -> Points:
    """Return eyes, nose and corners of the mouth ``[5, 2]`` as x and y; typical ones where no face is detected."""
    found = _detector().find(np.asarray(image))
    if found:
        return np.asarray(found[0].points, dtype=np.float64)
    rows, columns = np.nonzero(mask)
    typical = np.array([[0.3, 0.42], [0.7, 0.42], [0.5, 0.6], [0.35, 0.77], [0.65, 0.77]])
    corner, size = np.array([columns.min(), rows.min()]), np.array([np.ptp(columns), np.ptp(rows)])
    return np.asarray(corner + typical * size)


@lru_cache(maxsize=1)
def _detector() -> Any:
    return detector("yunet")


def _eyes_apart(points: Points) -> float:
    """Return the distance between the eyes, or from the eyes to the mouth in a view from the side."""
    return float(max(np.hypot(*(points[0] - points[1])), np.hypot(*(points[:2].mean(0) - points[3:].mean(0)))))


def _over(image: Image.Image, other: Image.Image, shape: Image.Image, soft: float, share: float = 1) -> Image.Image:
    """Show the other picture where the shape is, its border softened."""
    weight = shape.filter(ImageFilter.GaussianBlur(soft)).point([round(value * share) for value in range(256)])
    return Image.composite(other, image, weight)


def _shape(image: Image.Image) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    shape = Image.new("L", image.size)
    return shape, ImageDraw.Draw(shape)


def _within(mask: Mask, rng: Rng) -> tuple[float, float]:
    """Return a place well inside the mask."""
    inner = np.asarray(Image.fromarray(mask).convert("L").filter(ImageFilter.GaussianBlur(6))) > 220
    rows, columns = np.nonzero(inner if inner.any() else mask)
    at = rng.integers(len(rows))
    return float(columns[at]), float(rows[at])


def _patch(image: Image.Image, mask: Mask, rng: Rng) -> Image.Image:
    """Paint a polygon in a hue that skin does not have, letting the light through."""
    x, y = _within(mask, rng)
    radius = rng.uniform(0.2, 0.42) * _eyes_apart(landmarks(image, mask))
    corners = np.sort(rng.uniform(0, 2 * np.pi, rng.integers(5, 9)))
    shape, pen = _shape(image)
    far = radius * rng.uniform(0.7, 1.1, len(corners))
    pen.polygon([(x + r * np.cos(a), y + r * np.sin(a)) for a, r in zip(corners, far, strict=True)], fill=255)
    hue, saturation = int(rng.integers(70, 235)), int(rng.integers(130, 220))
    plain = image.convert("HSV").split()
    flat = [Image.new("L", image.size, hue), Image.new("L", image.size, saturation)]
    painted = Image.merge("HSV", (*flat, plain[2])).convert("RGB")
    return _over(image, painted, shape, rng.uniform(0.5, 3), rng.uniform(0.5, 0.9))


def _ghost(image: Image.Image, mask: Mask, rng: Rng) -> Image.Image:
    """Blend with the picture turned about the nose and moved."""
    points = landmarks(image, mask)
    unit, angle = _eyes_apart(points), rng.uniform(0, 2 * np.pi)
    far = rng.uniform(0.16, 0.35) * unit
    moved = image.rotate(
        rng.choice([-1, 1]) * rng.uniform(0, 8), Image.Resampling.BICUBIC, center=tuple(points[2]),
        translate=(far * np.cos(angle), far * np.sin(angle)),
    )  # fmt: skip
    return Image.blend(image, moved, rng.uniform(0.3, 0.5))


def _double(image: Image.Image, mask: Mask, rng: Rng) -> Image.Image:
    """Cut out the mouth or an eye as a rounded box, and paste it beside its place."""
    points = landmarks(image, mask)
    unit = _eyes_apart(points)
    if rng.random() < 0.5:
        (x, y), half = points[3:].mean(0), (0.55 * unit, 0.24 * unit)
    else:
        (x, y), half = points[rng.integers(2)], (0.36 * unit, 0.2 * unit)
    up, aside = rng.choice([-1, 1]) * rng.uniform(0.42, 0.62) * unit, rng.uniform(-0.12, 0.12) * unit
    box = (round(x - half[0]), round(y - half[1]), round(x + half[0]), round(y + half[1]))
    copied = image.copy()
    copied.paste(image.crop(box), (round(box[0] + aside), round(box[1] + up)))
    shape, pen = _shape(image)
    moved = [(box[0] + aside, box[1] + up), (box[2] + aside, box[3] + up)]
    pen.rounded_rectangle(moved, half[1] * 0.8, fill=255)
    return _over(image, copied, shape, rng.uniform(1.5, 3), rng.uniform(0.75, 1))


def _seam(image: Image.Image, mask: Mask, rng: Rng) -> Image.Image:
    """Expose one part differently: a half, a rectangle, or all but a rim; its border is sharp."""
    rows, columns = np.nonzero(mask)
    shape, pen = _shape(image)
    way, (x, y) = rng.random(), (float(np.median(columns)), float(np.median(rows)))
    high, wide = float(np.ptp(rows)), float(np.ptp(columns))
    if way < 0.35:
        at, beyond = y + rng.uniform(-0.25, 0.25) * high, rng.uniform(-0.15, 0.15) * high
        pen.polygon([(0, at - beyond), (image.width, at + beyond), (image.width, 0), (0, 0)], fill=255)
    elif way < 0.65:
        x, y = x + rng.uniform(-0.2, 0.2) * wide, y + rng.uniform(-0.2, 0.2) * high
        across, down = rng.uniform(0.2, 0.35) * wide, rng.uniform(0.18, 0.3) * high
        pen.rectangle([x - across, y - down, x + across, y + down], fill=255)
    else:
        rim = 2 * round(rng.uniform(0.01, 0.04) * high) + 3
        shape = Image.fromarray(mask).convert("L").filter(ImageFilter.MinFilter(rim))
    factor = rng.uniform(1.13, 1.25) if rng.random() < 0.5 else rng.uniform(0.78, 0.87)
    return _over(image, ImageEnhance.Brightness(image).enhance(factor), shape, 0.4)


def _blur(image: Image.Image, mask: Mask, rng: Rng) -> Image.Image:
    """Make the picture small and large again, or smooth it with a box."""
    unit = _eyes_apart(landmarks(image, mask))
    width = rng.uniform(0.025, 0.045) * unit  # of the smallest thing that is left
    if rng.random() < 0.5:
        return image.filter(ImageFilter.BoxBlur(1.2 * width))
    small = image.resize([max(8, round(side / (2.2 * width))) for side in image.size], Image.Resampling.BOX)
    return small.resize(image.size, Image.Resampling.BICUBIC)


def _tone(image: Image.Image, mask: Mask, rng: Rng) -> Image.Image:
    """Give the skin another white balance or turn its hue; it fades in at the mask's edge."""
    if rng.random() < 0.5:
        sign = rng.choice([-1, 1])  # greener with less blue, or the other way: no light does that to skin
        gains = (1.0, 1 + sign * rng.uniform(0.08, 0.2), 1 - sign * rng.uniform(0.08, 0.2))
        bands = zip(image.split(), gains, strict=True)
        other = Image.merge(
            "RGB", [band.point([min(255, round(v * gain)) for v in range(256)]) for band, gain in bands]
        )
    else:
        turn = int(rng.choice([-1, 1]) * rng.integers(12, 35))
        hue, *rest = image.convert("HSV").split()
        other = Image.merge("HSV", (hue.point([(v + turn) % 256 for v in range(256)]), *rest)).convert("RGB")
    return _over(image, other, Image.fromarray(mask).convert("L").filter(ImageFilter.MinFilter(5)), 2)


OTHER_ARTIFACTS: dict[str, Callable[[Image.Image, Mask, Rng], Image.Image]] = {
    "color patch": _patch,
    "ghost": _ghost,
    "double feature": _double,
    "seam": _seam,
    "blur": _blur,
    "wrong tone": _tone,
}
"""By kind: how it is added."""
