"""Contrast: between whom a comparison is made."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from likewise.errors import ContrastError, nearest, some
from likewise.tables.faces import Faces

Level = str | int | float | bool


@dataclass(frozen=True)
class Contrast:
    """Two levels of one column. Every difference in likewise is *focal minus reference*."""

    column: str
    focal: Level = field(kw_only=True)
    reference: Level = field(kw_only=True)

    def __post_init__(self) -> None:
        if not self.column:
            raise ContrastError("a contrast names a column", got="an empty name")
        if str(self.focal) == str(self.reference):
            raise ContrastError("focal and reference are different levels", got=f"{self.focal!r} for both")

    @property
    def label(self) -> str:
        """The difference in words, as estimates carry it: ``female - male``."""
        return f"{self.focal} - {self.reference}"

    def __str__(self) -> str:
        return f"{self.column}: {self.label}"

    def side(self, faces: Faces) -> pd.Series:
        """Return for each image +1 (focal), -1 (reference) or 0 (neither), indexed by image.

        Levels are compared as they are written: a table's 1 and a plan's "1" are the same level.
        """
        frame = faces.frame
        if self.column not in faces.attributes:
            fix = f"{nearest(self.column, faces.attributes)} The attributes are {some(faces.attributes, 8)}."
            raise ContrastError(f"the contrast's column {self.column!r} is in the table", fix=fix.strip())
        levels_written = frame[self.column].map(
            {level: written(level) for level in frame[self.column].dropna().unique()}
        )
        side = pd.Series(0, index=pd.Index(frame["image"], name="image"), name="side")
        for level, sign in ((self.focal, 1), (self.reference, -1)):
            hit = (levels_written == written(level)).to_numpy()
            if not hit.any():
                levels = sorted(levels_written.dropna().unique())
                fix = f"{nearest(str(level), levels)} The levels are {some(levels, 8)}."
                raise ContrastError(
                    f"both levels occur in {self.column!r}", got=f"none that is {level!r}", fix=fix.strip()
                )
            side[hit] = sign
        return side


def written(value: object) -> str:
    """Write a level the way tables and plans both do: True, 1 and 1.0 are ``1``."""
    return str(int(value)) if isinstance(value, bool | float) and value == int(value) else str(value)
