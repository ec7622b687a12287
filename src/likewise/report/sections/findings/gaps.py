"""The gaps of each quantity: a figure, a table and the sensitivity to unmeasured confounding."""

from __future__ import annotations

from typing import Any

import pandas as pd

from likewise.report.names import Naming, quantity
from likewise.report.numbers import interval, significant
from likewise.report.operating_points import operating_quantities
from likewise.report.sections.findings.labels import many_labels
from likewise.report.sentences import sensitivity_sentence
from likewise.tables import Estimates

_ORDER = {"matched": 0, "overlap-weighted": 1, "entropy-balanced": 2, "counterfactual": 3, "all": 4}


def plotted_gaps(frame: pd.DataFrame) -> list[str]:
    """Name the quantities whose gap is plotted: unmatched or matched."""
    plotted = frame["stat"].eq("gap") & frame["sample"].isin(["all", "matched"])
    names: list[str] = frame.loc[plotted, "quantity"].unique().tolist()
    return names


def gap_tables(estimates: Estimates, naming: Naming | None = None) -> list[dict[str, Any]]:
    """Return for each quantity with a gap its rows, those of the matched sample first."""
    frame, names = estimates.frame, naming or Naming()
    elsewhere = {*operating_quantities(estimates), *many_labels(frame)}
    shown = []
    for name in plotted_gaps(frame[~frame["quantity"].isin(elsewhere)]):
        part = frame[frame["quantity"] == name]
        rows = part[
            part["stat"].isin(["mean", "gap", "adjusted_gap", "regression_gap"]) & part["sample"].isin(list(_ORDER))
        ]
        rows = rows.assign(order=rows["sample"].map(_ORDER)).sort_values("order", kind="stable")
        shown.append(
            {
                "quantity": name, "name": quantity(name), "rows": [_row(row, names) for _, row in rows.iterrows()],
                "sensitivity": sensitivity_sentence(part),
            }
        )  # fmt: skip
    return shown


def _row(row: pd.Series, naming: Naming) -> dict[str, Any]:
    return {
        "what": f"{row['group'].replace(' - ', ' − ')}: {naming.sample(row['sample'], row['stat'])}",
        "value": interval(row), "n": f"{row['n']:,}", "clusters": f"{row['clusters']:,}", "method": row["method"],
        "estimand": row.get("estimand") or "",
        "kind": "group" if row["stat"] == "mean" else "gap",
        "apart": row["stat"] != "mean" and significant(row),
    }  # fmt: skip
