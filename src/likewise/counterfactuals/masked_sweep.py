"""masked_sweep: photographs are edited inside the facial skin of their central face, at their own resolution.

The face is found, its skin segmented and its crop encoded once; only the drawing is done for every level. Every picture
that is made is compared with its original, pixel by pixel, outside the mask; a difference there is an error of ours.

An editor that draws the face again at every strength (``relit``) does not meet the light of the photograph exactly. The
wide shades in which the photograph's skin differs from the drawing of its own strength are added to all its drawings
alike, so the mask has no seam, and features come from one source at every strength.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from likewise.counterfactuals.face_region import FaceLocator, FaceRegion, crops_of, relit
from likewise.counterfactuals.placebo import MASK, ORIGINAL, RANDOM, RECONSTRUCT, random_arm, redrawn, swept
from likewise.counterfactuals.sweep import AT_ONCE, Sweep, outcome
from likewise.data.align import AlignSpec
from likewise.errors import ExecutorError
from likewise.models.detectors.registry import detector
from likewise.models.perception.segmentation import Segmenter
from likewise.runtime.executor import Result
from likewise.runtime.registry import Editor, Pictures

SIZE = 256  # pixels of the crop for an editor that takes any size
FRAME = "ffhq"  # the frame that generators of faces draw, and that networks trained on their faces know


@dataclass(frozen=True)
class MaskedSweep(Sweep):
    """The work of one chunk: as ``Sweep``, but only facial skin changes."""

    align: AlignSpec | None = None
    """The frame that faces are brought into for the editor; None: the pictures lie in it."""

    def __call__(self, images: list[str]) -> Result:
        """Write the pictures; return which faces could not be edited and why, and remarks on the others."""
        editor, message = self.the_editor(), outcome(len(images), len(self.spec.strengths))
        find = FaceLocator(detector(self.spec.detector), segmenter(), self.align, size_of(editor))
        for place, pictures in self.album.stacks(images, most=AT_ONCE):
            placed = find(list(pictures))
            there = [(place.start + row, each) for row, each in enumerate(placed) if isinstance(each, FaceRegion)]
            for row, each in enumerate(placed):
                message["reason"][place.start + row] = each if isinstance(each, str) else ""
            for row, each in there:
                message["remark"][row] = "|".join(each.remarks)
            if there:
                rows = [row for row, _ in there]
                keys = [images[row] for row in rows]
                message["outside"][rows] = self._edited(editor, keys, [each for _, each in there])
                for row, key in zip(rows, keys, strict=True):
                    message["reason"][row] = getattr(editor, "failures", {}).get(key, "")
        return message

    def _edited(self, editor: Editor, keys: list[str], placed: list[FaceRegion]) -> np.ndarray:
        levels, crops = self.spec.strengths, crops_of(placed)
        strips = swept(editor, crops, levels, keys)
        lit = bool(getattr(editor, "relit", False))
        drawn = redrawn(editor, crops, keys) if lit or {RECONSTRUCT, MASK} & set(self.arms) else None
        random = random_arm(editor, crops, strips, levels, keys, seed=self.seed) if RANDOM in self.arms else None
        counts = np.zeros((len(keys), len(levels)), np.int64)
        for row, (key, face) in enumerate(zip(keys, placed, strict=True)):
            if key in getattr(editor, "failures", {}):
                continue
            control = None if drawn is None else drawn[row]
            light = face.light(crops[row], control) if lit and control is not None else None
            strip, counts[row] = _pasted(face, crops[row], strips[row], light)
            moved = None if random is None else _pasted(face, crops[row], random[row], light)[0]
            arms: dict[str, Pictures | None] = {ORIGINAL: face.picture}
            if control is not None and RECONSTRUCT in self.arms:
                arms[RECONSTRUCT] = face.put_whole(crops[row], control)
            if control is not None and MASK in self.arms:
                arms[MASK] = _pasted(face, crops[row], control[None], light)[0][0]
            self.write(key, strip, moved, arms)
        return counts


def _pasted(
    face: FaceRegion, crop: Pictures, strip: Pictures, light: npt.NDArray[np.float32] | None
) -> tuple[Pictures, list[int]]:
    """Paste every strength into the picture, and count the pixels that changed outside the mask: none may."""
    shown = strip if light is None else relit(strip, light)
    back = np.stack([face.put_back(crop, edited) for edited in shown])
    counts = [face.outside_changed(picture) for picture in back]
    if any(counts):
        raise ExecutorError(
            f"{max(counts)} pixels outside the mask changed, which is an error of likewise",
            fix="Please report it with likewise.log; no edit was written.",
        )
    return back, counts


def size_of(editor: Editor) -> int:
    """Return how large the crop is that an editor sees."""
    return int(getattr(editor, "resolution", 0)) or SIZE


def frame_for(editor: Editor, planned: AlignSpec | None) -> AlignSpec | None:
    """Return the frame that a face is brought into: the plan's; none for latents of pictures as they are."""
    size = size_of(editor)
    if planned is not None:
        return AlignSpec(frame=planned.frame or FRAME, size=size, detector=planned.detector, slack=planned.slack)
    return None if getattr(editor, "latents", None) is not None else AlignSpec(frame=FRAME, size=size)


@lru_cache(maxsize=1)
def segmenter() -> Segmenter:
    """Return the network that finds facial skin; it is loaded once a process."""
    return Segmenter()
