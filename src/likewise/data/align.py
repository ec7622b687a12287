"""align: photographs are brought into the frame that a generator draws: detect, five points, similarity transform.

Of several faces the central one is meant. Pictures are upright before anything is looked for (EXIF). A picture that
lies in the frame already is only brought to size, because every warp costs sharpness. A picture in which no face is
found is a failure: it is left out of the projection and counted by group, since a frame that fails one group more
often than the other selects the sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image

from likewise.data.keys import file_of
from likewise.errors import ImageError, PluginError, SpecError
from likewise.models.detectors.detection import Detection, Detector, central
from likewise.models.detectors.landmarks import AlignmentTemplate, template
from likewise.models.detectors.registry import detector
from likewise.models.geometry import Floats, Picture, moved, scale, warp
from likewise.runtime.executor import Result
from likewise.runtime.pixels import ImageFolder, save

FAILED, MOVED, ALREADY, UNREADABLE, TOO_SMALL = 0, 1, 2, 3, 4
STATES = {
    FAILED: "no face found", MOVED: "aligned", ALREADY: "aligned already", UNREADABLE: "cannot be opened",
    TOO_SMALL: "face too small",
}  # fmt: skip
LOST = (FAILED, UNREADABLE, TOO_SMALL)


@dataclass(frozen=True, kw_only=True)
class AlignSpec:
    """Into which frame faces are brought, and who finds them."""

    frame: str = ""
    """The frame by its template's name; empty asks the generator which frame it draws."""
    size: int = 0
    """Pixels of the aligned picture's side; 0 is the generator's resolution."""
    detector: str = "retinaface"
    """Who finds faces and their points."""
    slack: float = 0.18
    """How far a corner may be from its place, in sides, for a picture to be in the frame already. Of 200 CelebA-HQ
    crops all are within 0.15; of 200 FairFace crops, which are framed otherwise, none is within 0.23
    (``benchmarks/recognizers.py --frame``)."""

    least: int = 32
    """Pixels that the frame takes of the picture at least. Detectors see faces in thumbnails; they say nothing."""

    def __post_init__(self) -> None:
        if self.least < 1:
            raise SpecError(f"least is {self.least} pixels", fix="Give 1 or more.")
        if self.size < 0 or 0 < self.size < 32:
            raise SpecError(f"size is {self.size} pixels", fix="Give 32 or more, or 0 for the generator's resolution.")
        if not 0 <= self.slack < 0.5:
            raise SpecError(f"slack is {self.slack}", fix="Give a share of the side, from 0 to below 0.5.")


def settled(spec: AlignSpec, generator: object) -> AlignSpec:
    """Return the spec with the frame and the size of the generator where it names none."""
    frame = spec.frame or getattr(generator, "frame", "")
    if not frame:
        name = getattr(generator, "name", type(generator).__name__)
        fix = "Set frame in [align], or leave [align] out."
        raise PluginError(f"The generator {name!r} does not say in which frame it draws faces", fix=fix)
    size = spec.size or int(getattr(generator, "resolution", 0))
    return replace(spec, frame=template(frame).name, size=size)


@dataclass(frozen=True)
class Alignment:
    """The work of one chunk: writes the aligned pictures, and says of each image what became of it."""

    spec: AlignSpec
    album: ImageFolder
    folder: Path

    def __call__(self, images: list[str]) -> Result:
        """Align these images."""
        looker = detector(self.spec.detector)
        states = np.zeros(len(images), dtype=np.int8)
        for row, image in enumerate(images):  # one at a time: a photograph is large, and one of them may be broken
            try:
                picture = self.album([image])[0]
            except ImageError:
                states[row] = UNREADABLE
                continue
            states[row], aligned = align(picture, looker, self.spec)
            if aligned is not None:
                save(self.folder / file_of(image), aligned)
        return {"state": states}


def align(picture: Picture, looker: Detector, spec: AlignSpec) -> tuple[int, Picture | None]:
    """Return what became of a picture, and its face in the frame, ``[size, size, 3]``; None when there is no face."""
    face = central(looker.find(picture), picture)
    if face is None:
        return FAILED, None
    state, transform = frame_of(face, picture, looker.scheme, template(spec.frame), spec.slack, spec.size)
    if spec.size / scale(transform) < spec.least:
        return TOO_SMALL, None
    if state == ALREADY:
        return state, np.asarray(Image.fromarray(picture).resize((spec.size, spec.size), Image.Resampling.LANCZOS))
    return state, warp(picture, transform, spec.size, mirror=True)


def frame_of(
    face: Detection, picture: Picture, scheme: str, frame: AlignmentTemplate, slack: float, size: int
) -> tuple[int, Floats]:
    """Return whether a picture lies in the frame already, and the transform into the frame at ``size`` pixels."""
    side = picture.shape[0]
    if side == picture.shape[1] and astray(frame.transform(face.points, scheme, side), side) <= slack:
        factor = size / side
        return ALREADY, np.array([[factor, 0, (factor - 1) / 2], [0, factor, (factor - 1) / 2]])
    return MOVED, frame.transform(face.points, scheme, size)


def astray(transform: Floats, side: int) -> float:
    """Say how far the corners of a picture move under a transform into a frame of its own size, in sides."""
    corners = np.array([[0, 0], [side, 0], [0, side], [side, side]]) - 0.5
    return float(np.hypot(*(moved(corners, transform) - corners).T).max()) / side


def tally(images: list[str], states: list[int], groups: Mapping[str, object]) -> dict[str, dict[str, int]]:
    """Count by group what became of the images."""
    counts: dict[str, dict[str, int]] = {}
    for image, state in zip(images, states, strict=True):
        by_state = counts.setdefault(str(groups[image]), dict.fromkeys(STATES.values(), 0))
        by_state[STATES[state]] += 1
    return dict(sorted(counts.items()))
