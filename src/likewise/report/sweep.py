"""The sweep in the report: placebo arms beside every slope, which edits were certified, and the contact sheet."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pandas as pd

from likewise.report.words import interval, named
from likewise.tables import Estimates

PANELS = 24  # labels that the figure has room for; the table has them all


def placebo_rows(estimates: Estimates) -> list[dict[str, str]]:
    """Set beside every slope what the placebo arms do to the same label."""
    frame = estimates.frame
    moved = frame[(frame["stat"] == "slope_excess")]
    rows = []
    for quantity in moved["quantity"].unique():
        part = frame[frame["quantity"] == quantity]
        rows.append(
            {
                "label": named(str(quantity)),
                "slope": _first(part, ("slope", "rate_slope"), "counterfactual"),
                "random": _first(part, ("slope", "rate_slope"), "random direction"),
                "excess": _first(part, ("slope_excess",), "counterfactual"),
                "reconstruct": _first(part, ("rate_shift",), "placebo: reconstruct"),
                "mask": _first(part, ("rate_shift",), "placebo: mask"),
            }
        )
    return rows


def certificate_rows(made: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    """Count the faces whose edits were certified, and those that were not by reason."""
    judged = [entry["summary"] for entry in made.values() if entry["stage"] == "certify"]
    return [{"what": str(what), "count": f"{count:,}"} for summary in judged for what, count in summary.items()]


def embedded(picture: bytes | None) -> str:
    """Return a JPEG as an address that holds it, so that the page needs nothing from outside."""
    return f"data:image/jpeg;base64,{base64.b64encode(picture).decode()}" if picture else ""


def striking(estimates: Estimates) -> Estimates:
    """Return the estimates of the labels that a figure has room for: those whose slopes stand out most."""
    frame = estimates.frame
    slopes = frame[frame["stat"].isin(["slope", "rate_slope"]) & (frame["sample"] == "counterfactual")]
    if len(slopes) <= PANELS:
        return estimates
    width = (slopes["high"] - slopes["low"]).replace(0, float("inf"))
    order = (slopes["estimate"].abs() / width).sort_values(ascending=False, kind="stable").index
    return Estimates(frame[frame["quantity"].isin(slopes.loc[order, "quantity"].head(PANELS))])


def _first(part: pd.DataFrame, stats: tuple[str, ...], sample: str) -> str:
    hit = part[part["stat"].isin(stats) & (part["sample"] == sample)]
    return interval(hit.iloc[0]) if len(hit) else "–"
