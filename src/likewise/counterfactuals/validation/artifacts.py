"""Artifacts: is an edited picture still a picture of a face, or are there patches, ghosts, seams, blur?

A small network compares an edit with its original, both cropped to where they differ. It was trained on drawn faces
whose edits are clean, and on the same edits with ``synthetic_artifacts``; no photograph of a person had a
part in it. ``python -m benchmarks.artifacts`` trains and measures it; docs/counterfactuals.md has the figures.
It runs in numpy, so that validation needs no further library.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view
from PIL import Image
from scipy import ndimage

from likewise.models.perception.color import lab
from likewise.runtime.registry import Pictures

WEIGHTS = Path(__file__).parents[1] / "shipped" / "artifacts.npz"
SIDE = 128
"""Pixels of the crop that is compared."""
FADED = 0.04
"""Of the picture's side: so far inside the mask an edit has faded in."""
SKIN_LINE, MOST_TINT = (-0.13, -0.26), 9.0
"""How a* and b* of drawn faces change with L* along the direction of skin tone, and how far a tone may lie off that."""
LICENSE = "Apache-2.0 (part of likewise; trained on drawn faces)"
Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
Parameters = dict[str, npt.NDArray[np.floating]]


def artifact_scores(original: Pictures, edits: Pictures, *, recolored: bool = False) -> Floats:
    """Return the probability ``[K]`` that each edit ``[K, H, W, 3]`` of an original ``[H, W, 3]`` has an artifact.

    Edits that change no pixel have probability 0. With ``recolored`` skin tone is what is edited: artifacts are looked
    for in what is left after one map of colors for the whole skin, and that map has to be one that skin makes.
    """
    mask = changed_region(original, edits)
    if not mask.any():
        return np.zeros(len(edits), np.float32)
    befores = [recolor(original, edit, mask) if recolored else original for edit in edits]
    pairs = zip(befores, edits, strict=True)
    logits = artifact_logits(np.stack([network_input(before, edit, mask) for before, edit in pairs]))
    scores = np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))), dtype=np.float32)
    if recolored:
        scores[[tint(original, edit, mask) > MOST_TINT for edit in edits]] = 1
    scores[[not (edit != original).any() for edit in edits]] = 0
    return scores


def changed_region(original: Pictures, edits: Pictures) -> Mask:
    """Return where any of the edits differs from the original, as one region without holes."""
    differs = (edits != original[None]).any(axis=(0, 3))
    return np.asarray(ndimage.binary_fill_holes(differs))


def recolor(original: Pictures, edit: Pictures, mask: Mask) -> Pictures:
    """Return the original with a gain and an offset of each color over the skin, such that it is nearest to the edit.

    Six numbers follow a change of tone; a patch, a seam or a second mouth they cannot follow. How far the edit has
    faded in at each depth under the mask's edge is taken from the edit as well.
    """
    depth = np.minimum(ndimage.distance_transform_edt(mask), FADED * max(mask.shape))
    inner = mask & (depth >= 0.8 * depth.max())
    result = original.astype(np.float64)
    for channel in range(3):
        before, after = (picture[..., channel][inner].astype(np.float64) for picture in (original, edit))
        gain, offset = np.polyfit(before, after, 1) if before.std() > 1 else (1.0, float((after - before).mean()))
        gain = float(np.clip(gain, 0.3, 3.0))
        offset = float(after.mean() - gain * before.mean())
        whole = np.asarray((gain - 1) * original[..., channel] + offset, dtype=np.float64)
        result[..., channel] += _faded(edit[..., channel] - result[..., channel], whole, depth, mask) * whole
    return np.clip(np.rint(result), 0, 255).astype(np.uint8)


def _faded(
    change: npt.NDArray[np.float64], whole: npt.NDArray[np.float64], depth: npt.NDArray[np.float64], mask: Mask
) -> npt.NDArray[np.float64]:
    """Return how much of the whole change shows, by depth: a share from 0 to 1 that rises inwards."""
    bins = np.rint(depth).astype(int)
    both, own = (
        np.bincount(bins[mask], values[mask], minlength=bins.max() + 1) for values in (change * whole, whole**2)
    )
    share = np.maximum.accumulate(np.clip(both / (own + 1e-6), 0, 1))
    return np.asarray(share[bins] * mask)


def tint(original: Pictures, edit: Pictures, mask: Mask) -> float:
    """Return how far the skin's median color leaves the line that skin follows when it becomes lighter or darker."""
    light, red, yellow = np.median(lab(edit[mask]) - lab(original[mask]), axis=0)
    return float(np.hypot(red - SKIN_LINE[0] * light, yellow - SKIN_LINE[1] * light))


def network_input(original: Pictures, edit: Pictures, mask: Mask) -> Floats:
    """Return ``[7, SIDE, SIDE]``: the original and the change in L*a*b*, and the mask, cropped to the mask."""
    box = _square(mask)
    shown = Image.fromarray(mask).convert("L").crop(box).resize((SIDE, SIDE), Image.Resampling.BOX)
    before, after = (lab(_cropped(picture, box)).astype(np.float32) for picture in (original, edit))
    parts = [(before - (50, 10, 15)) / 30, (after - before) / 10, (np.asarray(shown)[..., None] / 255)]
    return np.moveaxis(np.concatenate(parts, axis=-1), -1, 0).astype(np.float32)


def _square(mask: Mask) -> tuple[int, int, int, int]:
    rows, columns = np.nonzero(mask)
    middle = (columns.min() + columns.max()) / 2, (rows.min() + rows.max()) / 2
    half = 0.55 * max(np.ptp(rows), np.ptp(columns)) + 1
    (left, top), (right, bottom) = ([round(float(m + sign * half)) for m in middle] for sign in (-1, 1))
    return left, top, right, bottom


def _cropped(picture: Pictures, box: tuple[int, int, int, int]) -> Pictures:
    """Crop and resize; beyond the border the picture's edge is repeated, not black."""
    left, top, right, bottom = box
    height, width = picture.shape[:2]
    pad = max(0, -left, -top, right - width, bottom - height)
    if pad:
        picture = np.pad(picture, ((pad, pad), (pad, pad), (0, 0)), mode="edge")
    cut = Image.fromarray(picture).crop((left + pad, top + pad, right + pad, bottom + pad))
    return np.asarray(cut.resize((SIDE, SIDE), Image.Resampling.LANCZOS))


@lru_cache(maxsize=1)
def weights() -> Parameters:
    """Read the network: convolutions ``w0, b0, ...`` and the last layer."""
    with np.load(WEIGHTS, allow_pickle=False) as stored:
        return {name: stored[name].astype(np.float32) for name in stored.files}


def parameters_of(
    convolutions: Parameters, strides: Sequence[int], last: npt.ArrayLike, bias: npt.ArrayLike
) -> Parameters:
    """Return what ``weights`` reads: convolutions in half precision, the last layer in single."""
    halved: Parameters = {name: np.asarray(values, np.float16) for name, values in convolutions.items()}
    steps = np.asarray(strides, np.float32)
    return halved | {
        "strides": steps, "last_w": np.asarray(last, np.float32), "last_b": np.asarray(bias, np.float32)
    }  # fmt: skip


def artifact_logits(inputs: Floats) -> Floats:
    """Return the log-odds ``[n]`` of artifacts for inputs ``[n, 7, SIDE, SIDE]``."""
    known = weights()
    return np.asarray(features(inputs, known) @ known["last_w"] + known["last_b"], dtype=np.float32)


def features(inputs: Floats, parameters: Parameters) -> Floats:
    """Return what the last layer sees: the convolutions' mean and maximum over places, and global measures."""
    x = inputs
    for layer, stride in enumerate(parameters["strides"]):
        kernel, bias = (np.asarray(parameters[f"{kind}{layer}"], np.float32) for kind in "wb")
        x = np.maximum(_convolved(x, kernel, bias, int(stride)), 0)
    pooled = np.concatenate([x.mean(axis=(2, 3)), x.max(axis=(2, 3))], axis=1)  # [n, 2C]
    return np.concatenate([pooled, np.stack([global_measures(one) for one in inputs])], axis=1)


def global_measures(x: Floats) -> Floats:
    """Return measures of one input as a whole: the shift of tone, the loss of sharpness, how far the change is a copy.

    A blurred or doubled picture is a change that goes against the original's own detail; a patch is a change of color
    far from the median change.
    """
    light, change, mask = x[0] * 30, x[3:6] * 10, x[6] > 0.5
    inner = ndimage.binary_erosion(mask, iterations=4)
    inner = inner if inner.sum() >= 50 else mask
    middle = np.median(change[:, inner], axis=1)
    fine, fine_change = _detail(light, 1.5), _detail(change[0], 1.5)
    coarse, coarse_change = _detail(light, 5), _detail(change[0], 5)
    power = np.square(fine[inner]).mean()
    sharper = np.log((np.square((fine + fine_change)[inner]).mean() + 0.05) / (power + 0.05))
    smooth = ndimage.gaussian_filter(change, (0, 2, 2))
    away = np.hypot(smooth[1] - middle[1], smooth[2] - middle[2])[inner]
    against = (fine * fine_change)[inner].sum() / (np.square(fine[inner]).sum() + 1e-3)
    return np.array(
        [
            np.hypot(middle[1], middle[2]) / 5, abs(middle[0]) / 5, sharper, max(0.0, -sharper),
            _correlation(coarse[inner], coarse_change[inner]), _correlation(fine[inner], fine_change[inner]), against,
            np.quantile(away, 0.98) / 10, np.log(np.square(change[:, inner]).mean() + 0.1),
        ],
        dtype=np.float32,
    )  # fmt: skip


def _detail(layer: Floats, width: float) -> Floats:
    return np.asarray(layer - ndimage.gaussian_filter(layer, width))


def _correlation(a: Floats, b: Floats) -> float:
    return float((a * b).sum() / (np.sqrt(np.square(a).sum() * np.square(b).sum()) + 1e-3))


def _convolved(x: Floats, kernel: Floats, bias: Floats, stride: int) -> Floats:
    """Convolve ``[n, c, H, W]`` with ``[o, c, k, k]``, zeros around."""
    size = kernel.shape[-1]
    padded = np.pad(x, ((0, 0), (0, 0), (size // 2, size // 2), (size // 2, size // 2)))
    windows = sliding_window_view(padded, (size, size), axis=(2, 3))[:, :, ::stride, ::stride]  # [n, c, h, w, k, k]
    found = np.tensordot(windows, kernel, axes=((1, 4, 5), (1, 2, 3)))  # [n, h, w, o]
    return np.asarray(np.moveaxis(found + bias, -1, 1))
