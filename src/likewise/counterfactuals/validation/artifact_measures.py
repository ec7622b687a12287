"""Measures of an edit as a whole that the artifact validator takes: tone, sharpness, copies, and steps along lines."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy import ndimage

MEASURES = 15
"""How many there are."""
ANGLES, PART, RIM = 12, 7, 6
"""Of straight steps: directions that are tried, pixels of a quarter of the line, and how far they stay off the edge."""
SIDES, DEEPEST = 8, 14
"""Of steps beside the mask's edge: sectors of the mask, and pixels of depth."""
Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]


def global_measures(x: Floats) -> Floats:
    """Return measures of one input as a whole: the shift of tone, the loss of sharpness, how far the change is a copy.

    A blurred or doubled picture is a change that goes against the original's own detail; a patch is a change of color
    far from the median change.
    """
    light, change, mask = x[0] * 30, x[3:6] * 10, x[6] > 0.5
    inner = ndimage.binary_erosion(mask, iterations=4)
    inner = inner if inner.sum() >= 50 else mask
    middle = np.median(change[:, inner], axis=1)
    fine, fine_change = detail(light, 1.5), detail(change[0], 1.5)
    coarse, coarse_change = detail(light, 5), detail(change[0], 5)
    power = np.square(fine[inner]).mean()
    sharper = np.log((np.square((fine + fine_change)[inner]).mean() + 0.05) / (power + 0.05))
    smooth = ndimage.gaussian_filter(change, (0, 2, 2))
    away = np.hypot(smooth[1] - middle[1], smooth[2] - middle[2])[inner]
    against = (fine * fine_change)[inner].sum() / (np.square(fine[inner]).sum() + 1e-3)
    whole = [
        np.hypot(middle[1], middle[2]) / 5, abs(middle[0]) / 5, sharper, max(0.0, -sharper),
        _correlation(coarse[inner], coarse_change[inner]), _correlation(fine[inner], fine_change[inner]), against,
        np.quantile(away, 0.98) / 10, np.log(np.square(change[:, inner]).mean() + 0.1),
    ]  # fmt: skip
    return np.array(
        whole + _steps(line_step(light, change[0], mask)) + _steps(rim_step(change[0], mask)), dtype=np.float32
    )


def _steps(size: float) -> list[float]:
    """Return a step of brightness with knots: what a clean edit has counts nothing, beyond it every unit does."""
    return [min(size, 8.0) / 2, max(0.0, min(size, 8.0) - 1.0), max(0.0, min(size, 8.0) - 2.0)]


def line_step(before: Floats, change: Floats, mask: Mask) -> float:
    """Return the largest step of the change along a straight line inside the mask, in units of L*.

    All four parts of the line have to make it, in the same sense, by more than the picture before has there itself: the
    edge of a brow or a lip is one of that picture as well.
    """
    inside = ndimage.binary_erosion(mask, iterations=RIM).astype(np.float32)
    layers = [Image.fromarray(np.ascontiguousarray(layer, np.float32)) for layer in (change, before, inside)]
    largest = 0.0
    for angle in np.arange(0, 180, 180 / ANGLES):
        moved, own, there = (np.asarray(layer.rotate(angle, Image.Resampling.BILINEAR)) for layer in layers)
        across, known = _across(moved), np.minimum(there[:-4], there[4:]) > 0.99
        explained = ndimage.maximum_filter1d(np.abs(_across(own)), 5, axis=0)
        left = np.sign(across) * np.maximum(np.abs(across) - explained, 0) * known
        part = ndimage.uniform_filter1d(left, PART, axis=1)
        parts = np.stack([part[:, k * PART : part.shape[1] - (3 - k) * PART] for k in range(4)])
        largest = max(largest, float(parts.min(axis=0).max()), float(-parts.max(axis=0).min()))
    return largest


def _across(layer: Floats) -> Floats:
    """Return the step from two rows to the two rows that lie three below."""
    pairs = (layer[:-1] + layer[1:]) / 2
    return np.asarray(pairs[3:] - pairs[:-3])


def rim_step(change: Floats, mask: Mask) -> float:
    """Return how abruptly the change sets in at some depth under the mask's edge, as the median over its sides.

    A clean edit fades in evenly; what is left of that is the second difference of the change over the depth.
    """
    depth = ndimage.distance_transform_edt(mask)
    rows, columns = np.nonzero(mask & (depth <= DEEPEST))
    if len(rows) < DEEPEST * SIDES:
        return 0.0
    middle = np.argwhere(mask).mean(axis=0)
    side = ((np.arctan2(rows - middle[0], columns - middle[1]) / (2 * np.pi) + 0.5) * SIDES).astype(int) % SIDES
    cell = side * (DEEPEST + 1) + np.rint(depth[rows, columns]).astype(int)
    counts, sums = (np.bincount(cell, w, SIDES * (DEEPEST + 1)) for w in (None, change[rows, columns]))
    means = (sums / np.maximum(counts, 1)).reshape(SIDES, -1)[:, 1:]  # [sides, depth]
    jumps = np.diff(means, axis=1)
    abrupt = jumps[:, 1:-1] - (jumps[:, :-2] + jumps[:, 2:]) / 2
    return float(np.abs(np.median(abrupt, axis=0)).max())


def detail(layer: Floats, width: float) -> Floats:
    """Return what is finer than ``width`` pixels."""
    return np.asarray(layer - ndimage.gaussian_filter(layer, width))


def _correlation(a: Floats, b: Floats) -> float:
    return float((a * b).sum() / (np.sqrt(np.square(a).sum() * np.square(b).sum()) + 1e-3))
