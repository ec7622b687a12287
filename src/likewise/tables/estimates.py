"""Estimates: numbers with intervals, one tidy rectangle, and the one constructor of its rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Protocol

import numpy as np
import pandas as pd

from likewise.errors import TableError, nearest, some
from likewise.tables.checks import as_keys, need_columns, need_frame, need_numbers, need_unique, need_values
from likewise.tables.statistics import STATS
from likewise.tables.table import Table

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
    "estimand",
)
SHOWN = 20  # rows that print(estimates) shows
FEW_CLUSTERS = 8  # independent clusters below which nothing is concluded from a gap
_ZERO = 1e-9  # a difference, ratio or rate below this is rounding noise, and is stored and printed as 0


class Estimated(Protocol):
    """A number with both ends of its interval (NaN without one) and the clusters it rests on."""

    @property
    def estimate(self) -> float: ...  # noqa: D102
    @property
    def low(self) -> float: ...  # noqa: D102
    @property
    def high(self) -> float: ...  # noqa: D102
    @property
    def clusters(self) -> int: ...  # noqa: D102


def row(
    quantity: str,
    stat: str,
    sample: str,
    group: str,
    found: Estimated | float,
    *,
    n: int,
    method: str,
    level: float = np.nan,
    clusters: int | None = None,
    estimand: str = "",
) -> dict[str, object]:
    """Return one row of Estimates: the only place where rows are made.

    Parameters
    ----------
    quantity, stat, sample, group
        What was measured, which registered statistic, on which sample, for which group.
    found
        An estimate with its interval, or a bare number (a p-value, a bound) without one.
    n
        Rows that the number rests on.
    method
        How it was estimated. A remark follows after a semicolon (see ``remarked``).
    level
        Confidence level of the interval.
    clusters
        Independent clusters; taken from ``found`` unless given.
    estimand
        What the number estimates: ``unadjusted``, ``ATT``, ``ATM`` ... (see docs/statistics.md).

    Returns
    -------
    dict
        A row for ``Estimates.of``. An interval of no width is remarked: no variation in the sample is not certainty.

    Examples
    --------
    >>> line = row("vgg: distance", "p_value", "matched", "female - male", 0.2, n=40, clusters=40, method="sign flips")
    >>> line["estimate"], line["n"]
    (0.2, 40)
    """
    if isinstance(found, int | float):
        value, low, high, behind = float(found), np.nan, np.nan, n
    else:
        value, low, high, behind = found.estimate, found.low, found.high, found.clusters
    if _rounded(stat):
        value, low, high = (0.0 if abs(number) < _ZERO else number for number in (value, low, high))
    if low == high and "; " not in method:
        method = remarked(method, "no variation in this sample, which is not certainty")
    return {
        "quantity": quantity, "stat": stat, "sample": sample, "group": group, "estimate": value, "low": low,
        "high": high, "level": level, "n": n, "clusters": behind if clusters is None else clusters, "method": method,
        "estimand": estimand,
    }  # fmt: skip


def _rounded(stat: str) -> bool:
    """Whether a tiny number of this statistic is rounding noise: not of p-values, nor in the unit of the answers."""
    return stat in STATS and STATS[stat].scale != "mean" and not (stat.endswith(("_p", "p_value")) or stat[:2] == "q_")


def remarked(method: str, remark: str) -> str:
    """Return the method with a remark, if there is one.

    Examples
    --------
    >>> remarked("Wilson", "rare")
    'Wilson; rare'
    """
    return f"{method}; {remark}" if remark else method


class Estimates(Table):
    """A tidy table of estimates with intervals.

    Columns: ``quantity`` (a covariate, a rater's question), ``stat`` (a registered statistic), ``sample`` (all,
    matched, counterfactual ...), ``group``, ``estimate``, ``low``, ``high``, ``level``, ``n`` (rows), ``clusters``
    (independent clusters), ``method`` and ``estimand``. A missing interval is empty on both ends; an interval contains
    its estimate.

    Parameters
    ----------
    frame : DataFrame
        One row an estimate, with these columns.

    Examples
    --------
    >>> line = row("age", "smd", "all", "female - male", 0.25, n=100, method="pooled sd")
    >>> print(Estimates.of([line]))
    Estimates: 1 row
    quantity  stat  sample  group          estimate
    age       smd   all     female - male  0.25
    """

    text_columns: ClassVar[tuple[str, ...]] = ("quantity", "stat", "sample", "group", "method", "estimand")

    def _checked(self, frame: pd.DataFrame) -> pd.DataFrame:
        frame = need_frame(frame, "Estimates")
        if "estimand" not in frame.columns:  # tables written before the column existed
            frame["estimand"] = ""
        need_columns(frame, COLUMNS, "Estimates")
        unknown = [name for name in frame.columns if name not in COLUMNS]
        if unknown:
            raise TableError(f"Estimates has unknown columns: {some(unknown)}", fix=f"Columns: {some(COLUMNS, 12)}.")
        keys = ["quantity", "stat", "sample", "group"]
        for name in [*keys, "method"]:
            frame[name] = as_keys(frame[name])
        frame["estimand"] = frame["estimand"].astype(object).where(frame["estimand"].notna(), "").astype("str")
        need_numbers(frame, ["estimate", "low", "high", "level", "n", "clusters"], "Estimates")
        need_values(frame, [*keys, "method", "estimate", "n", "clusters"], "quantity", "Estimates")
        need_unique(frame, keys, "Estimates")
        _check_stats(frame)
        _round(frame)
        _check_intervals(frame)
        return frame[list(COLUMNS)].astype({"n": "int64", "clusters": "int64"})

    @classmethod
    def of(cls, rows: Iterable[dict[str, object]]) -> Estimates:
        """Make estimates from rows (see ``row``); no rows make an empty table."""
        return cls(pd.DataFrame(list(rows), columns=list(COLUMNS)))

    @classmethod
    def together(cls, parts: Iterable[Estimates]) -> Estimates:
        """Concatenate several tables of estimates (also as ``Estimates.concat``)."""
        frames = [part.frame for part in parts if len(part)]
        return cls(pd.concat(frames, ignore_index=True)) if frames else cls.of([])

    concat = together

    def where(self, **values: str) -> Estimates:
        """Return the rows with these values, e.g. ``where(stat="gap", sample="all")``."""
        need_columns(self._frame, list(values), "Estimates")
        keep = pd.Series(True, index=self._frame.index)
        for name, value in values.items():
            keep &= self._frame[name] == value
        found = Estimates.__new__(Estimates)  # rows that were checked need no second check
        found._set(_frame=self._frame[keep].reset_index(drop=True))
        return found

    def __str__(self) -> str:
        """Show the estimates: quantity, statistic, sample, group, estimate and interval."""
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        frame = self._frame.head(SHOWN)
        head = [f"Estimates: {len(self._frame)} row{'' if len(self._frame) == 1 else 's'}"]
        if frame.empty:
            return head
        shown = {name: frame[name].tolist() for name in ("quantity", "stat", "sample", "group")}
        shown["estimate"] = [printed(value) for value in frame["estimate"]]
        if frame["low"].notna().any():
            ends = zip(frame["low"], frame["high"], frame["level"], strict=True)
            shown["interval"] = [_interval(*end) for end in ends]
        lines = _aligned(shown)
        more = len(self._frame) - len(frame)
        return head + lines + ([f"... and {more} more rows (see .frame)"] if more else [])


def printed(value: float) -> str:
    """Return a number with three significant digits; rounding noise is 0.

    Examples
    --------
    >>> printed(6.9e-17), printed(0.12345)
    ('0', '0.123')
    """
    return "0" if abs(value) < _ZERO else f"{value:.3g}"


def _interval(low: float, high: float, level: float) -> str:
    return "" if pd.isna(low) else f"{printed(low)} to {printed(high)} ({level:.0%})".replace("%", " %")


def _aligned(columns: dict[str, list[str]]) -> list[str]:
    """Return a header and one line per row, columns padded to equal width."""
    cells = {name: [name, *values] for name, values in columns.items()}
    width = {name: max(map(len, values)) for name, values in cells.items()}
    rows = zip(*([cell.ljust(width[name]) for cell in values] for name, values in cells.items()), strict=True)
    return ["  ".join(cells).rstrip() for cells in rows]


def _round(frame: pd.DataFrame) -> None:
    """Set rounding noise to 0, also in rows that were not made by ``row``."""
    names = ["estimate", "low", "high"]
    values, counted = frame[names].to_numpy(), {stat: _rounded(stat) for stat in frame["stat"].unique()}
    noise = np.abs(values) < _ZERO  # also -0.0
    if noise.any():
        noise &= np.array([counted[stat] for stat in frame["stat"].tolist()])[:, None]
        frame[names] = np.where(noise, 0.0, values)


def _check_stats(frame: pd.DataFrame) -> None:
    unknown = [name for name in frame["stat"].unique() if name not in STATS]
    if unknown:
        fix = nearest(unknown[0], STATS) or "Register it with register_stat."
        raise TableError(f"Estimates has unknown statistics: {some(unknown)}", fix=fix)


def _check_intervals(frame: pd.DataFrame) -> None:
    half = frame["low"].isna() != frame["high"].isna()
    outside = (frame["low"] > frame["estimate"]) | (frame["estimate"] > frame["high"])
    no_level = frame["low"].notna() & ~frame["level"].between(0, 1, inclusive="neither")
    for bad, problem in (
        (half, "Interval with one end only"),
        (outside, "Estimate outside its interval"),
        (no_level, "Interval without a level between 0 and 1"),
    ):
        if bad.any():
            raise TableError(
                f"{problem}, for {some(frame.loc[bad, 'quantity'])}",
                fix="Give both ends around the estimate, with their level, or neither.",
            )
