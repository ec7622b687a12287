"""Counterfactual edits: slopes of the label rates, placebo arms beside them, and the validity of the edits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from likewise.report.names import label, system
from likewise.report.numbers import MISSING, TINY, interval, p_value, significant
from likewise.tables import Estimates

PANELS = 24  # labels that fit into the figure; the table has all of them
SLOPE_TESTS = ("p_value", "q_by", "linearity_p", "ols_p")
_SLOPES = ("slope", "rate_slope")
VALIDATION = ("validate-edits", "certify")
"""How the stage that validates edits is called, and was called in older folders."""


def slope_tables(estimates: Estimates) -> list[dict[str, Any]]:
    """Return for each classifier the slopes of its labels, steepest first, and the labels that no edit changes."""
    frame = estimates.frame
    rows = frame[frame["stat"].isin(_SLOPES) & (frame["sample"] == "counterfactual")]
    rows = rows.sort_values("estimate", ascending=False, kind="stable")
    tests = frame[frame["stat"].isin(SLOPE_TESTS) & (frame["group"] == "attribute")]
    p = tests.pivot(index="quantity", columns="stat", values="estimate")
    still = unchanged(rows)
    return [
        {
            "rater": rater,
            "rows": [_slope_row(row, p) for _, row in part[~still].iterrows()],
            "unchanged": sorted(label(name) for name in part.loc[still, "quantity"]),
        }
        for rater, part in rows.groupby(rows["quantity"].map(system), sort=False)
    ]


def unchanged(rows: pd.DataFrame) -> pd.Series:
    """Mark the rows of labels that no edit changes: their interval has no width."""
    return (rows["low"] == rows["high"]) & (rows["estimate"].abs() < TINY)


def placebo_tables(estimates: Estimates) -> list[dict[str, Any]]:
    """Return beside every slope the effect of the placebo arms on the same label, where anything changes it."""
    frame = estimates.frame
    tables: dict[str, list[dict[str, Any]]] = {}
    for name in frame.loc[frame["stat"] == "slope_excess", "quantity"].unique():
        part = frame[frame["quantity"] == name]
        if not unchanged(part[part["stat"].isin([*_SLOPES, "rate_shift"])]).all():
            tables.setdefault(system(name), []).append(_placebo_row(str(name), part))
    return [{"rater": rater, "rows": rows} for rater, rows in tables.items()]


def edit_validity(made: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the counts of the stage that validates edits; empty without one."""
    return next((entry["summary"] for entry in made.values() if entry["stage"] in VALIDATION), {})


def validity_rows(made: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the number of originals with valid edits, and of the others by reason."""
    words = {"certified": "with valid edits", "valid": "with valid edits"}
    counts = edit_validity(made).items()
    return [{"what": words.get(what, what), "count": f"{count:,}"} for what, count in counts if isinstance(count, int)]


def plotted_labels(estimates: Estimates) -> Estimates:
    """Return the estimates of the labels that fit into the figure: those with the clearest slopes.

    Labels that no edit changes are omitted, unless there are no others.
    """
    frame = estimates.frame
    slopes = frame[frame["stat"].isin(_SLOPES) & (frame["sample"] == "counterfactual")]
    changed = slopes[~unchanged(slopes)]
    slopes = changed if len(changed) else slopes
    if len(slopes) <= PANELS:
        return Estimates(frame[frame["quantity"].isin(slopes["quantity"])])
    width = (slopes["high"] - slopes["low"]).replace(0, float("inf"))
    order = (slopes["estimate"].abs() / width).sort_values(ascending=False, kind="stable").index
    return Estimates(frame[frame["quantity"].isin(slopes.loc[order, "quantity"].head(PANELS))])


def _slope_row(row: pd.Series, p: pd.DataFrame) -> dict[str, Any]:
    rare = "absolute rate" if row["stat"] == "rate_slope" else ""
    remark = "; ".join(filter(None, (rare, row["method"].partition("; ")[2])))
    tested = {stat: p_value(p[stat].get(row["quantity"])) if stat in p else MISSING for stat in SLOPE_TESTS}
    return {
        "label": label(row["quantity"]), "value": interval(row), "apart": significant(row), "n": f"{row['n']:,}",
        "remark": remark, **tested,
    }  # fmt: skip


def _placebo_row(name: str, part: pd.DataFrame) -> dict[str, Any]:
    slope = part[part["stat"].isin(_SLOPES) & (part["sample"] == "counterfactual")]
    return {
        "label": label(name),
        "apart": len(slope) > 0 and significant(slope.iloc[0]),
        "slope": _cell(part, _SLOPES, "counterfactual"),
        "random": _cell(part, _SLOPES, "random direction"),
        "excess": _cell(part, ("slope_excess",), "counterfactual"),
        "reconstruct": _cell(part, ("rate_shift",), "placebo: reconstruct"),
        "mask": _cell(part, ("rate_shift",), "placebo: mask"),
    }


def _cell(part: pd.DataFrame, stats: tuple[str, ...], sample: str) -> str:
    hit = part[part["stat"].isin(stats) & (part["sample"] == sample)]
    return interval(hit.iloc[0]) if len(hit) else MISSING
