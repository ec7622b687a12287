"""The manifest of a ready set of edits: which file is which image at which strength.

It is a table with the columns ``parent``, ``strength``, ``file``, ``sha256`` and optionally ``arm``
(``reconstruct`` or ``random``: placebo arms that the set has). ``likewise import-edits`` writes it from other layouts:

- ``table``: a table with a row for each edit;
- ``folders``: a folder for each strength or level, with files named like their originals;
- ``names``: files named ``ORIGINAL<separator>LEVEL.png``;
- ``pairs``, ``causalface``, ``social-counterfactuals``: published sets, see ``published``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from likewise.counterfactuals.foreign.published import PUBLISHED, SOCIAL, published_edits, published_images
from likewise.counterfactuals.placebo import RANDOM, RECONSTRUCT
from likewise.data.keys import without_ending
from likewise.errors import ImageError, SpecError, TableError, nearest, some
from likewise.runtime.pixels import SUFFIXES, digest, inside
from likewise.tables.checks import need_columns
from likewise.tables.io import read_frame

COLUMNS = ["parent", "strength", "arm", "file", "sha256"]
ARMS = ("", RECONSTRUCT, RANDOM)
LAYOUTS = ("table", "folders", "names", *PUBLISHED)


@dataclass(frozen=True, kw_only=True)
class EditSet:
    """Where a set of edits lies, and how it says what each file is."""

    images: Path
    table: Path | None = None
    layout: str = ""
    """``table``, ``folders``, ``names`` or a published set; empty: by what is there."""
    attribute: str = ""
    """Of published sets: what differs between the versions of a scene."""
    parent: str = "parent"
    strength: str = "strength"
    file: str = "file"
    arm: str = ""
    """Of tables: the columns of the original, the strength (or level), the file and the placebo arm."""
    levels: Mapping[str, float] = field(default_factory=dict)
    """The strength of each level that is written as a word, e.g. male: -1, female: 1."""
    separator: str = "_"
    """Of names: what separates the original's name from the level."""

    def __post_init__(self) -> None:
        if not self.images.is_dir():
            raise ImageError(f"There is no folder {self.images}", fix="Give the folder of the edited pictures.")
        if self.layout and self.layout not in LAYOUTS:
            fix = nearest(self.layout, LAYOUTS) or f"Choose one of {some(LAYOUTS)}."
            raise SpecError(f"Unknown layout {self.layout!r} of edits", fix=fix)
        if (self.layout in ("table", SOCIAL)) != (self.table is not None) and self.layout:
            raise SpecError(
                f"The layout {self.layout!r} and the table do not fit",
                fix="A table belongs to the layouts 'table' and 'social-counterfactuals'.",
            )

    def read(self, originals: Sequence[str]) -> pd.DataFrame:
        """Return the manifest; every file is in the folder, and every parent is one of ``originals``."""
        if self.layout in PUBLISHED:
            return self._checked(self._published(originals))
        kind = self.layout or ("table" if self.table is not None else "folders" if self._folders() else "names")
        rows = {"table": self._from_table, "folders": self._from_folders, "names": self._from_names}[kind]()
        if rows.empty:
            raise ImageError(
                f"No edited pictures were found in {self.images} with the layout {kind!r}",
                fix="Check the folder, or name another layout with --layout.",
            )
        rows = rows.assign(parent=_parents(rows["parent"], originals), strength=[*map(self._value, rows["strength"])])
        return self._checked(rows)

    def _published(self, originals: Sequence[str]) -> pd.DataFrame:
        rows = published_edits(published_images(self.layout, self.images, self.table), self.attribute, self.levels)
        return rows.assign(parent=_parents(rows["parent"], originals))

    def _from_table(self) -> pd.DataFrame:
        assert self.table is not None
        frame, _ = read_frame(self.table, text=(self.parent, self.file))
        need_columns(frame, [self.parent, self.strength, self.file, *filter(None, [self.arm])], self.table.name)
        arm = frame[self.arm].fillna("").astype(str) if self.arm else ""
        return pd.DataFrame(
            {"parent": frame[self.parent], "strength": frame[self.strength], "arm": arm, "file": frame[self.file]}
        )

    def _folders(self) -> list[Path]:
        return [path for path in sorted(self.images.iterdir()) if path.is_dir() and self._known(path.name)]

    def _from_folders(self) -> pd.DataFrame:
        files = [(path.stem, folder.name, f"{folder.name}/{path.name}")
                 for folder in self._folders() for path in _pictures(folder)]  # fmt: skip
        return pd.DataFrame(files, columns=["parent", "strength", "file"]).assign(arm="")

    def _from_names(self) -> pd.DataFrame:
        parts = [(path, *path.stem.rpartition(self.separator)) for path in _pictures(self.images)]
        rows = [(parent, level, path.name) for path, parent, _, level in parts if parent and self._known(level)]
        return pd.DataFrame(rows, columns=["parent", "strength", "file"]).assign(arm="")

    def _known(self, level: str) -> bool:
        return level in self.levels or re.fullmatch(r"[-+]?\d+(\.\d+)?", level) is not None

    def _value(self, level: object) -> float:
        word = str(level).strip()
        if word in self.levels:
            return float(self.levels[word])
        try:
            return float(word)
        except ValueError:
            fix = "Map levels to strengths: --level male=-1 --level female=1"
            raise TableError(f"The level {word[:40]!r} of the edits has no strength", fix=fix) from None

    def _checked(self, rows: pd.DataFrame) -> pd.DataFrame:
        wrong = sorted(set(rows["arm"]) - set(ARMS))
        if wrong:
            raise TableError(f"Unknown arm {wrong[0]!r} of edits", fix=f"Leave it empty, or use {some(ARMS[1:])}.")
        twice = rows[rows.duplicated(["parent", "strength", "arm"])]
        if len(twice):
            one = twice.iloc[0]
            raise TableError(
                f"Two edits of {one['parent']!r} have the strength {one['strength']:+g}",
                fix="Give each edit of an image a strength of its own.",
            )
        paths = [inside(self.images, str(name)) for name in rows["file"]]
        missing = [str(name) for name, path in zip(rows["file"], paths, strict=True) if not path.is_file()]
        if missing:
            raise ImageError(
                f"{len(missing)} edited pictures are not in {self.images}: {some(missing)}",
                fix="Check the folder, or remove their rows.",
            )
        ordered = rows.assign(sha256=[digest(path) for path in paths])[COLUMNS]
        return ordered.sort_values(["parent", "arm", "strength"], ignore_index=True)


def _pictures(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.suffix.lower() in SUFFIXES and path.is_file()]


def _parents(given: pd.Series, originals: Sequence[str]) -> list[str]:
    """Return the keys of the originals; a name may lack the ending that the key has, or have one."""
    known = {key: key for key in originals}
    known = {**{without_ending(key): key for key in originals}, **known}
    found = [known.get(str(name)) or known.get(without_ending(name)) for name in given]
    unknown = [str(name) for name, key in zip(given, found, strict=True) if key is None]
    if unknown:
        fix = f"Parents are keys of the audit's table, e.g. {some(list(originals), 2)}."
        problem = f"{len(unknown)} of {len(found)} edits have a parent that is not in the audit: {some(unknown)}"
        raise TableError(problem, fix=fix)
    return [str(key) for key in found]


def complete(manifest: pd.DataFrame) -> tuple[tuple[float, ...], list[str], list[str]]:
    """Return the strengths that most originals have, the originals that have all of them, and the others."""
    edits = manifest[manifest["arm"] == ""]
    counts = edits["strength"].value_counts()
    strengths = tuple(sorted(float(level) for level in counts.index[counts >= 0.5 * edits["parent"].nunique()]))
    wide = edits[edits["strength"].isin(strengths)].groupby("parent")["strength"].nunique()
    whole = wide.index[wide.to_numpy() == np.int64(len(strengths))]
    return strengths, sorted(whole), sorted(set(edits["parent"]) - set(whole))
