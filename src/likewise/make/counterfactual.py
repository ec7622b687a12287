"""counterfactual: the same faces with only one attribute turned, at every level of a sweep."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from likewise.engine import Result
from likewise.errors import SpecError
from likewise.images import Album, save
from likewise.plugins import Editor, create
from likewise.tables import Faces


@dataclass(frozen=True, kw_only=True)
class SweepSpec:
    """Which faces are turned, how far, and by whom."""

    editor: str = "world"
    """The slot's occupant that edits."""
    options: dict[str, Any] = field(default_factory=dict)
    """The editor's own options."""
    levels: tuple[float, ...] = (-2.0, -1.0, 0.0, 1.0, 2.0)
    """Where the dial stands: -1 reference, +1 focal, 0 between; beyond +-1 is extrapolation."""
    most: int = 200
    """How many faces at most; one an identity, drawn by the seed."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(float(level) for level in self.levels))
        if len(self.levels) < 3 or list(self.levels) != sorted(set(self.levels)):
            raise SpecError("levels are three or more rising numbers", got=str(self.levels))
        if 0.0 not in self.levels:
            raise SpecError("the middle level 0 is among the levels", got=str(self.levels))
        if self.most < 2:
            raise SpecError("a sweep has at least 2 faces", got=str(self.most))


def chosen(faces: Faces, spec: SweepSpec, *, seed: int) -> list[str]:
    """Choose one image an identity, at most ``spec.most``, by the seed and not by the table's order."""
    rng = np.random.default_rng(seed)
    frame = faces.frame.sort_values("image", ignore_index=True)
    shuffled = frame.iloc[rng.permutation(len(frame))].drop_duplicates("identity")
    return sorted(shuffled["image"].head(spec.most))


def sweep_faces(faces: Faces, images: list[str], spec: SweepSpec) -> Faces:
    """Return the counterfactual Faces: a parent and a level each, and the parent's other attributes."""
    parents = faces.subset(images).frame.drop(columns=["file", "digest"], errors="ignore")
    parts = []
    for level in spec.levels:
        part = parents.assign(parent=parents["image"], level=level, source=f"editor {spec.editor}")
        parts.append(part.assign(image=[_key(image, level) for image in parents["image"]]))
    made = Faces(pd.concat(parts, ignore_index=True).sort_values(["parent", "level"], ignore_index=True))
    made.check_parents(faces)
    return made


def _key(image: str, level: float) -> str:
    return f"{image}@{level:+g}"


@dataclass(frozen=True)
class Sweep:
    """The work of one chunk: edits each face to every level and writes the pictures."""

    spec: SweepSpec
    album: Album
    folder: Path

    def __call__(self, images: list[str]) -> Result:
        """Write the pictures of these faces at all levels."""
        editor: Editor = create("editor", self.spec.editor, self.spec.options)
        pictures = self.album(images)
        for level in self.spec.levels:
            for image, picture in zip(images, editor.edit(pictures, level), strict=True):
                save(self.folder / file_of(_key(image, level)), picture)
        return {"done": np.ones(len(images), dtype=bool)}


def file_of(key: str) -> str:
    """Return the file name of a counterfactual; keys may hold a path."""
    return key.replace("/", "__") + ".png"
