"""Placebo arms: the effect of editing alone, without moving the attribute.

A label may move because a picture was reconstructed, pasted, or changed at all, and not because of the attribute. So
every sweep has placebo arms, of the same images:

- ``original``: the untouched picture;
- ``reconstruct``: the reconstruction control: as the editor's network draws it at its own strength, pasted whole;
- ``mask``: the mask-only control: the same, pasted inside the mask only;
- ``random``: moved along one random direction, by as much as the edit moves it at that strength.

An editor that keeps a picture's detail never shows this drawing, only the change between two of them; at its own
strength it would return the picture. So "reconstruct" is the drawing itself: it shows the effect of the network alone.

The first three are one picture an image, whatever the strength: their effect is a shift against the original, not a
slope. The random direction is one for all images. One for each would average to zero by symmetry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from likewise.errors import PluginError
from likewise.runtime.registry import Editor, Pictures

ORIGINAL, RECONSTRUCT, MASK, RANDOM = "original", "reconstruct", "mask", "random"
Strips = npt.NDArray[np.uint8]
"""``[n, K, H, W, 3]``: each face at all levels."""
_GRAIN = 0.06  # of the side: how coarse a random change of pixels is, about as coarse as parts of a face


def swept(editor: Editor, pictures: Pictures, levels: Sequence[float], images: Sequence[str]) -> Strips:
    """Edit images to all strengths: at once where the editor can, which projects each once; else one by one."""
    sweep = getattr(editor, "sweep", None)
    if sweep is not None:
        return _checked(editor, sweep(pictures, tuple(levels), tuple(images)), pictures, len(levels))
    strips = np.stack([editor.edit(pictures, level) for level in levels], axis=1)
    return _checked(editor, strips, pictures, len(levels))


def redrawn(editor: Editor, pictures: Pictures, images: Sequence[str]) -> Pictures | None:
    """Reconstruct images at their own strength; None when the editor cannot."""
    redraw = getattr(editor, "redraw", None)
    if redraw is None:
        return None
    drawn = np.asarray(redraw(pictures, tuple(images)))
    return _checked(editor, drawn[:, None], pictures, 1)[:, 0]


def random_arm(
    editor: Editor, pictures: Pictures, strips: Strips, levels: Sequence[float], images: Sequence[str], *, seed: int
) -> Strips:
    """Move images along a random direction by as much as the edit: in the editor's own space if it has one."""
    random = getattr(editor, "random", None)
    if random is not None:
        return _checked(editor, random(pictures, tuple(levels), tuple(images), seed), pictures, len(levels))
    return random_pixels(pictures, strips, seed=seed)


def random_pixels(pictures: Pictures, strips: Strips, *, seed: int) -> Strips:
    """Change pixels by one smooth random pattern, as much (root mean square) as the edit does, and to two sides.

    Below the level at which the edit changes a face least, the pattern is taken away; above, it is added.
    """
    change = strips.astype(np.float32) - pictures[:, None]
    size = np.sqrt(np.square(change).mean(axis=(2, 3, 4)))  # [n, K]
    own = size.argmin(axis=1)[:, None]
    signed: npt.NDArray[np.float32] = np.where(np.arange(size.shape[1]) < own, -size, size)
    pattern = _pattern(pictures.shape[1:], seed)
    moved = np.clip(pictures[:, None] + signed[:, :, None, None, None] * pattern, 0, 255)
    return np.asarray(np.rint(moved), dtype=np.uint8)


def _pattern(shape: tuple[int, ...], seed: int) -> npt.NDArray[np.float32]:
    grain = _GRAIN * max(shape[:2])
    noise = np.random.default_rng(seed).normal(size=shape)
    smooth = ndimage.gaussian_filter(noise, (grain, grain, 0))
    return np.asarray(smooth / np.sqrt(np.square(smooth).mean()), dtype=np.float32)


def _checked(editor: Editor, made: Any, pictures: Pictures, levels: int) -> Strips:
    strips = np.asarray(made)
    wanted = (len(pictures), levels, *pictures.shape[1:])
    if strips.shape != wanted or strips.dtype != np.uint8:
        problem = f"The editor {editor.name!r} returned {strips.dtype} {strips.shape} instead of uint8 {wanted}"
        raise PluginError(problem, fix="It returns pictures of the size that it got.")
    return strips
