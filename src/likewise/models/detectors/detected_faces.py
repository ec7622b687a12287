"""Faces that are detected once and used by several networks, each with its own crop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.models.detectors.detection import Detection, central
from likewise.models.detectors.landmarks import template
from likewise.models.detectors.registry import detector
from likewise.models.geometry import warp
from likewise.runtime.registry import Pictures
from likewise.runtime.threads import parallel_map


@dataclass(frozen=True)
class DetectedFaces:
    """Images of one size, and the central face of each; None where no face was detected."""

    pictures: Pictures
    faces: Sequence[Detection | None]
    scheme: str
    """The landmark scheme of the faces (see ``landmarks``)."""

    @property
    def there(self) -> npt.NDArray[np.bool_]:
        """Whether a face was detected, ``[n]``."""
        return np.array([face is not None for face in self.faces], dtype=bool)

    def transforms(self, name: str, size: int) -> list[npt.NDArray[np.float64]]:
        """Return for each detected face the transform ``[2, 3]`` into an alignment template's crop."""
        shape = template(name)
        return [shape.transform(face.points, self.scheme, size) for face in self.faces if face is not None]

    def crops(self, name: str, size: int) -> Pictures:
        """Return the crops ``[m, size, size, 3]`` of the detected faces."""
        found = self.pictures[self.there]
        cut = [warp(picture, move, size) for picture, move in zip(found, self.transforms(name, size), strict=True)]
        return np.stack(cut) if cut else np.zeros((0, size, size, 3), np.uint8)

    def spread(self, values: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
        """Give each image its face's row of ``values [m, ...]``; NaN where no face was detected."""
        wide = np.full((len(self.faces), *values.shape[1:]), np.nan, dtype=np.float32)
        wide[self.there] = values
        return wide


def detect_faces(pictures: Pictures, name: str = "dlib") -> DetectedFaces:
    """Detect the central face of each image.

    Parameters
    ----------
    pictures
        Images ``[n, H, W, 3]``, uint8 RGB.
    name
        The detector.
    """
    chosen = detector(name)
    found = parallel_map(lambda picture: central(chosen.find(picture), picture), pictures)
    return DetectedFaces(pictures, found, chosen.scheme)
