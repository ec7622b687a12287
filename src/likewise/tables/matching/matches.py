"""Matches: which units may be compared, with the proof that every constraint holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, get_args

import pandas as pd

from likewise.errors import TableError, some
from likewise.tables.checks import as_keys, need_columns, need_frame, need_numbers, need_unique, need_values, texts
from likewise.tables.images import Images
from likewise.tables.matching.match_spec import Estimand, MatchSpec
from likewise.tables.table import Table

ENDS = ("a_first", "a_second", "b_first", "b_second")
COLUMNS = (
    "pair", "a", "b", "ref_a", "ref_b", "distance", "stratum", "set",
    "score_a", "score_b", "difficulty_a", "difficulty_b", *ENDS,
)  # fmt: skip
_NUMBERS = ("distance", "score_a", "score_b", "difficulty_a", "difficulty_b")
DROPPED = ("side", "reason", "images")
UNITS = ("image", "trial")
_LEDGER = "holds: "  # prefix of a ledger column in a file
_MEANING = {
    "": "not recorded",
    "ATT": "ATT (every focal identity is matched)",
    "ATC": "ATC (every reference identity is matched)",
    "ATE": "ATE (every identity is matched)",
    "ATM": "ATM (only the identities that could be matched)",
}


class Matches(Table):
    """Rows of two units that were matched across the contrast: ``a`` focal, ``b`` reference.

    A unit is what a rater answers about: an image (``unit = "image"``), or a trial (``unit = "trial"``; then
    ``a`` and ``b`` are keys of Trials, and ``a_first``, ``a_second``, ``b_first``, ``b_second`` are their images).

    Matches also carry their ``spec``, the ``ledger`` (a boolean column for each constraint, true in every row),
    ``dropped`` (how many units of each side were left out, and why: matched + dropped = offered) and the ``estimand``:
    over which units a matched estimate averages, given what was dropped.

    Parameters
    ----------
    frame : DataFrame
        One row per pair, with the columns ``pair``, ``a`` and ``b``.
    spec : MatchSpec, optional
        The rules that they were matched by.
    ledger : DataFrame, optional
        For each pair and constraint whether it holds; a constraint that does not hold is an error.
    dropped : DataFrame, optional
        What was left out, and why.
    offered : mapping of str to int, optional
        How many units of each side there were.
    note : str
        What a reader has to know about this matching.
    estimand : str
        Over which units a matched estimate averages.
    unit : {"image", "trial"}
        What was matched.

    Examples
    --------
    >>> import pandas as pd
    >>> from likewise.tables import Matches
    >>> found = Matches(pd.DataFrame({"pair": ["p1"], "a": ["1"], "b": ["2"]}), estimand="ATM")
    >>> print(found.estimand, found.images)
    ATM ['1', '2']
    """

    text_columns: ClassVar[tuple[str, ...]] = ("pair", "a", "b", "ref_a", "ref_b", "stratum", "set", *ENDS)
    spec: MatchSpec | None
    offered: dict[str, int]
    note: str
    estimand: str
    unit: str
    _ledger: pd.DataFrame
    _dropped: pd.DataFrame

    def __init__(
        self,
        frame: pd.DataFrame,
        *,
        spec: MatchSpec | None = None,
        ledger: pd.DataFrame | None = None,
        dropped: pd.DataFrame | None = None,
        offered: Mapping[str, int] | None = None,
        note: str = "",
        estimand: str = "",
        unit: str = "image",
    ) -> None:
        super().__init__(frame)
        rules = (
            pd.DataFrame(index=self._frame.index) if ledger is None else ledger.drop(columns="pair", errors="ignore")
        )
        gone = pd.DataFrame(columns=list(DROPPED)) if dropped is None else need_frame(dropped, "dropped")
        if estimand not in ("", *get_args(Estimand)) or unit not in UNITS:
            raise TableError(f"Estimand {estimand!r} of units {unit!r} is unknown", fix=f"Units are {some(UNITS)}.")
        self._set(spec=spec, offered=dict(offered or {}), note=note, estimand=estimand, unit=unit)
        if unit == "trial":
            need_columns(self._frame, list(ENDS), "Matches of trials")
        self._set(_ledger=self._proved(rules), _dropped=gone)
        self._check_sums()

    def with_note(self, note: str) -> Matches:
        """Return the same matches with another note."""
        return Matches(
            self.frame, spec=self.spec, ledger=self.ledger, dropped=self.dropped, offered=self.offered, note=note,
            estimand=self.estimand, unit=self.unit,
        )  # fmt: skip

    def _checked(self, frame: pd.DataFrame) -> pd.DataFrame:
        frame = need_frame(frame, "Matches")
        need_columns(frame, ["pair", "a", "b"], "Matches")
        unknown = [name for name in frame.columns if name not in COLUMNS]
        if unknown:
            raise TableError(f"Matches has no column {unknown[0]!r}", fix=f"Its columns are {some(COLUMNS, 16)}.")
        for name in set(self.text_columns) & set(frame.columns):
            frame[name] = as_keys(frame[name])
        need_values(frame, ["pair", "a", "b"], "pair", "Matches")
        need_unique(frame, ["pair"], "Matches")
        need_numbers(frame, [name for name in _NUMBERS if name in frame.columns], "Matches")
        for left, right in (("a", "b"), ("a", "ref_a"), ("b", "ref_b"), ENDS[:2], ENDS[2:]):
            if {left, right} <= set(frame.columns) and (frame[left] == frame[right]).any():
                culprits = some(frame.loc[frame[left] == frame[right], "pair"])
                raise TableError(
                    f"Columns {left!r} and {right!r} are the same in {culprits}", fix="Pair two different units."
                )
        return frame

    def _proved(self, rules: pd.DataFrame) -> pd.DataFrame:
        if len(rules) != len(self._frame):
            raise TableError(
                f"The ledger has {len(rules)} rows for {len(self._frame)} pairs",
                fix="Give one row per pair, in the order of the pairs.",
            )
        rules = rules.reset_index(drop=True).astype(bool)
        for name in rules.columns:
            broken = ~rules[name]
            if broken.any():
                raise TableError(
                    f"Constraint {name!r} is broken by {some(self._frame.loc[broken, 'pair'])}",
                    fix="Match again with lw.match; do not edit pairs by hand.",
                )
        return rules

    def _check_sums(self) -> None:
        """Count units, not rows: a unit may be in several. Sides are ``a``, then ``b``; 'all' is both."""
        a, b = (set(texts(self._frame[end])) for end in ("a", "b"))
        if list(self.offered) == ["all"] or len(self.offered) > 2:
            self._check_sum("all", sum(self.offered.values()), len(a | b), int(self._dropped["images"].sum()))
            return
        for (side, count), units in zip(self.offered.items(), (a, b), strict=False):
            gone = int(self._dropped.loc[self._dropped["side"] == side, "images"].sum())
            self._check_sum(side, count, len(units), gone)

    @staticmethod
    def _check_sum(side: str, offered: int, matched: int, gone: int) -> None:
        if matched + gone != offered:
            raise TableError(
                f"Matched {matched} and dropped {gone} do not add up to {offered} offered ({side})",
                fix="Count every unit once, as matched or as dropped.",
            )

    @property
    def ledger(self) -> pd.DataFrame:
        """The proof: one boolean column for each constraint, beside the key of the pair."""
        return pd.concat([self._frame[["pair"]], self._ledger], axis=1)

    @property
    def dropped(self) -> pd.DataFrame:
        """How many units of each side were left out, and by which rule (the column ``images`` counts units)."""
        return self._dropped.copy()

    @property
    def images(self) -> list[str]:
        """Every image that occurs, once, sorted."""
        names = ENDS if self.unit == "trial" else ("a", "b", "ref_a", "ref_b")
        columns = [name for name in names if name in self._frame.columns]
        return sorted({image for name in columns for image in self._frame[name].dropna()})

    def check_images(self, faces: Images) -> None:
        """Refuse matches of images that are not in the table."""
        unknown = sorted(set(self.images) - set(faces.keys))
        if unknown:
            raise TableError(
                f"Matches name {len(unknown)} images that Images does not have: {some(unknown)}",
                fix="These tables are of different images; use those that belong together.",
            )

    def _rows_to_write(self) -> pd.DataFrame:
        return pd.concat([self._frame, self._ledger.add_prefix(_LEDGER)], axis=1)

    def _meta(self) -> dict[str, Any]:
        return {
            "spec": self.spec.to_dict() if self.spec else None,
            "dropped": self._dropped.to_dict("records"),
            "offered": self.offered,
            "note": self.note,
            "estimand": self.estimand,
            "unit": self.unit,
        }

    @classmethod
    def _restored(cls, frame: pd.DataFrame, meta: dict[str, Any]) -> Self:
        proofs = [name for name in frame.columns if name.startswith(_LEDGER)]
        stored = {key: value for key, value in (meta.get("spec") or {}).items() if key != "remove_contrast"}
        return cls(
            frame.drop(columns=proofs),
            spec=MatchSpec.from_dict(stored) if stored else None,
            ledger=frame[proofs].rename(columns=lambda name: name.removeprefix(_LEDGER)) if proofs else None,
            dropped=pd.DataFrame(meta["dropped"], columns=list(DROPPED)) if meta.get("dropped") else None,
            offered=meta.get("offered"),
            note=meta.get("note", ""),
            estimand=meta.get("estimand", ""),
            unit=meta.get("unit", "image"),
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
        kind = "" if self.unit == "image" else " of trials"
        note = f". {self.note}" if self.note else ""
        return [
            f"Matches: {len(self._frame)} pairs{kind} of {len(self.images)} images{note}",
            f"  spec: {self.spec if self.spec else 'none (pairs as given)'}",
            f"  estimand: {_MEANING[self.estimand]}",
            f"  {self.unit}s offered: {offered or 'not recorded'}; dropped: {gone or 'none'}",
            f"  constraints proved: {', '.join(self._ledger.columns) or 'none recorded'}",
            f"  distance: {spread}",
        ]
