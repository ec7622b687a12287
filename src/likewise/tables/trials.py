"""Trials: which two images a rater is asked about, of one person (genuine) or of two (impostor)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import pandas as pd

from likewise.errors import TableError, some
from likewise.tables.checks import as_keys, need_columns, need_frame, need_numbers, need_unique, need_values, texts
from likewise.tables.images import Images
from likewise.tables.table import Table

COLUMNS = ("trial", "a", "b", "same", "stratum", "distance")
DROPPED = ("side", "reason", "images")


class Trials(Table):
    """Rows of two images that a recognizer or a person compares.

    Parameters
    ----------
    frame
        Columns ``trial`` (unique key), ``a``, ``b`` (two different images) and ``same`` (True: genuine, both show one
        identity; False: impostor). Optional: ``stratum`` (which groups meet), ``distance`` (a precomputed one).
    dropped
        How many images are in no trial, by reason: columns ``side``, ``reason``, ``images``.
    offered
        How many images there were: ``{"all": 120}``.

    Examples
    --------
    >>> import pandas as pd
    >>> from likewise.tables import Trials
    >>> rows = {"trial": ["t1", "t2"], "a": ["1", "1"], "b": ["2", "3"], "same": [True, False]}
    >>> asked = Trials(pd.DataFrame(rows))
    >>> asked
    <Trials: 1 genuine and 1 impostor trials of 3 images>
    >>> asked.genuine().frame["trial"].tolist()
    ['t1']
    """

    text_columns: ClassVar[tuple[str, ...]] = ("trial", "a", "b", "stratum")
    offered: dict[str, int]
    _dropped: pd.DataFrame

    def __init__(
        self,
        frame: pd.DataFrame,
        *,
        dropped: pd.DataFrame | None = None,
        offered: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(frame)
        gone = pd.DataFrame(columns=list(DROPPED)) if dropped is None else need_frame(dropped, "dropped")
        self._set(offered=dict(offered or {}), _dropped=gone)
        self._check_sum()

    def _checked(self, frame: pd.DataFrame) -> pd.DataFrame:
        frame = need_frame(frame, "Trials")
        need_columns(frame, ["trial", "a", "b", "same"], "Trials")
        unknown = [name for name in frame.columns if name not in COLUMNS]
        if unknown:
            raise TableError(f"Trials has no column {unknown[0]!r}", fix=f"Its columns are {some(COLUMNS, 6)}.")
        for name in set(self.text_columns) & set(frame.columns):
            frame[name] = as_keys(frame[name])
        need_values(frame, ["trial", "a", "b", "same"], "trial", "Trials")
        need_unique(frame, ["trial"], "Trials")
        need_numbers(frame, [name for name in ("distance",) if name in frame.columns], "Trials")
        frame["same"] = frame["same"].astype(bool)
        itself = frame["a"] == frame["b"]
        if itself.any():
            culprits = some(frame.loc[itself, "trial"])
            raise TableError(
                f"Trials compare an image with itself: {culprits}", fix="A trial has two different images."
            )
        return frame

    def _check_sum(self) -> None:
        if not self.offered:
            return
        offered, inside = sum(self.offered.values()), len(self.images)
        gone = int(self._dropped["images"].sum())
        if inside + gone != offered:
            raise TableError(
                f"Trials hold {inside} images and dropped {gone}, but {offered} were offered",
                fix="Count every image once, as used or as dropped.",
            )

    @property
    def dropped(self) -> pd.DataFrame:
        """How many images are in no trial, and why."""
        return self._dropped.copy()

    @property
    def keys(self) -> list[str]:
        """The keys of the trials, in the order of the rows."""
        return texts(self._frame["trial"])

    @property
    def images(self) -> list[str]:
        """Every image that occurs, once, sorted."""
        return sorted({*texts(self._frame["a"]), *texts(self._frame["b"])})

    def genuine(self) -> Trials:
        """Return the trials that show one person twice."""
        return Trials(self._frame[self._frame["same"]])

    def impostors(self) -> Trials:
        """Return the trials that show two people."""
        return Trials(self._frame[~self._frame["same"]])

    def check_images(self, images: Images) -> None:
        """Refuse trials of images that are not in the table."""
        unknown = sorted(set(self.images) - set(images.keys))
        if unknown:
            raise TableError(
                f"Trials name {len(unknown)} images that Images does not have: {some(unknown)}",
                fix="These tables are of different images; use those that belong together.",
            )

    def check_same(self, images: Images) -> None:
        """Refuse trials whose ``same`` contradicts the identities of their images."""
        self.check_images(images)
        whose = images.identities
        same = whose.loc[self._frame["a"]].to_numpy() == whose.loc[self._frame["b"]].to_numpy()
        wrong = self._frame["same"].to_numpy() != same
        if wrong.any():
            culprits = some(self._frame.loc[wrong, "trial"])
            fix = "A trial is 'same' if and only if both of its images show one identity."
            raise TableError(f"'same' of {int(wrong.sum())} trials contradicts the identities: {culprits}", fix=fix)

    def _meta(self) -> dict[str, Any]:
        return {"dropped": self._dropped.to_dict("records"), "offered": self.offered}

    @classmethod
    def _restored(cls, frame: pd.DataFrame, meta: dict[str, Any]) -> Self:
        if "trial" not in frame.columns and "pair" in frame.columns:  # written before Trials had their own table
            frame = frame.rename(columns={"pair": "trial"})
        if "same" not in frame.columns and "distance" in frame.columns:  # a file of difficulties within identities
            frame = frame.assign(same=True)
        gone = pd.DataFrame(meta["dropped"], columns=list(DROPPED)) if meta.get("dropped") else None
        return cls(frame, dropped=gone, offered=meta.get("offered"))

    def _lines(self) -> list[str]:
        genuine = int(self._frame["same"].sum())
        offered = ", ".join(f"{side} {count}" for side, count in self.offered.items())
        gone = ", ".join(f"{row.reason} {row.images}" for row in self._dropped.itertuples())
        return [
            f"Trials: {genuine} genuine and {len(self) - genuine} impostor trials of {len(self.images)} images",
            f"  images offered: {offered or 'not recorded'}",
            f"  images in no trial: {gone or 'none'}",
        ]
