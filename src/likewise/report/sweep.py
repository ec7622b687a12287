"""The sweep in the report: slopes, placebo arms beside them, which edits were certified, and the contact sheet."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pandas as pd

from likewise.report.words import SLOPE_TESTS, chance, interval
from likewise.tables import Estimates

STILL = "no face ever changes"  # as the analysis remarks it
PANELS = 24  # labels that the figure has room for; the table has them all


def slope_tables(estimates: Estimates) -> list[dict[str, Any]]:
    """Return for each classifier the slopes of its labels, steepest first, and the labels that no edit ever changes."""
    frame = estimates.frame
    rows = frame[frame["stat"].isin(["slope", "rate_slope"]) & (frame["sample"] == "counterfactual")]
    rows = rows.sort_values("estimate", ascending=False, kind="stable")
    tests = frame[frame["stat"].isin(SLOPE_TESTS) & (frame["group"] == "attribute")]
    p = tests.pivot(index="quantity", columns="stat", values="estimate")
    still = rows["method"].str.contains(STILL, regex=False)
    return [
        {
            "rater": rater,
            "rows": [_slope_row(row, p) for _, row in part[~still].iterrows()],
            "still": sorted(label_of(quantity) for quantity in part.loc[still, "quantity"]),
        }
        for rater, part in rows.groupby(rows["quantity"].map(rater_of), sort=False)
    ]


def _slope_row(row: pd.Series, p: pd.DataFrame) -> dict[str, str]:
    rare = "plain rate" if row["stat"] == "rate_slope" else ""
    remark = "; ".join(filter(None, (rare, row["method"].partition("; ")[2])))
    tested = {stat: chance(p[stat].get(row["quantity"])) if stat in p else "–" for stat in SLOPE_TESTS}
    return {
        "label": label_of(row["quantity"]), "value": interval(row), "n": f"{row['n']:,}", "remark": remark, **tested
    }  # fmt: skip


def placebo_tables(estimates: Estimates) -> list[dict[str, Any]]:
    """Set beside every slope what the placebo arms do to the same label; labels that nothing moves are left out."""
    frame = estimates.frame
    tables: dict[str, list[dict[str, str]]] = {}
    for quantity in frame.loc[frame["stat"] == "slope_excess", "quantity"].unique():
        part = frame[frame["quantity"] == quantity]
        arms = part[part["stat"].isin(["slope", "rate_slope", "rate_shift"])]
        if not arms["method"].str.contains(STILL, regex=False).all():
            tables.setdefault(rater_of(quantity), []).append(_placebo_row(str(quantity), part))
    return [{"rater": rater, "rows": rows} for rater, rows in tables.items()]


def _placebo_row(quantity: str, part: pd.DataFrame) -> dict[str, str]:
    return {
        "label": label_of(quantity),
        "slope": _first(part, ("slope", "rate_slope"), "counterfactual"),
        "random": _first(part, ("slope", "rate_slope"), "random direction"),
        "excess": _first(part, ("slope_excess",), "counterfactual"),
        "reconstruct": _first(part, ("rate_shift",), "placebo: reconstruct"),
        "mask": _first(part, ("rate_shift",), "placebo: mask"),
    }


def rater_of(quantity: str) -> str:
    """Return who answered."""
    return quantity.partition(": ")[0]


def label_of(quantity: str) -> str:
    """Return what was asked."""
    return quantity.partition(": ")[2].replace("_", " ")


def certificate_rows(made: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    """Count the faces whose edits were certified, and those that were not by reason."""
    judged = [entry["summary"] for entry in made.values() if entry["stage"] == "certify"]
    return [{"what": str(what), "count": f"{count:,}"} for summary in judged for what, count in summary.items()]


def embedded(picture: bytes | None) -> str:
    """Return a JPEG as an address that holds it, so that the page needs nothing from outside."""
    return f"data:image/jpeg;base64,{base64.b64encode(picture).decode()}" if picture else ""


def striking(estimates: Estimates) -> Estimates:
    """Return the estimates of the labels that a figure has room for: those whose slopes stand out most.

    Labels that no edit ever changes have nothing to show, unless there are no others.
    """
    frame = estimates.frame
    slopes = frame[frame["stat"].isin(["slope", "rate_slope"]) & (frame["sample"] == "counterfactual")]
    moved = slopes[~slopes["method"].str.contains(STILL, regex=False)]
    slopes = moved if len(moved) else slopes
    if len(slopes) <= PANELS:
        return Estimates(frame[frame["quantity"].isin(slopes["quantity"])])
    width = (slopes["high"] - slopes["low"]).replace(0, float("inf"))
    order = (slopes["estimate"].abs() / width).sort_values(ascending=False, kind="stable").index
    return Estimates(frame[frame["quantity"].isin(slopes.loc[order, "quantity"].head(PANELS))])


def _first(part: pd.DataFrame, stats: tuple[str, ...], sample: str) -> str:
    hit = part[part["stat"].isin(stats) & (part["sample"] == sample)]
    return interval(hit.iloc[0]) if len(hit) else "–"
