"""Least squares from sums of products."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def solve(gram: Floats, moment: Floats) -> Floats:
    """Solve least squares from ``gram [..., k, k]`` and ``moment [..., k]``; a column without variation gets 0."""
    scale = np.sqrt(np.maximum(np.einsum("...ii->...i", gram), 1e-300))
    scaled = gram / scale[..., :, None] / scale[..., None, :]
    inverse: Floats = np.linalg.pinv(scaled, rcond=1e-9, hermitian=True)
    slopes: Floats = np.einsum("...ij,...j->...i", inverse, moment / scale) / scale
    return slopes
