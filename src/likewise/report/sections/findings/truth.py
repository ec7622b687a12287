"""Estimates beside the ground truth of a simulation."""

from __future__ import annotations

import pandas as pd

from likewise.report.names import Naming, quantity
from likewise.report.numbers import TINY, interval, number
from likewise.tables import Estimates

_CONTROL = "random direction"
"""The control edit: it does not estimate the effect of the attribute."""


def truth_rows(estimates: Estimates, naming: Naming | None = None) -> list[dict[str, str]]:
    """Return each estimate beside the ground truth, and whether its interval covers it."""
    frame, names = estimates.frame, naming or Naming()
    frame = frame[~frame["stat"].str.endswith("_in_sd") & ~frame["sample"].str.startswith("design: ")]
    frame = frame[frame["sample"] != _CONTROL]
    simulated = frame["sample"].str.startswith("truth: ")
    rows = []
    for _, true in frame[simulated].iterrows():
        own = frame[~simulated & (frame["quantity"] == true["quantity"]) & frame["stat"].isin(_stats_of(true))]
        own = own[(own["sample"] == "all") == (true["sample"] == "truth: all")]
        rows += [_row(row, true, names) for _, row in own.iterrows()]
    return rows


def _row(row: pd.Series, true: pd.Series, naming: Naming) -> dict[str, str]:
    covered = row["low"] - TINY <= true["estimate"] <= row["high"] + TINY
    return {
        "quantity": quantity(row["quantity"]), "sample": naming.sample(row["sample"], row["stat"]),
        "true": number(true["estimate"]), "estimate": interval(row), "covered": "yes" if covered else "no",
    }  # fmt: skip


def _stats_of(true: pd.Series) -> list[str]:
    return ["gap", "adjusted_gap"] if true["stat"] == "gap" else [true["stat"]]
