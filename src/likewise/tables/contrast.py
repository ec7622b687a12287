"""Contrast: the two groups that are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from likewise.errors import ContrastError, nearest, some
from likewise.tables.field_docs import documented
from likewise.tables.images import Images

Level = str | int | float | bool


@documented
@dataclass(frozen=True)
class Contrast:
    """Two levels of one column. Every difference in likewise is *focal minus reference*.

    Examples
    --------
    >>> from likewise.tables import Contrast
    >>> print(Contrast("sex", "F", "M"))
    sex: F - M
    """

    column: str
    """The column of the protected attribute."""
    focal: Level
    """The level whose difference from the reference is estimated."""
    reference: Level
    """The level that it is compared with."""

    def __post_init__(self) -> None:
        if not self.column:
            raise ContrastError("The contrast names no column", fix="Give the name of an attribute column.")
        if str(self.focal) == str(self.reference):
            raise ContrastError(f"Focal and reference are both {self.focal!r}", fix="Name two different levels.")

    @property
    def label(self) -> str:
        """The difference in words, as estimates carry it: ``female - male``."""
        return f"{self.focal} - {self.reference}"

    def __str__(self) -> str:
        return f"{self.column}: {self.label}"

    def side(self, faces: Images) -> pd.Series:
        """Return for each image +1 (focal), -1 (reference) or 0 (neither), indexed by image.

        Levels are compared as they are written: a table's 1 and a plan's "1" are the same level.
        """
        frame = faces.frame
        if self.column not in faces.attributes:
            fix = f"{nearest(self.column, faces.attributes)} The attributes are {some(faces.attributes, 8)}."
            raise ContrastError(f"Column {self.column!r} of the contrast not found in Images", fix=fix.strip())
        levels_written = frame[self.column].map(
            {level: written(level) for level in frame[self.column].dropna().unique()}
        )
        side = np.zeros(len(frame), dtype=np.int64)
        for level, sign in ((self.focal, 1), (self.reference, -1)):
            hit = (levels_written == written(level)).to_numpy()
            if not hit.any():
                levels = sorted(levels_written.dropna().unique())
                fix = f"{nearest(str(level), levels)} The levels are {some(levels, 8)}."
                raise ContrastError(f"Level {level!r} does not occur in column {self.column!r}", fix=fix.strip())
            side[hit] = sign
        return pd.Series(side, index=pd.Index(frame["image"], name="image"), name="side")


def written(value: object) -> str:
    """Write a level the way tables and plans both do: True, 1 and 1.0 are ``1``."""
    return str(int(value)) if isinstance(value, bool | float) and value == int(value) else str(value)
