"""Fidelity of the reconstructions, as rows of the report."""

from __future__ import annotations

import pandas as pd

from likewise.report.names import quantity
from likewise.report.numbers import MISSING, interval, p_value, significant
from likewise.tables import Contrast, Estimates

_EXCLUDED = ("left_out", "excluded_share")


def fidelity_rows(fidelity: Estimates | None, contrast: Contrast) -> list[dict[str, str]]:
    """Return a row a measure: its value in each group, the gap, and the p-value where there is one."""
    if fidelity is None:
        return []
    return [
        {
            "measure": quantity(str(name)),
            "focal": _cell(part, "mean", *_EXCLUDED, group=str(contrast.focal)),
            "reference": _cell(part, "mean", *_EXCLUDED, group=str(contrast.reference)),
            "gap": _cell(part, "gap", group=contrast.label),
            "p": _p(part),
            "kind": "gate" if part["stat"].isin(_EXCLUDED).any() else "measure",
        }
        for name, part in fidelity.frame.groupby("quantity", sort=False)
    ]


def fidelity_differs(fidelity: Estimates | None) -> bool:
    """Whether any measure of fidelity differs significantly between the groups."""
    if fidelity is None:
        return False
    gaps = fidelity.where(stat="gap").frame
    return any(significant(row) for _, row in gaps.iterrows())


def _cell(part: pd.DataFrame, *stats: str, group: str) -> str:
    hit = part[part["stat"].isin(stats) & (part["group"] == group)]
    return interval(hit.iloc[0]) if len(hit) else MISSING


def _p(part: pd.DataFrame) -> str:
    hit = part.loc[part["stat"] == "p_value", "estimate"]
    return p_value(float(hit.iloc[0])) if len(hit) else ""
