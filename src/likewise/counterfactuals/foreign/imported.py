"""The editor component ``import``: edits that are there already, by anybody, listed in a manifest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from PIL import Image

from likewise.counterfactuals.placebo import RANDOM, RECONSTRUCT
from likewise.errors import ImageError, LikewiseError, SpecError
from likewise.runtime.pixels import decode, inside
from likewise.runtime.registry import Pictures
from likewise.tables.checks import need_columns
from likewise.tables.io import read_frame

_SHAPE = 0.02  # by how much an aspect ratio may differ
NONE_AT, RESHAPED, BROKEN = "the set has no edit at strength ", "the edit has another aspect ratio", "does not decode"
Strips = npt.NDArray[np.uint8]


class ImportedEdits:
    """Looks up the edits of an image; an image without an edit at every strength is not edited, and is counted.

    Parameters
    ----------
    path : str
        The manifest that ``likewise import-edits`` writes.
    images : str
        The folder of the edited pictures.
    attribute : str
        What the edits change.
    held : sequence of str, optional
        What the set claims to hold; by default everything else.
    focal : str
        The group that +1 looks like.
    """

    license = "of the imported set"
    mask = "person"

    def __init__(
        self, path: str, images: str, attribute: str, held: Sequence[str] | None = None, focal: str = "",
        name: str = "import",
    ) -> None:  # fmt: skip
        if not Path(path).is_file():
            raise SpecError(f"The manifest of the imported edits, {Path(path).name}, is missing",
                            fix="Write it with: likewise import-edits DIR EDITS")  # fmt: skip
        frame, _ = read_frame(Path(path), text=("parent", "file", "arm", "sha256"))
        need_columns(frame, ["parent", "strength", "file"], "the manifest of the edits")
        self.attribute, self.focal, self.name = attribute, focal, name
        self._root = Path(images)
        self._files = _listed(frame)
        self.images = frozenset(parent for parent, _, _ in self._files)
        """The originals that the set has edits of."""
        arms = {arm for _, _, arm in self._files}
        self.random: Any = self._random if RANDOM in arms else None
        if RECONSTRUCT in arms:  # the arm exists where the editor has this method
            self.redraw = self._redraw
        if held is not None:
            self.held = tuple(held)
        self.failures: dict[str, str] = {}

    def edit(self, pictures: Pictures, level: float) -> Pictures:
        """Edits are looked up by the key of an image, which a picture alone does not have."""
        raise SpecError("Imported edits are looked up by image", fix="Use sweep(pictures, strengths, images).")

    def sweep(self, pictures: Pictures, levels: Sequence[float], images: Sequence[str]) -> Strips:
        """Return the edits at all strengths; ``failures`` says which images lack one, and why."""
        return self._strips(pictures, levels, images, "")

    def _random(self, pictures: Pictures, levels: Sequence[float], images: Sequence[str], seed: int) -> Strips:
        return self._strips(pictures, levels, images, RANDOM)

    def _redraw(self, pictures: Pictures, images: Sequence[str]) -> Pictures:
        drawn: Pictures = self._strips(pictures, (0.0,), images, RECONSTRUCT)[:, 0]
        return drawn

    def _strips(self, pictures: Pictures, levels: Sequence[float], images: Sequence[str], arm: str) -> Strips:
        strips = np.repeat(pictures[:, None], len(levels), axis=1)
        for row, image in enumerate(images):
            for place, level in enumerate(levels):
                found = self._found(image, float(level), arm, pictures[row])
                if isinstance(found, str):
                    self.failures[image] = found
                else:
                    strips[row, place] = found
        return strips

    def _found(self, image: str, level: float, arm: str, original: Pictures) -> Pictures | str:
        name = self._files.get((image, level, arm))
        if name is None:
            return f"{NONE_AT}{level:+g}"
        try:
            picture = decode(inside(self._root, name))
        except (ImageError, LikewiseError):
            return BROKEN
        height, width = original.shape[:2]
        if abs(picture.shape[1] / picture.shape[0] / (width / height) - 1) > _SHAPE:
            return RESHAPED
        if picture.shape[:2] == (height, width):
            return picture
        return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.LANCZOS))


def _listed(frame: pd.DataFrame) -> dict[tuple[str, float, str], str]:
    arms = frame["arm"].fillna("").astype(str) if "arm" in frame.columns else pd.Series("", index=frame.index)
    rows = zip(frame["parent"], frame["strength"].astype(float), arms, frame["file"], strict=True)
    return {(str(parent), 0.0 if arm == RECONSTRUCT else level, arm): str(file) for parent, level, arm, file in rows}
