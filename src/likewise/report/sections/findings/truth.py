"""Estimates beside the ground truth of a simulation."""

from __future__ import annotations

import pandas as pd

from likewise.report.names import Naming, quantity, truth_of
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
        same = frame["quantity"] == true["quantity"]
        own = frame[~simulated & same & frame["stat"].isin(_stats_of(true))]
        others = frame.loc[simulated & same & (frame["stat"] == true["stat"]), "sample"].tolist()
        own = own[[truth_of(sample, others) == true["sample"] for sample in own["sample"]]]
        rows += [_row(row, true, names) for _, row in own.iterrows()]
    return rows


def _row(row: pd.Series, true: pd.Series, naming: Naming) -> dict[str, str]:
    covered = row["low"] - TINY <= true["estimate"] <= row["high"] + TINY
    return {
        "quantity": quantity(row["quantity"]), "sample": naming.sample(row["sample"], row["stat"]),
        "true": number(true["estimate"]), "estimate": interval(row), "of": _estimand(true),
        "covered": "yes" if covered else "no",
    }  # fmt: skip


def _estimand(true: pd.Series) -> str:
    """Say whose effect the truth is: of the estimate's own units, where it is known by unit."""
    if "own units" not in str(true["method"]):
        return "everyone"
    sample = str(true["sample"]).removeprefix("truth: ")
    return f"{sample} ({int(true['n'])})" if sample != "everyone" else sample


def _stats_of(true: pd.Series) -> list[str]:
    return ["gap", "adjusted_gap"] if true["stat"] == "gap" else [true["stat"]]
