"""Estimates: what follows, with an interval. One tidy rectangle, never nested."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import pandas as pd

from likewise.errors import TableError, nearest, some
from likewise.tables.checks import as_keys, need_columns, need_frame, need_numbers, need_unique, need_values
from likewise.tables.stats import STATS
from likewise.tables.table import Table, counted

COLUMNS = (
    "quantity",
    "stat",
    "sample",
    "group",
    "estimate",
    "low",
    "high",
    "level",
    "n",
    "clusters",
    "method",
)


class Estimates(Table):
    """Rows of ``estimate`` with ``low`` and ``high``, over how many rows and independent clusters, and how.

    ``quantity`` is what was measured (a covariate, a rater's question), ``stat`` a registered record, ``sample``
    on which images (all, matched, counterfactual ...), ``group`` for whom. An interval that does not exist is
    empty on both ends; one that is there holds its estimate.
    """

    text_columns: ClassVar[tuple[str, ...]] = ("quantity", "stat", "sample", "group", "method")

    def _checked(self, frame: pd.DataFrame) -> pd.DataFrame:
        frame = need_frame(frame, "Estimates")
        need_columns(frame, COLUMNS, "Estimates")
        unknown = [name for name in frame.columns if name not in COLUMNS]
        if unknown:
            raise TableError(f"Estimates has the columns {some(COLUMNS, 11)}", got=some(unknown))
        keys = ["quantity", "stat", "sample", "group"]
        for name in [*keys, "method"]:
            frame[name] = as_keys(frame[name])
        need_numbers(frame, ["estimate", "low", "high", "level", "n", "clusters"], "Estimates")
        need_values(frame, [*keys, "method", "estimate", "n", "clusters"], "quantity", "Estimates")
        need_unique(frame, keys, "Estimates")
        _check_stats(frame)
        _check_intervals(frame)
        return frame[list(COLUMNS)].astype({"n": "int64", "clusters": "int64"})

    @classmethod
    def of(cls, rows: Iterable[dict[str, object]]) -> Estimates:
        """Make estimates from rows; no rows make an empty table."""
        return cls(pd.DataFrame(list(rows), columns=list(COLUMNS)))

    @classmethod
    def together(cls, parts: Iterable[Estimates]) -> Estimates:
        """Put several rectangles into one."""
        frames = [part.frame for part in parts if len(part)]
        return cls(pd.concat(frames, ignore_index=True)) if frames else cls.of([])

    def where(self, **values: str) -> Estimates:
        """Return the rows with these values, e.g. ``where(stat="gap", sample="all")``."""
        need_columns(self._frame, list(values), "Estimates")
        keep = pd.Series(True, index=self._frame.index)
        for name, value in values.items():
            keep &= self._frame[name] == value
        return Estimates(self._frame[keep])

    def _lines(self) -> list[str]:
        frame = self._frame
        strongest = frame.iloc[int(frame["estimate"].abs().to_numpy().argmax())] if len(frame) else None
        return [
            f"Estimates: {len(frame)} rows",
            f"  quantities ({frame['quantity'].nunique()}): {counted(frame['quantity'])}",
            f"  statistics: {counted(frame['stat'])}",
            f"  samples: {counted(frame['sample'])}",
            f"  methods: {counted(frame['method'])}",
            "  no rows" if strongest is None else f"  largest: {_said(strongest)}",
        ]


def _said(row: pd.Series) -> str:
    interval = "" if pd.isna(row["low"]) else f" ({row['low']:.3g} to {row['high']:.3g})"
    return f"{row['quantity']}, {row['stat']}, {row['sample']}, {row['group']}: {row['estimate']:.3g}{interval}"


def _check_stats(frame: pd.DataFrame) -> None:
    strange = [name for name in frame["stat"].unique() if name not in STATS]
    if strange:
        fix = nearest(strange[0], STATS) or "Register it with register_stat."
        raise TableError("every stat is a registered record", got=some(strange), fix=fix)


def _check_intervals(frame: pd.DataFrame) -> None:
    half = frame["low"].isna() != frame["high"].isna()
    outside = (frame["low"] > frame["estimate"]) | (frame["estimate"] > frame["high"])
    unlevelled = frame["low"].notna() & ~frame["level"].between(0, 1, inclusive="neither")
    for bad, rule in (
        (half, "an interval has both ends"),
        (outside, "low <= estimate <= high"),
        (unlevelled, "an interval has a level in (0, 1)"),
    ):
        if bad.any():
            raise TableError(rule, got=f"otherwise for {some(frame.loc[bad, 'quantity'])}")
