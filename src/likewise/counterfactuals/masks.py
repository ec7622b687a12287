"""mask: an edited face goes back into its picture inside the facial skin only; every other pixel stays as it was.

The edit is faded in from the mask's edge inwards, never outwards: the fading weight is exactly 0 outside the mask, and
where it is 0 the original byte is kept, not computed again. So the outside is identical bit for bit, whatever the
editor did there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy import ndimage

from likewise.errors import ImageError

Picture = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]
Weight = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]


def feathered(mask: Mask, width: float) -> Weight:
    """Return a weight that rises from 0 at the mask's edge to 1 at ``width`` pixels inside; 0 everywhere outside.

    The picture's own border is no edge: a face that it cuts is edited up to the last row.
    """
    if not mask.any():
        return np.zeros(mask.shape, np.float32)
    if mask.all() or width <= 1:  # the outermost pixels lie one deep
        return mask.astype(np.float32)
    depth = ndimage.distance_transform_edt(mask)
    return np.minimum(depth / width, 1).astype(np.float32)


def pasted(original: Picture, edited: Picture, weight: Weight) -> Picture:
    """Blend the edit into the original; where the weight is 0 the original's bytes are kept."""
    if original.shape != edited.shape or weight.shape != original.shape[:2]:
        shapes = f"{original.shape}, {edited.shape} and {weight.shape}"
        raise ImageError(
            f"The original, the edit and the mask have different sizes: {shapes}",
            fix="Resize the edit and the mask to the original.",
        )
    inside = weight > 0
    share = weight[inside][:, None]
    blend = share * edited[inside].astype(np.float32) + (1 - share) * original[inside].astype(np.float32)
    result = original.copy()
    result[inside] = np.rint(blend).astype(np.uint8)
    return result


def outside_changed(original: Picture, result: Picture, weight: Weight) -> int:
    """Count the pixels outside the mask that differ: a valid edit has none."""
    differs = original != result
    return int(np.count_nonzero((differs[..., 0] | differs[..., 1] | differs[..., 2]) & (weight == 0)))


def returned(
    crop: npt.NDArray[np.float32], transform: Floats, shape: tuple[int, int], corner: tuple[int, int] = (0, 0)
) -> npt.NDArray[np.float32]:
    """Draw numbers ``[h, w, c]`` of a crop back into a window of its picture; 0 where the crop does not reach.

    ``transform [2, 3]`` led from picture to crop; the window of ``shape`` begins at row and column ``corner``. Pixel
    centers lie at whole numbers in ``transform`` and at halves for the library that warps.
    """
    linear = transform[:, :2]
    begin = linear @ [corner[1] - 0.5, corner[0] - 0.5] + transform[:, 2] + 0.5
    coefficients = tuple(np.column_stack([linear, begin]).ravel())
    size = (shape[1], shape[0])
    planes = (Image.fromarray(np.ascontiguousarray(crop[..., k])) for k in range(crop.shape[-1]))
    drawn = [
        plane.transform(size, Image.Transform.AFFINE, coefficients, resample=Image.Resampling.BICUBIC)
        for plane in planes
    ]
    return np.stack([np.asarray(plane) for plane in drawn], axis=-1)
