"""The shape of a face, from its mesh: how far the mouth is open, how wide mouth, face and jaw are.

Distances of mesh points in three dimensions, relative to the distance of the outer corners of the eyes, so that neither
the size of the picture nor a turned head changes them (as far as the mesh's depth is right). They are measured, not
predicted: no network was trained on labels of these attributes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_EYES = (33, 263)  # outer corners; the mesh's numbers
_LIPS, _MOUTH = (13, 14), (61, 291)  # inner lips; corners of the mouth
_FACE, _JAW, _HEIGHT = (234, 454), (132, 361), (10, 152)  # at the ears, at the jaw's angles; forehead and chin


def shapes(mesh: npt.NDArray[np.floating]) -> Floats:
    """Return the shape ``[n, 4]`` of meshes ``[n, 468, 3]``: opening and width of the mouth, width of face and of jaw.

    NaN where there is no face. Opening and width of the mouth are relative to the distance of the eyes' outer corners.
    The widths of face (at the ears) and of jaw (at the mouth's height) are relative to the height of the face.
    """
    points = np.asarray(mesh, dtype=np.float64)
    eyes, height = _apart(points, _EYES), _apart(points, _HEIGHT)
    parts = [_apart(points, two) / eyes for two in (_LIPS, _MOUTH)]
    return np.stack([*parts, *(_apart(points, two) / height for two in (_FACE, _JAW))], axis=1)


def _apart(points: Floats, two: tuple[int, int]) -> Floats:
    return np.asarray(np.linalg.norm(points[:, two[0]] - points[:, two[1]], axis=1))
