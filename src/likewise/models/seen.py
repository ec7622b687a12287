"""Faces that were found once and are looked at by several networks, each through a crop of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.models.batches import side_by_side
from likewise.models.finders import finder
from likewise.models.found import Found, central
from likewise.models.geometry import warp
from likewise.models.templates import template
from likewise.plugins import Pictures


@dataclass(frozen=True)
class Seen:
    """Pictures of one size, and the central face of each; None where no face was found."""

    pictures: Pictures
    faces: Sequence[Found | None]
    scheme: str
    """How the faces' five points are to be read (see templates)."""

    @property
    def there(self) -> npt.NDArray[np.bool_]:
        """Say in which pictures a face was found."""
        return np.array([face is not None for face in self.faces], dtype=bool)

    def transforms(self, name: str, size: int) -> list[npt.NDArray[np.float64]]:
        """Return for each face that was found how its picture is moved into a template's crop."""
        shape = template(name)
        return [shape.transform(face.points, self.scheme, size) for face in self.faces if face is not None]

    def crops(self, name: str, size: int) -> Pictures:
        """Return the crops ``[m, size, size, 3]`` of the faces that were found."""
        found = self.pictures[self.there]
        cut = [warp(picture, move, size) for picture, move in zip(found, self.transforms(name, size), strict=True)]
        return np.stack(cut) if cut else np.zeros((0, size, size, 3), np.uint8)

    def spread(self, values: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
        """Give each picture its face's row of ``values [m, ...]``; NaN where no face was found."""
        wide = np.full((len(self.faces), *values.shape[1:]), np.nan, dtype=np.float32)
        wide[self.there] = values
        return wide


def look_for_faces(pictures: Pictures, name: str = "dlib") -> Seen:
    """Find the central face of each picture."""
    looker = finder(name)
    found = side_by_side(lambda picture: central(looker.find(picture), picture), pictures)
    return Seen(pictures, found, looker.scheme)
