"""arms: what an editor makes of faces at every level, and beside it what it makes of them without turning anything.

A label may move because a picture was drawn anew, cut and pasted, or changed at all, and not because of the attribute.
So every sweep has placebo arms, of the same faces:

- ``original``: the untouched picture;
- ``reconstruct``: as the editor's network draws it with the dial left where the face has it, put back whole;
- ``mask``: the same, put back inside the mask only;
- ``random``: moved along one direction drawn by the seed, by as much as the edit moves it at that level.

An editor that keeps a picture's detail never shows this drawing, only the change between two of them; with the dial
left alone it would give the picture back. So "reconstruct" is the drawing itself: it shows what a label makes of the
network's hand.

The first three are one picture a face, whatever the level: what they do is a shift against the original, not a slope.
The random direction is one for all faces. Drawn anew for each it would come out at zero by symmetry, and show nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from likewise.errors import PluginError
from likewise.plugins import Editor, Pictures

ORIGINAL, RECONSTRUCT, MASK, RANDOM = "original", "reconstruct", "mask", "random"
Strips = npt.NDArray[np.uint8]
"""``[n, K, H, W, 3]``: each face at all levels."""
_GRAIN = 0.06  # of the side: how coarse a random change of pixels is, about as coarse as parts of a face


def swept(editor: Editor, pictures: Pictures, levels: Sequence[float], images: Sequence[str]) -> Strips:
    """Edit faces to all levels: at once where the editor can, which looks at each face once; else level by level."""
    sweep = getattr(editor, "sweep", None)
    if sweep is not None:
        return _checked(editor, sweep(pictures, tuple(levels), tuple(images)), pictures, len(levels))
    strips = np.stack([editor.edit(pictures, level) for level in levels], axis=1)
    return _checked(editor, strips, pictures, len(levels))


def redrawn(editor: Editor, pictures: Pictures, images: Sequence[str]) -> Pictures | None:
    """Draw faces with the dial where they have it; None when the editor cannot."""
    redraw = getattr(editor, "redraw", None)
    if redraw is None:
        return None
    drawn = np.asarray(redraw(pictures, tuple(images)))
    return _checked(editor, drawn[:, None], pictures, 1)[:, 0]


def random_arm(
    editor: Editor, pictures: Pictures, strips: Strips, levels: Sequence[float], images: Sequence[str], *, seed: int
) -> Strips:
    """Move faces along a random direction by as much as the edit: in the editor's own space if it has one."""
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
        got = f"{strips.dtype} {strips.shape}"
        raise PluginError(f"the editor {editor.name!r} returns pictures like those it got, uint8 {wanted}", got=got)
    return strips
