"""Pairs: which images may be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import pandas as pd

from likewise.errors import TableError, some
from likewise.tables.checks import as_keys, need_columns, need_frame, need_numbers, need_unique, need_values
from likewise.tables.faces import Faces
from likewise.tables.spec import MatchSpec
from likewise.tables.table import Table

COLUMNS = (
    "pair", "a", "b", "ref_a", "ref_b", "distance", "stratum", "set", "same",
    "score_a", "score_b", "difficulty_a", "difficulty_b",
)  # fmt: skip
_NUMBERS = ("distance", "score_a", "score_b", "difficulty_a", "difficulty_b")
DROPPED = ("side", "reason", "images")
_LEDGER = "holds: "  # how a ledger column is called in a file


class Pairs(Table):
    """Rows of two images: a matched pair (``a`` focal, ``b`` reference) or a verification trial (``same``).

    A matching also carries its ``spec``, the ``ledger`` (one boolean column a constraint, which every row
    keeps) and ``dropped`` (how many images of each side left, and why): matched + dropped = offered.
    """

    text_columns: ClassVar[tuple[str, ...]] = ("pair", "a", "b", "ref_a", "ref_b", "stratum", "set")
    spec: MatchSpec | None
    offered: dict[str, int]
    note: str

    def __init__(
        self,
        frame: pd.DataFrame,
        *,
        spec: MatchSpec | None = None,
        ledger: pd.DataFrame | None = None,
        dropped: pd.DataFrame | None = None,
        offered: Mapping[str, int] | None = None,
        note: str = "",
    ) -> None:
        super().__init__(frame)
        rules = (
            pd.DataFrame(index=self._frame.index) if ledger is None else ledger.drop(columns="pair", errors="ignore")
        )
        gone = pd.DataFrame(columns=list(DROPPED)) if dropped is None else need_frame(dropped, "dropped")
        self._set(spec=spec, offered=dict(offered or {}), note=note)
        self._set(_ledger=self._proved(rules), _dropped=gone)
        self._check_sums()

    def _checked(self, frame: pd.DataFrame) -> pd.DataFrame:
        frame = need_frame(frame, "Pairs")
        need_columns(frame, ["pair", "a", "b"], "Pairs")
        unknown = [name for name in frame.columns if name not in COLUMNS]
        if unknown:
            raise TableError(f"Pairs has the columns {some(COLUMNS, 13)}", got=some(unknown))
        for name in set(self.text_columns) & set(frame.columns):
            frame[name] = as_keys(frame[name])
        need_values(frame, ["pair", "a", "b"], "pair", "Pairs")
        need_unique(frame, ["pair"], "Pairs")
        need_numbers(frame, [name for name in _NUMBERS if name in frame.columns], "Pairs")
        for left, right in (("a", "b"), ("a", "ref_a"), ("b", "ref_b")):
            if right in frame.columns and (frame[left] == frame[right]).any():
                culprits = some(frame.loc[frame[left] == frame[right], "pair"])
                raise TableError(f"{left} and {right} are different images", got=f"the same in {culprits}")
        return frame

    def _proved(self, rules: pd.DataFrame) -> pd.DataFrame:
        if len(rules) != len(self._frame):
            raise TableError("the ledger has a row for each pair", got=f"{len(rules)} for {len(self._frame)}")
        rules = rules.reset_index(drop=True).astype(bool)
        for name in rules.columns:
            broken = ~rules[name]
            if broken.any():
                raise TableError(f"every pair keeps {name!r}", got=f"broken by {some(self._frame.loc[broken, 'pair'])}")
        return rules

    def _check_sums(self) -> None:
        """Count images, not rows: an image may be in several. Sides are ``a``, then ``b``; 'all' is both."""
        a, b = set(self._frame["a"]), set(self._frame["b"])
        if list(self.offered) == ["all"] or len(self.offered) > 2:
            self._check_sum("all", sum(self.offered.values()), len(a | b), int(self._dropped["images"].sum()))
            return
        for (side, count), images in zip(self.offered.items(), (a, b), strict=False):
            gone = int(self._dropped.loc[self._dropped["side"] == side, "images"].sum())
            self._check_sum(side, count, len(images), gone)

    @staticmethod
    def _check_sum(side: str, offered: int, matched: int, gone: int) -> None:
        if matched + gone != offered:
            raise TableError("matched + dropped = offered", got=f"{matched} + {gone} != {offered} ({side})")

    _ledger: pd.DataFrame
    _dropped: pd.DataFrame

    @property
    def ledger(self) -> pd.DataFrame:
        """The proof: one boolean column for each constraint, beside the pair's name."""
        return pd.concat([self._frame[["pair"]], self._ledger], axis=1)

    @property
    def dropped(self) -> pd.DataFrame:
        """How many images of each side were left out, and by which rule."""
        return self._dropped.copy()

    @property
    def images(self) -> list[str]:
        """Every image that occurs, once, sorted."""
        columns = [name for name in ("a", "b", "ref_a", "ref_b") if name in self._frame.columns]
        return sorted({image for name in columns for image in self._frame[name].dropna()})

    def genuine(self) -> Pairs:
        """Return the trials that show one person twice; pairs that do not say are all taken to."""
        if "same" not in self._frame.columns:
            return self
        return Pairs(self._frame[self._frame["same"].astype(bool)])

    def check_faces(self, faces: Faces) -> None:
        """Every image of these pairs is one of these faces."""
        unknown = sorted(set(self.images) - set(faces.images))
        if unknown:
            raise TableError("the images of Pairs are images of Faces", got=some(unknown))

    def _rows_to_write(self) -> pd.DataFrame:
        return pd.concat([self._frame, self._ledger.add_prefix(_LEDGER)], axis=1)

    def _meta(self) -> dict[str, Any]:
        return {
            "spec": self.spec.to_dict() if self.spec else None,
            "dropped": self._dropped.to_dict("records"),
            "offered": self.offered,
            "note": self.note,
        }

    @classmethod
    def _restored(cls, frame: pd.DataFrame, meta: dict[str, Any]) -> Self:
        proofs = [name for name in frame.columns if name.startswith(_LEDGER)]
        return cls(
            frame.drop(columns=proofs),
            spec=MatchSpec.from_dict(meta["spec"]) if meta.get("spec") else None,
            ledger=frame[proofs].rename(columns=lambda name: name.removeprefix(_LEDGER)) if proofs else None,
            dropped=pd.DataFrame(meta["dropped"], columns=list(DROPPED)) if meta.get("dropped") else None,
            offered=meta.get("offered"),
            note=meta.get("note", ""),
        )

    def _lines(self) -> list[str]:
        distance = self._frame.get("distance", pd.Series(dtype=float)).dropna()
        offered = ", ".join(f"{side} {count}" for side, count in self.offered.items())
        gone = ", ".join(f"{row.reason} ({row.side}) {row.images}" for row in self._dropped.itertuples())
        spread = (
            f"{distance.min():.3g} to {distance.max():.3g}, median {distance.median():.3g}"
            if len(distance)
            else "not kept"
        )
        rules = ", ".join(self._ledger.columns) or "none recorded"
        return [
            f"Pairs: {len(self._frame)} pairs of {len(self.images)} images{'. ' + self.note if self.note else ''}",
            f"  spec: {self.spec if self.spec else 'none (pairs as given)'}",
            f"  offered: {offered or 'not recorded'}",
            f"  dropped: {gone or 'none'}",
            f"  every pair keeps: {rules}",
            f"  distance: {spread}",
        ]
