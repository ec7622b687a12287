"""Artifacts: is an edited picture still a picture of a face, or are there patches, ghosts, seams, blur?

A small network compares an edit with a picture before it, both cropped to where they differ: the original, or the
face as the editor's network draws it at its own strength. It was trained on drawn faces whose edits are clean, and on
the same edits with synthetic artifacts. Another of the same form compares reconstructions with their photographs; it
was trained on FairFace photographs (CC BY 4.0) as well. ``python -m benchmarks.artifacts`` trains and measures them;
docs/counterfactuals.md has the figures, ``shipped/README.md`` is their card.
It runs in numpy, so that validation needs no further library.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view
from PIL import Image
from scipy import ndimage

from likewise.counterfactuals.validation.artifact_measures import detail, global_measures
from likewise.models.perception.color import lab
from likewise.runtime.registry import Pictures

WEIGHTS = Path(__file__).parents[1] / "shipped" / "artifacts.npz"
RECONSTRUCTION_WEIGHTS = WEIGHTS.with_name("reconstructions.npz")
"""Reconstructions have a network of their own: how far a projection misses a photograph, drawn faces do not show."""
SIDE = 128
"""Pixels of the crop that is compared."""
EDIT, TONE, RECONSTRUCTION = range(3)
"""What is compared: each has a last layer and a threshold of its own."""
PLACES = (3, 12)
"""So many of the most suspicious places are averaged."""
FADED = 0.04
"""Of the picture's side: so far inside the mask an edit has faded in."""
SKIN_LINE, MOST_TINT = (-0.13, -0.26), 9.0
"""How a* and b* of drawn faces change with L* along the direction of skin tone, and how far a tone may lie off that."""
LICENSE = "Apache-2.0 (part of likewise; trained on drawn faces, and on FairFace photographs, CC BY 4.0)"
Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
Parameters = dict[str, npt.NDArray[np.floating]]


def artifact_scores(original: Pictures, edits: Pictures, *, recolored: bool = False, redrawn: bool = False) -> Floats:
    """Return the probability ``[K]`` that each edit ``[K, H, W, 3]`` of an original ``[H, W, 3]`` has an artifact.

    Edits that change no pixel have probability 0. With ``recolored`` skin tone is what is edited: artifacts are looked
    for in what is left after one map of colors for the whole skin, and that map has to be one that skin makes. With
    ``redrawn`` the pictures are reconstructions, whose features lie a little off those of the original.
    """
    mask = changed_region(original, edits)
    if not mask.any():
        return np.zeros(len(edits), np.float32)
    befores = [recolor(original, edit, mask) if recolored else original for edit in edits]
    pairs = zip(befores, edits, strict=True)
    inputs = [network_input(before, edit, mask, redrawn=redrawn) for before, edit in pairs]
    logits = artifact_logits(np.stack(inputs), RECONSTRUCTION if redrawn else TONE if recolored else EDIT)
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
    """Return how much of the whole change shows, by depth: it rises evenly over the width that fits best.

    A share of its own for each depth would follow a seam beside the mask's edge as well.
    """
    bins = np.rint(depth).astype(int)
    both, own = (
        np.bincount(bins[mask], values[mask], minlength=bins.max() + 1) for values in (change * whole, whole**2)
    )
    widths = np.linspace(1, max(1.0, float(depth.max())), 12)
    shares = np.minimum(np.arange(len(own)) / widths[:, None], 1)  # [widths, bins]
    best = widths[int(np.argmin((shares**2) @ own - 2 * shares @ both))]
    return np.asarray(np.minimum(depth / best, 1) * mask)


def tint(original: Pictures, edit: Pictures, mask: Mask) -> float:
    """Return how far the skin's median color leaves the line that skin follows when it becomes lighter or darker."""
    light, red, yellow = np.median(lab(edit[mask]) - lab(original[mask]), axis=0)
    return float(np.hypot(red - SKIN_LINE[0] * light, yellow - SKIN_LINE[1] * light))


def network_input(original: Pictures, edit: Pictures, mask: Mask, *, redrawn: bool = False) -> Floats:
    """Return ``[11, SIDE, SIDE]``: the original and the change in L*a*b*, the mask, what is compared, and detail."""
    box = _square(mask)
    shown = Image.fromarray(mask).convert("L").crop(box).resize((SIDE, SIDE), Image.Resampling.BOX)
    before, after = (lab(_cropped(picture, box)).astype(np.float32) for picture in (original, edit))
    flag = np.full((SIDE, SIDE, 1), float(redrawn))
    parts = [(before - (50, 10, 15)) / 30, (after - before) / 10, np.asarray(shown)[..., None] / 255, flag]
    parts.append(_details(before[..., 0], after[..., 0]))
    return np.moveaxis(np.concatenate(parts, axis=-1), -1, 0).astype(np.float32)


def _details(before: Floats, after: Floats) -> Floats:
    """Return the original's fine detail, its change, and how much sharper or softer each place became."""
    old, new = detail(before, 1.5), detail(after, 1.5)
    strong = [ndimage.gaussian_filter(np.abs(detail), 3) + 0.5 for detail in (old, new)]
    return np.stack([old / 5, (new - old) / 3, np.log(strong[1] / strong[0])], axis=-1)


def cropped_like(picture: Pictures, mask: Mask) -> Pictures:
    """Return the part ``[SIDE, SIDE, 3]`` of a picture that the network sees."""
    return _cropped(picture, _square(mask))


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


@lru_cache(maxsize=2)
def weights(path: Path) -> Parameters:
    """Read a network: convolutions ``w0, b0, ...``, what says where an artifact is, and the last layers."""
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name].astype(np.float32) for name in stored.files}


def artifact_logits(inputs: Floats, compared: int) -> Floats:
    """Return the log-odds ``[n]`` of artifacts for inputs ``[n, 11, SIDE, SIDE]``; 0 is the threshold of the kind."""
    known = weights(RECONSTRUCTION_WEIGHTS if compared == RECONSTRUCTION else WEIGHTS)
    return np.asarray(features(inputs, known) @ known["last_w"][compared] - known["limits"][compared], dtype=np.float32)


def features(inputs: Floats, parameters: Parameters) -> Floats:
    """Return what the last layer sees, ``[n, 2C + 2 + MEASURES]``.

    These are the convolutions' mean and maximum over places, the evidence at the most suspicious places, and measures
    of the whole. A seam or a second mouth is in few places, which a mean over all of them would hide.
    """
    x = inputs
    for layer, stride in enumerate(parameters["strides"]):
        x = np.maximum(_convolved(x, parameters[f"w{layer}"], parameters[f"b{layer}"], int(stride)), 0)
    heat = np.tensordot(x, parameters["heat_w"], axes=(1, 0)) + parameters["heat_b"]  # [n, h, w]
    ordered = np.sort(heat.reshape(len(heat), -1), axis=1)
    evidence = np.stack([ordered[:, -few:].mean(axis=1) for few in PLACES], axis=1)
    whole = np.stack([global_measures(one) for one in inputs])
    return np.concatenate([x.mean(axis=(2, 3)), x.max(axis=(2, 3)), evidence, whole], axis=1)


def _convolved(x: Floats, kernel: Floats, bias: Floats, stride: int) -> Floats:
    """Convolve ``[n, c, H, W]`` with ``[o, c, k, k]``, zeros around."""
    size = kernel.shape[-1]
    padded = np.pad(x, ((0, 0), (0, 0), (size // 2, size // 2), (size // 2, size // 2)))
    windows = sliding_window_view(padded, (size, size), axis=(2, 3))[:, :, ::stride, ::stride]  # [n, c, h, w, k, k]
    found = np.tensordot(windows, kernel, axes=((1, 4, 5), (1, 2, 3)))  # [n, h, w, o]
    return np.asarray(np.moveaxis(found + bias, -1, 1))
