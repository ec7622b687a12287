"""What networks say about drawn images: how many people, and their attributes.

Predictions are kept by the digest of the file, so that an interrupted run resumes and nothing is done twice.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from likewise.data.describe import describe, describer
from likewise.data.describe_spec import COLUMNS, DescribeSpec
from likewise.errors import SpecError, nearest, some
from likewise.models.detectors.registry import detector
from likewise.runtime.executor import Progress
from likewise.runtime.pixels import decode, digest, inside
from likewise.tables import Images
from likewise.tables.io import parse_json, write_frame

PREDICTIONS = "predictions.csv"
TONE, AGE_GROUP = "measured_tone", "predicted_age_group"
DERIVED = {TONE: "measured_ita", AGE_GROUP: "predicted_age"}
"""Columns that are groups of a number, and the number."""
LEVELS = {
    "predicted_gender": ("female", "male"),
    TONE: ("darker", "lighter"),
    AGE_GROUP: ("under 30", "30 to 49", "50 and over"),
}
"""The levels that a column can have, also those that no image has."""
ITA = 28.0  # degrees: the usual limit between intermediate and tan skin, about Fitzpatrick III and IV
_CHUNK = 16


@dataclass(frozen=True, kw_only=True)
class Predicting:
    """Counts people and predicts columns of the images in a folder."""

    columns: tuple[str, ...]
    detector: str = "retinaface"
    """Counts people; the networks of ``describe`` have a detector of their own."""

    def __post_init__(self) -> None:
        known = (*COLUMNS, *DERIVED)
        unknown = [name for name in self.columns if name not in known]
        if unknown:
            raise SpecError(
                f"No network predicts {some(unknown)}",
                fix=nearest(unknown[0], known) or f"Choose from {some(known, 16)}, or give a table with --attributes.",
            )

    @property
    def base(self) -> tuple[str, ...]:
        """The columns that networks give."""
        return tuple(dict.fromkeys(DERIVED.get(name, name) for name in self.columns))

    def licenses(self) -> dict[str, str]:
        """Return the licenses of the networks."""
        own = {f"detector {self.detector}": detector(self.detector).license}
        return {**describer(DescribeSpec(columns=self.base)).licenses(), **own}

    def run(self, images: Images, root: Path, keep: Path, progress: Progress) -> Images:
        """Return the images with ``people`` and the columns; attributes are those of images that show one person."""
        done = self._kept(keep)
        files = {key: digest(inside(root, key)) for key in images.keys}
        first = {files[key]: key for key in reversed(images.keys)}  # equal files are looked at once
        missing = [key for file, key in first.items() if file not in done.index]
        progress.advance(len(images) - len(missing))
        for start in range(0, len(missing), _CHUNK):
            chunk = missing[start : start + _CHUNK]
            made = self._chunk(images.subset(chunk), root).set_axis(
                pd.Index([files[key] for key in chunk], name="sha256")
            )
            done = pd.concat([done, made])
            self._keep(keep, done)
            progress.advance(len(chunk))
        found = done.loc[[files[key] for key in images.keys]].set_axis(pd.Index(images.keys))
        return self._joined(images, found)

    def _chunk(self, images: Images, root: Path) -> pd.DataFrame:
        find = detector(self.detector).find
        people = [len(find(decode(inside(root, key)))) for key in images.keys]
        plain = Images(images.frame[["image", "identity"]])
        made = describe(plain, root, spec=DescribeSpec(columns=self.base)).frame
        return made[list(self.base)].assign(people=people)

    def _joined(self, images: Images, found: pd.DataFrame) -> Images:
        one = found["people"].astype(int) == 1
        images = images.with_attribute("people", found["people"].astype(int))
        for name in dict.fromkeys((*self.base, *self.columns)):
            values = grouped(name, found[DERIVED[name]]) if name in DERIVED else found[name]
            images = images.with_attribute(name, values.where(one))
        return images

    def _kept(self, keep: Path) -> pd.DataFrame:
        """Return earlier predictions by file, if they are of the same networks."""
        if keep.is_file() and _stated(keep) == self._stamp():
            return pd.read_csv(keep, dtype={"sha256": str, "predicted_gender": str}, comment="#").set_index("sha256")
        return pd.DataFrame()

    def _keep(self, keep: Path, done: pd.DataFrame) -> None:
        write_frame(keep, done.rename_axis("sha256").reset_index(), {})
        keep.with_suffix(".json").write_text(json.dumps(self._stamp()), encoding="utf-8")

    def _stamp(self) -> dict[str, object]:
        return {"detector": self.detector, "columns": sorted(self.base), "format": 1}


def _stated(keep: Path) -> object:
    path = keep.with_suffix(".json")
    try:
        return parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def grouped(name: str, numbers: pd.Series) -> pd.Series:
    """Return the groups of a number: skin tones by ITA, or ages.

    Examples
    --------
    >>> grouped(TONE, pd.Series([40.0, 10.0])).tolist()
    ['lighter', 'darker']
    """
    values = pd.to_numeric(numbers, errors="coerce")
    if name == TONE:
        words = np.where(values > ITA, "lighter", "darker")
    else:
        words = np.select([values < 30, values < 50], LEVELS[AGE_GROUP][:2], LEVELS[AGE_GROUP][2])
    return pd.Series(words, index=numbers.index, dtype=object).where(values.notna())
