"""Preprocessing of a network: which crop of a face, its size, and how pixel values are scaled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.errors import SpecError
from likewise.models.detectors.detection import central
from likewise.models.detectors.landmarks import template
from likewise.models.detectors.registry import detector
from likewise.models.geometry import Picture, warp
from likewise.runtime.registry import Array, Pictures
from likewise.runtime.threads import parallel_map

Three = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    """How an image becomes the input of a network: detect, crop, scale."""

    size: int
    """Pixels of the crop's side."""
    template: str = "arcface"
    """The alignment template of the crop."""
    detector: str = "retinaface"
    """The face detector."""
    mean: float | tuple[float, ...] = (127.5, 127.5, 127.5)
    """Subtracted from each channel (0 to 255), in the network's channel order."""
    scale: float | tuple[float, ...] = (127.5, 127.5, 127.5)
    """The divisor of each channel."""
    color: str = "RGB"
    """The network's channel order: RGB or BGR."""
    layout: str = "NCHW"
    """Channels first or last: NCHW or NHWC."""

    def __post_init__(self) -> None:
        for name in ("mean", "scale"):
            object.__setattr__(self, name, _three(getattr(self, name), name))
        if self.color not in ("RGB", "BGR") or self.layout not in ("NCHW", "NHWC"):
            raise SpecError(
                f"color is {self.color!r} and layout {self.layout!r}", fix="Choose RGB or BGR, and NCHW or NHWC."
            )
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 8:
            raise SpecError(f"size is {self.size!r}; a crop must have at least 8 pixels")
        if 0 in _three(self.scale, "scale"):
            raise SpecError(f"scale is {self.scale}; it must not contain 0")

    def crop(self, picture: Picture) -> Picture | None:
        """Return the crop ``[size, size, 3]`` of the central face; None when no face is detected."""
        chosen = detector(self.detector)
        face = central(chosen.find(picture), picture)
        if face is None:
            return None
        return warp(picture, template(self.template).transform(face.points, chosen.scheme, self.size), self.size)

    def crops(self, pictures: Iterable[Picture]) -> tuple[Pictures, npt.NDArray[np.bool_]]:
        """Return the crops ``[m, size, size, 3]`` of the detected faces, and which images they are of ``[n]``."""
        detector(self.detector)  # loaded once, before threads use it
        cut = parallel_map(self.crop, pictures)
        there = np.array([crop is not None for crop in cut], dtype=bool)
        found = [crop for crop in cut if crop is not None]
        return (np.stack(found) if found else np.zeros((0, self.size, self.size, 3), np.uint8)), there

    def prepared(self, crops: Pictures) -> Array:
        """Return the network's input from crops."""
        ordered = crops[..., ::-1] if self.color == "BGR" else crops
        scaled = (ordered - np.array(self.mean, np.float32)) / np.array(self.scale, np.float32)
        return np.ascontiguousarray(scaled if self.layout == "NHWC" else np.moveaxis(scaled, -1, 1))


def _three(value: object, name: str) -> Three:
    """Return a number, or one a channel, as three numbers."""
    try:
        numbers = np.broadcast_to(np.asarray(value, dtype=np.float64), 3)
    except (TypeError, ValueError) as error:
        raise SpecError(f"{name} is {str(value)[:60]}; it must be one number or three") from error
    return float(numbers[0]), float(numbers[1]), float(numbers[2])
