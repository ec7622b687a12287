"""What a network wants to see: which crop of a face, how large, and how its numbers are scaled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.errors import SpecError
from likewise.models.batches import side_by_side
from likewise.models.finders import finder
from likewise.models.found import central
from likewise.models.geometry import Picture, warp
from likewise.models.templates import template
from likewise.plugins import Array, Pictures

Three = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Intake:
    """How a picture becomes the input of a network: find, crop, scale."""

    size: int
    """Pixels of the crop's side."""
    template: str = "arcface"
    """Where the points of the face lie in the crop."""
    finder: str = "retinaface"
    """Who finds the face and its points."""
    mean: Three = (127.5, 127.5, 127.5)
    """Taken off each channel (0 to 255), in the network's order of colours."""
    scale: Three = (127.5, 127.5, 127.5)
    """What each channel is then divided by."""
    colour: str = "RGB"
    """The network's order of colours: RGB or BGR."""
    layout: str = "NCHW"
    """Channels first or last: NCHW or NHWC."""

    def __post_init__(self) -> None:
        for name in ("mean", "scale"):
            object.__setattr__(self, name, _three(getattr(self, name), name))
        if self.colour not in ("RGB", "BGR") or self.layout not in ("NCHW", "NHWC"):
            raise SpecError("colour is RGB or BGR, layout NCHW or NHWC", got=f"{self.colour} and {self.layout}")
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 8:
            raise SpecError("the size of a crop is 8 pixels or more", got=repr(self.size))
        if 0 in self.scale:
            raise SpecError("no channel is divided by 0", got=str(self.scale))

    def crop(self, picture: Picture) -> Picture | None:
        """Return the crop ``[size, size, 3]`` of the central face; None when no face is found."""
        looker = finder(self.finder)
        face = central(looker.find(picture), picture)
        if face is None:
            return None
        return warp(picture, template(self.template).transform(face.points, looker.scheme, self.size), self.size)

    def crops(self, pictures: Iterable[Picture]) -> tuple[Pictures, npt.NDArray[np.bool_]]:
        """Return the crops of the faces that were found ``[m, size, size, 3]``, and of which pictures they are."""
        finder(self.finder)  # made once, before threads ask for it
        cut = side_by_side(self.crop, pictures)
        there = np.array([crop is not None for crop in cut], dtype=bool)
        found = [crop for crop in cut if crop is not None]
        return (np.stack(found) if found else np.zeros((0, self.size, self.size, 3), np.uint8)), there

    def prepared(self, crops: Pictures) -> Array:
        """Return the network's input from crops."""
        ordered = crops[..., ::-1] if self.colour == "BGR" else crops
        scaled = (ordered - np.array(self.mean, np.float32)) / np.array(self.scale, np.float32)
        return np.ascontiguousarray(scaled if self.layout == "NHWC" else np.moveaxis(scaled, -1, 1))


def _three(value: object, name: str) -> Three:
    """Return a number, or one a channel, as three numbers."""
    try:
        numbers = np.broadcast_to(np.asarray(value, dtype=np.float64), 3)
    except (TypeError, ValueError) as error:
        raise SpecError(f"{name} is one number or three", got=repr(value)) from error
    return float(numbers[0]), float(numbers[1]), float(numbers[2])
