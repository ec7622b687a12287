"""independent_changes: the same quantities in two audits of different people, side by side.

The two samples are independent, so the change is joined from the two intervals without correlation (MOVER). Where
audits share identities that is not so: then the values stand side by side and the change has no interval.
"""

from __future__ import annotations

import pandas as pd

from likewise.analysis.comparison.rows import Change, change_rows
from likewise.errors import TableError
from likewise.stats.intervals import Interval, bare, newcombe
from likewise.tables import Estimates

_KEYS = ["quantity", "stat", "sample", "group"]
_STATS = ("mean", "gap", "adjusted_gap", "fnmr", "fmr", "enrolment_failure")
_SAMPLES = ("all", "matched", "counterfactual")


def independent_changes(old: Estimates, new: Estimates, *, level: float, shared: bool = False) -> Estimates:
    """Set the values of two audits side by side.

    Parameters
    ----------
    old, new
        The estimates of both audits.
    level
        Confidence level of both.
    shared
        Whether the audits share identities: a change then has no interval.

    Returns
    -------
    Estimates
        ``old_value``, ``new_value`` and ``change`` (new - old) of everything that both estimated.

    Raises
    ------
    TableError
        If they have nothing in common.

    Examples
    --------
    >>> from likewise.tables.estimates import row
    >>> line = row("m: distance", "gap", "all", "f - m", Interval(0.1, 0.05, 0.15, 40), n=40, method="t", level=0.95)
    >>> found = independent_changes(Estimates.of([line]), Estimates.of([line]), level=0.95)
    >>> round(float(found.where(stat="change").frame["high"].iloc[0]), 3)
    0.071
    """
    both = _shown(old).merge(_shown(new), on=_KEYS, suffixes=("_old", "_new"), sort=False)
    if both.empty:
        raise TableError("The audits estimate nothing in common", fix="Compare audits of the same kind of system.")
    rows = []
    for _, line in both.iterrows():
        change = _change(line, shared=shared)
        method = "side by side, shared identities: no interval" if shared else "independent samples, MOVER"
        rows += change_rows(_quantity(line), str(line["sample"]), [change], level=level, method=method)
    return Estimates.of(rows)


def _shown(estimates: Estimates) -> pd.DataFrame:
    frame = estimates.frame
    return frame[frame["stat"].isin(_STATS) & frame["sample"].isin(_SAMPLES) & frame["low"].notna()]


def _change(line: pd.Series, *, shared: bool) -> Change:
    old, new = (_interval(line, side) for side in ("old", "new"))
    moved = newcombe(new, old)
    moved = bare(moved.estimate, moved.clusters) if shared else moved
    return Change(str(line["group"]), old, new, moved, int(line["n_old"]) + int(line["n_new"]))


def _interval(line: pd.Series, side: str) -> Interval:
    estimate, low, high = (float(line[f"{end}_{side}"]) for end in ("estimate", "low", "high"))
    return Interval(estimate, low, high, int(line[f"clusters_{side}"]))


def _quantity(line: pd.Series) -> str:
    """Name what was measured: error rates of one operating point are different quantities."""
    rater, _, question = str(line["quantity"]).partition(": ")
    at = question.partition(" at ")[2]
    what = {"fnmr": "FNMR", "fmr": "FMR", "enrolment_failure": "failure to acquire"}.get(str(line["stat"]))
    if what is None and at and line["stat"] in ("gap", "adjusted_gap"):
        what = "FNMR"
    adjusted = ", adjusted" if line["stat"] == "adjusted_gap" else ""
    if what is None:
        return f"{rater}: {question}{adjusted}"
    return f"{rater}: {what}{f' at {at}' if at else ''}{adjusted}"
