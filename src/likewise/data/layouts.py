"""The layouts in which people have faces: a table; a folder a person (LFW); CelebA's text files; FairFace's CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from likewise.data.celeba import celeba_table
from likewise.errors import ImageError, LikewiseError, SpecError, TableError, nearest, some
from likewise.runtime.pixels import SUFFIXES
from likewise.tables import Images
from likewise.tables.checks import need_columns
from likewise.tables.io import read_frame

_OLDEST = 75.0  # for "more than 70": FairFace has no upper end


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a table lies, how it is laid out, and which of its columns hold the key and the identity."""

    table: Path | None
    images: Path | None
    layout: str = "table"
    image: str = "image"
    identity: str = "identity"
    rename: Mapping[str, str] = field(default_factory=dict)

    def faces(self) -> Images:
        """Read the table as its layout says; no image is opened."""
        if self.layout not in LAYOUTS:
            fix = nearest(self.layout, LAYOUTS) or f"Choose one of {some(LAYOUTS, 8)}."
            raise SpecError(f"Unknown layout {self.layout!r}", fix=fix)
        try:
            return LAYOUTS[self.layout](self)
        except (ValueError, KeyError) as error:  # a file that is not what its name says
            if isinstance(error, LikewiseError):
                raise
            problem = f"Cannot read {self.table or self.images} with the layout {self.layout!r}"
            raise TableError(
                f"{problem}: {str(error).strip()[:200]}",
                fix="Check that the file is complete, and in the layout of this data set.",
            ) from error

    def need_table(self) -> Path:
        """Return the table; raise where the layout needs one and none is given."""
        if self.table is None:
            raise TableError(f"The layout {self.layout!r} needs a table, and none is given", fix="Set table in [data].")
        return self.table


def _table(given: Source) -> Images:
    return Images.read(given.need_table(), image=given.image, identity=given.identity, rename=given.rename)


def _folders(given: Source) -> Images:
    """Take every image of a folder a person; a table, if there is one, adds attributes by image or by person."""
    listed = listed_images(given.images)
    whose = [key.rpartition("/")[0] for key in listed]
    if "" in whose:
        loose = [key for key, who in zip(listed, whose, strict=True) if not who]
        fix = "Move each image into the folder of its identity, or use the layout 'table'."
        raise ImageError(f"{len(loose)} images are in no identity's folder: {some(loose)}", fix=fix)
    frame = pd.DataFrame({"image": listed, "identity": whose})
    return Images(_joined(frame, given).rename(columns=dict(given.rename)))


def _joined(frame: pd.DataFrame, given: Source) -> pd.DataFrame:
    """Keep the images that the table knows, by their name (with or without ending), or by their person."""
    if given.table is None:
        return frame
    more, _ = read_frame(given.table, text=(given.image, given.identity))
    need_columns(more, list(given.rename), f"the table {given.table.name}")
    if given.image in more.columns:
        own = frame["image"].where(frame["image"].isin(more[given.image]), frame["image"].map(_without_ending))
        left, key, spare = frame.assign(**{"": own}), given.image, given.identity
    else:
        need_columns(more, [given.identity], f"the table {given.table.name}")
        left, key, spare = frame.assign(**{"": frame["identity"]}), given.identity, given.image
    more = more.drop(columns=[name for name in (spare, "image", "identity") if name in more.columns and name != key])
    if more[key].duplicated().any():
        twice = some(more.loc[more[key].duplicated(), key].unique())
        raise TableError(f"{given.table.name} has several rows for {key} {twice}", fix="Keep one of them.")
    joined = left.merge(more.rename(columns={key: ""}), on="", how="inner").drop(columns="")
    if joined.empty:
        fix = f"Check the column {key!r}: its values are file names, or names of folders."
        raise TableError(f"{given.table.name} has no row for any image in {given.images}", fix=fix)
    return joined


def _celeba(given: Source) -> Images:
    frame = celeba_table(given.need_table(), alone=given.identity == "image")
    need_columns(frame, list(given.rename), "the table of CelebA")
    return Images(frame.rename(columns=dict(given.rename)))


def _fairface(given: Source) -> Images:
    """Read FairFace's labels: every image is another identity, and all attributes are perceived by annotators."""
    frame, _ = read_frame(given.need_table(), text=("file",))
    need_columns(frame, ["file", "age", "gender", "race", *given.rename], f"the table {given.need_table().name}")
    known = frame["age"].astype("str")
    made = pd.DataFrame({
        "image": frame["file"],
        "identity": frame["file"],
        "perceived_gender": frame["gender"].str.lower(),
        "perceived_race": frame["race"],
        "perceived_age_group": known,
        "perceived_age": known.map(_middle),
    })  # fmt: skip
    return Images(made.rename(columns=dict(given.rename)))


def _middle(span: str) -> float:
    """Return the middle of an age group, in years: 24.5 for ``20-29``."""
    ends = [float(number) for number in re.findall(r"\d+", span)]
    if not ends:
        raise TableError(f"Cannot read the age group {span[:40]!r}", fix="FairFace writes it like 20-29.")
    return sum(ends) / 2 if len(ends) == 2 else _OLDEST


LAYOUTS: dict[str, Callable[[Source], Images]] = {
    "table": _table,
    "folders": _folders,
    "celeba": _celeba,
    "fairface": _fairface,
}


def listed_images(folder: Path | None) -> list[str]:
    """Name all image files below a folder, by their endings alone."""
    if folder is None or not folder.is_dir():
        raise ImageError(
            f"Image folder not found: {folder}" if folder else "No image folder is given", fix="Check images in [data]."
        )
    found = (path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES[1:] and path.is_file())
    return sorted(path.relative_to(folder).as_posix() for path in found)


def _without_ending(key: str) -> str:
    return key.rpartition(".")[0]
