"""How faithfully the images were drawn again, as rows of the report."""

from __future__ import annotations

from typing import Any

import pandas as pd

from likewise.report.words import chance, interval, named
from likewise.tables import Contrast, Estimates


def fidelity_rows(fidelity: Estimates | None, contrast: Contrast) -> list[dict[str, str]]:
    """Return a row a judge: what was found in each group, the gap, and the p-value where there is one."""
    if fidelity is None:
        return []
    rows = []
    for quantity, part in fidelity.frame.groupby("quantity", sort=False):
        rows.append(
            {
                "judge": named(str(quantity)),
                "focal": _one(part, "mean", "left_out", group=str(contrast.focal)),
                "reference": _one(part, "mean", "left_out", group=str(contrast.reference)),
                "gap": _one(part, "gap", group=contrast.label),
                "p": _p(part),
                "kind": "gate" if part["stat"].eq("left_out").any() else "judge",
            }
        )
    return rows


def _one(part: pd.DataFrame, *stats: str, group: str) -> str:
    hit = part[part["stat"].isin(stats) & (part["group"] == group)]
    return interval(hit.iloc[0]) if len(hit) else "–"


def _p(part: pd.DataFrame) -> str:
    hit: Any = part.loc[part["stat"] == "p_value", "estimate"]
    return chance(float(hit.iloc[0])) if len(hit) else ""
