"""The rows of the report of a text-to-image audit, written from Estimates. No statistic is computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from likewise.report.names import first, plain
from likewise.report.numbers import MISSING, interval, level, percent, points, significant
from likewise.tables import Estimates

GENERATED, CORRECTED = "generated", "corrected for label noise"
ALL = "all terms"
PEOPLE, REFUSED = "people in the image", "request refused"
_QUALITY = {
    "kid": "KID", "fid": "FID", "manifold_precision": "precision", "manifold_recall": "recall",
    "manifold_density": "density", "manifold_coverage": "coverage",
}  # fmt: skip
_SHARES = ("manifold_precision", "manifold_recall", "manifold_coverage")


def share_rows(estimates: Estimates, quantity: str, benchmark: Mapping[str, float] | None) -> list[dict[str, Any]]:
    """Return a row a term: share, benchmark and difference, corrected where that was possible; largest gap first."""
    frame = estimates.where(quantity=quantity).frame
    rows = []
    for term in frame.loc[(frame["stat"] == "share") & (frame["sample"] == GENERATED), "group"]:
        own = frame[frame["group"] == term]
        share, fixed = first(own, (GENERATED, "share")), first(own, (CORRECTED, "share"))
        gap = first(own, (CORRECTED, "reference_gap"), (GENERATED, "reference_gap"))
        assert share is not None  # the terms are those with a share
        rows.append(
            {
                "term": term, "value": float((share if fixed is None else fixed)["estimate"]),
                "n": f"{share['n']:,}", "clusters": f"{share['clusters']:,}",
                "share": percent(share),
                "corrected": MISSING if fixed is None else percent(fixed),
                "benchmark": MISSING if benchmark is None else f"{100 * benchmark[str(term)]:.1f} %",
                "gap": MISSING if gap is None else points(gap), "differs": significant(gap),
                "above": bool(gap is not None and gap["estimate"] > 0),
                "size": abs(float(gap["estimate"])) if gap is not None else 0.0,
                "remark": str(share["method"]).partition("; ")[2],
            }
        )  # fmt: skip
    return sorted(rows, key=lambda entry: -entry["size"])


def amplification_row(estimates: Estimates, quantity: str) -> tuple[pd.Series, bool] | None:
    """Return the amplification, and whether it is corrected for label noise."""
    found = first(estimates.where(quantity=quantity).frame, *((s, "amplification") for s in (CORRECTED, GENERATED)))
    return None if found is None else (found, found["sample"] == CORRECTED)


def combination_table(estimates: Estimates) -> dict[str, Any] | None:
    """Return the shares of combinations over all terms, and term by term."""
    frame = estimates.where(sample="intersection").frame
    if frame.empty:
        return None
    frame = _split(frame, "cell")
    cells = list(dict.fromkeys(frame["cell"]))
    whole = frame[frame["term"] == ALL] if (frame["term"] == ALL).any() else frame
    terms = [term for term in dict.fromkeys(frame["term"]) if term != ALL]
    found = {(row["term"], row["cell"]): row for _, row in frame.iterrows()}
    return {
        "by": " × ".join(plain(name) for name in str(frame["quantity"].iloc[0]).split(" x ")), "cells": cells,
        "whole": [{"cell": row["cell"], "share": percent(row)} for _, row in whole.iterrows() if len(terms) > 1],
        "terms": [{"term": term, "shares": [percent(found.get((term, cell))) for cell in cells]} for term in terms],
    }  # fmt: skip


def _split(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Split groups like ``doctor: one`` into the term and the rest."""
    parts = [str(group).rpartition(": ") for group in frame["group"]]
    return frame.assign(**{"term": [part[0] for part in parts], name: [part[2] for part in parts]})


def people_rows(estimates: Estimates) -> list[dict[str, str]]:
    """Return by term how many images show no person, one, and several."""
    frame = _split(estimates.where(quantity=PEOPLE).frame, "kind")
    return [
        {"term": str(term), "n": f"{part['n'].iloc[0]:,}", **{row["kind"]: percent(row) for _, row in part.iterrows()}}
        for term, part in frame.groupby("term", sort=True)
    ]


def refusal_rows(estimates: Estimates) -> list[dict[str, Any]]:
    """Return by term the share of refused requests."""
    frame = estimates.where(quantity=REFUSED).frame
    return [
        {"term": row["group"], "n": f"{row['n']:,}", "share": percent(row), "refused": row["estimate"] > 0}
        for _, row in frame.iterrows()
    ]


def pair_rows(estimates: Estimates) -> list[dict[str, Any]]:
    """Return the differences between paired prompts."""
    frame = estimates.where(sample="paired prompts").frame
    rows = []
    for _, row in frame.iterrows():
        name, _, difference = str(row["group"]).rpartition(": ")
        share = str(row["quantity"]).startswith(("share ", "one person"))
        rows.append(
            {
                "value": plain(row["quantity"]), "pair": name, "difference": difference.replace(" - ", " − "),
                "n": f"{row['n']:,}", "gap": points(row) if share else interval(row), "differs": significant(row),
            }
        )  # fmt: skip
    return rows


def quality_rows(estimates: Estimates) -> list[dict[str, Any]]:
    """Return each measure of quality in both groups, and the gap."""
    frame = estimates.where(sample="generated against real").frame
    rows = []
    for stat, name in _QUALITY.items():
        groups = frame[frame["stat"] == stat]
        if groups.empty:
            continue
        write = percent if stat in _SHARES else interval
        short = stat.removeprefix("manifold_")
        gap = frame[(frame["stat"] == "gap") & frame["quantity"].str.endswith(f", {short}")]
        apart = gap.iloc[0] if len(gap) else None
        rows.append(
            {
                "measure": name, "groups": {row["group"]: write(row) for _, row in groups.iterrows()},
                "gap": MISSING if apart is None else (points if stat in _SHARES else interval)(apart),
                "differs": significant(apart), "remark": str(groups["method"].iloc[0]).partition("; ")[2],
            }
        )  # fmt: skip
    return rows


def noise_rows(estimates: Estimates, quantity: str) -> dict[str, Any] | None:
    """Return how often people confirm the predictions, and the corrected mean over all terms."""
    frame = estimates.where(quantity=quantity).frame
    accuracy = frame[frame["stat"] == "label_accuracy"]
    if accuracy.empty:
        return None
    whole = frame[(frame["stat"] == "share") & (frame["sample"] == CORRECTED) & (frame["group"] == ALL)]
    return {
        "accuracy": [
            {"group": row["group"], "n": f"{row['n']:,}", "share": percent(row)} for _, row in accuracy.iterrows()
        ],
        "labels": int(accuracy["n"].sum()), "whole": percent(whole.iloc[0]) if len(whole) else MISSING,
    }  # fmt: skip


def stated_level(estimates: Estimates) -> str:
    """Return the confidence level of the shares, ``95 %``."""
    return level(estimates.where(stat="share").frame.iloc[0])
