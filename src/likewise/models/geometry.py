"""Moving faces into frames: a similarity transform from points, and a warp that neither aliases nor invents.

Points are ``(x, y)`` with pixel centers at whole numbers. A transform is ``[2, 3]`` and takes points of the source
picture to points of the target.

Umeyama, "Least-squares estimation of transformation parameters between two point patterns", TPAMI 1991.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

from likewise.errors import InputError

Floats = npt.NDArray[np.float64]
Picture = npt.NDArray[np.uint8]


def similarity(source: npt.ArrayLike, target: npt.ArrayLike) -> Floats:
    """Return the turn, scaling and shift that takes ``source [k, 2]`` nearest to ``target [k, 2]``; never mirrored."""
    a, b = np.asarray(source, dtype=np.float64), np.asarray(target, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 2 or a.shape[1] != 2 or len(a) < 2:
        raise InputError(
            f"A similarity transform needs two or more points and as many targets, not {a.shape} and {b.shape}",
            fix="Give two or more landmarks.",
        )
    from_a, from_b = a - a.mean(axis=0), b - b.mean(axis=0)
    spread = np.square(from_a).sum()
    if not np.isfinite(spread) or spread < 1e-12:
        raise InputError(
            f"The points of a similarity transform coincide or are not finite: {str(a.tolist())[:120]}",
            fix="Check the landmarks of this image.",
        )
    # In the plane the singular value decomposition of the paper comes down to one complex number.
    turn = (from_a * from_b).sum() / spread
    tilt = (from_a[:, 0] * from_b[:, 1] - from_a[:, 1] * from_b[:, 0]).sum() / spread
    linear = np.array([[turn, -tilt], [tilt, turn]])
    return np.column_stack([linear, b.mean(axis=0) - linear @ a.mean(axis=0)])


def moved(points: npt.ArrayLike, transform: Floats) -> Floats:
    """Return where a transform takes points ``[..., 2]``."""
    there: Floats = np.asarray(points, dtype=np.float64) @ transform[:, :2].T + transform[:, 2]
    return there


def inverse(transform: Floats) -> Floats:
    """Return the transform that leads back."""
    back = np.linalg.inv(transform[:, :2])
    return np.column_stack([back, -back @ transform[:, 2]])


def scale(transform: Floats) -> float:
    """Say how much larger things become."""
    return float(np.sqrt(abs(np.linalg.det(transform[:, :2]))))


def warp(picture: Picture, transform: Floats, size: int, *, mirror: bool = False) -> Picture:
    """Return the target ``[size, size, 3]``. Outside the source it is black, or the source mirrored at its edges.

    What is mirrored fades into a blur, so that no second face appears beside the face (as in FFHQ).

    A picture that shrinks a lot is averaged first, so that a 12-megapixel photograph does not alias.
    """
    if mirror:
        wide, shifted_there = _widened(picture, transform, size)
        return _faded(warp(wide, shifted_there, size), picture, transform)
    image, factor = Image.fromarray(picture), int(1 / max(scale(transform), 1e-6) + 1e-6)
    factor = min(factor, *image.size)
    if factor > 1:
        image = image.reduce(factor)
    back = inverse(transform)
    shifted = np.column_stack([back[:, :2], back[:, :2] @ [-0.5, -0.5] + back[:, 2] + 0.5]) / max(factor, 1)
    drawn = image.transform(
        (size, size), Image.Transform.AFFINE, tuple(shifted.ravel()), resample=Image.Resampling.BILINEAR
    )
    return np.asarray(drawn)


def _widened(picture: Picture, transform: Floats, size: int) -> tuple[Picture, Floats]:
    """Mirror the picture at its edges as far as the target reaches, but not beyond one picture on each side."""
    corners = moved([[0, 0], [size, 0], [0, size], [size, size]], inverse(transform))
    height, width = picture.shape[:2]
    low, high = np.floor(corners.min(axis=0)).astype(int) - 1, np.ceil(corners.max(axis=0)).astype(int) + 1
    left, top = (int(np.clip(-low[axis], 0, (width, height)[axis])) for axis in (0, 1))
    right, bottom = (int(np.clip(high[axis] - (width, height)[axis], 0, (width, height)[axis])) for axis in (0, 1))
    if not (left or top or right or bottom):
        return picture, transform
    wide = np.pad(picture, ((top, bottom), (left, right), (0, 0)), mode="symmetric")
    shift = np.column_stack([transform[:, :2], transform[:, 2] - transform[:, :2] @ [left, top]])
    return wide, shift


def _faded(target: Picture, source: Picture, transform: Floats) -> Picture:
    """Blend the target, the further it lies outside the source, into its own blur and then into its median color."""
    size = len(target)
    y, x = np.mgrid[:size, :size]
    there = moved(np.stack([x, y], axis=-1), inverse(transform))
    edges = np.array([source.shape[1] - 1, source.shape[0] - 1])
    outside = np.maximum(-there, there - edges).max(axis=-1, keepdims=True) * scale(transform) / size  # in sides
    if outside.max() <= 0:
        return target
    blurred = np.asarray(Image.fromarray(target).filter(ImageFilter.GaussianBlur(size * 0.03))).astype(np.float64)
    soft = target + (blurred - target) * np.clip(outside / 0.06, 0, 1)
    soft += (np.median(target, axis=(0, 1)) - soft) * np.clip(outside / 0.12 - 0.3, 0, 1)
    return np.asarray(np.rint(soft), dtype=np.uint8)


def resized(picture: Picture, side: int) -> Picture:
    """Return the picture with its longer side at ``side`` pixels."""
    height, width = picture.shape[:2]
    factor = side / max(height, width)
    to = max(1, round(width * factor)), max(1, round(height * factor))
    return np.asarray(Image.fromarray(picture).resize(to, Image.Resampling.BILINEAR, reducing_gap=2.0))
