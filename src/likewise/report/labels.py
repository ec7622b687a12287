"""Labels of classifiers, asked three ways: one row a label, and one sentence for all of them."""

from __future__ import annotations

from typing import Any

import pandas as pd

from likewise.report.words import chance
from likewise.tables import Contrast, Estimates

LABELLED = "Share labelled "  # as analyse.present names them, which a report does not know
FEW = 3  # labels that are told one by one, under every design; of more there is a table
_WAYS = {
    "all": (("all", "gap"),),
    "matched": (("matched", "adjusted_gap"), ("matched", "gap")),
    "edited": (("counterfactual", "gap"),),
}


def many_labels(frame: pd.DataFrame) -> set[str]:
    """Return the quantities that are labels, if they are too many to be told one by one."""
    gaps = frame[frame["stat"].eq("gap") & frame["quantity"].str.contains(f": {LABELLED}", regex=False)]
    labels = set(gaps["quantity"])
    return labels if len(labels) > FEW else set()


def label_tables(estimates: Estimates) -> list[dict[str, Any]]:
    """Return for each classifier a row a label, the largest gap as the images come first.

    Nothing, if labels are told one by one.
    """
    frame = estimates.frame
    tables: dict[str, list[dict[str, str]]] = {}
    for quantity, ways in _ways(frame[frame["quantity"].isin(many_labels(frame))]):
        rater, _, label = quantity.partition(f": {LABELLED}")
        tables.setdefault(rater, []).append({"label": label, **_row(ways)})
    return [{"rater": rater, "rows": rows} for rater, rows in tables.items()]


def label_finding(estimates: Estimates, contrast: Contrast) -> str:
    """Say of how many labels the groups differ, one way and the other."""
    frame = estimates.frame
    told = [ways for _, ways in _ways(frame[frame["quantity"].isin(many_labels(frame))])]
    if not told:
        return ""
    named = {"all": "as the images come", "matched": "between look-alikes", "edited": "when pictures are edited"}
    counted = [
        f"{sum(_apart(ways.get(way)) for ways in told)} {words}"
        for way, words in named.items()
        if any(way in ways and pd.notna(ways[way]["low"]) for ways in told)
    ]
    return (
        f"Of {len(told)} labels, those given to {contrast.focal} and {contrast.reference} faces unequally often, by "
        f"more than this sample can tell from zero for all labels together: {', '.join(counted)}."
    )


def _ways(part: pd.DataFrame) -> list[tuple[str, dict[str, pd.Series]]]:
    found = []
    for quantity, rows in part.groupby("quantity", sort=False):
        ways: dict[str, pd.Series] = {}
        for way, wanted in _WAYS.items():
            hits = [rows[(rows["sample"] == sample) & (rows["stat"] == stat)] for sample, stat in wanted]
            ways |= {way: next(hit.iloc[0] for hit in hits if len(hit))} if any(map(len, hits)) else {}
        p = rows[rows["stat"] == "agreement_p"]
        found.append((str(quantity), ways | ({"p": p.iloc[0]} if len(p) else {})))
    return sorted(found, key=lambda entry: -abs(entry[1]["all"]["estimate"]) if "all" in entry[1] else 0.0)


def _row(ways: dict[str, pd.Series]) -> dict[str, str]:
    told = {way: _points(ways[way]) if way in ways else "–" for way in _WAYS}
    clear = {f"{way}_clear": "yes" if _apart(ways.get(way)) else "" for way in _WAYS}
    return {"p": chance(ways["p"]["estimate"]) if "p" in ways else "–", **told, **clear}


def _points(row: pd.Series) -> str:
    """Write a difference of shares in percentage points."""
    middle, low, high = (f"{100 * row[end]:+.0f}".replace("-", "−") for end in ("estimate", "low", "high"))
    return middle if pd.isna(row["low"]) else f"{middle} ({low} to {high})"


def _apart(row: pd.Series | None) -> bool:
    return row is not None and bool(row["low"] > 0 or row["high"] < 0)
