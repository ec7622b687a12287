"""The frontier of balance as rows: tolerance, pairs kept, imbalance left, and what chance alone would leave."""

from __future__ import annotations

from typing import Any

import pandas as pd

from likewise.report.numbers import number
from likewise.tables import Estimates

_COLUMNS = {"pairs_kept": "pairs", "imbalance_left": "left", "imbalance_by_chance": "chance"}
_TOLERANCE = "max_smd "


def frontier_points(balance: Estimates) -> pd.DataFrame:
    """Return the tolerances that have pairs: ``tolerance``, ``pairs``, ``left`` and ``chance``, the strictest first."""
    frame = balance.frame
    rows = frame[frame["stat"].isin(list(_COLUMNS)) & frame["quantity"].str.startswith(_TOLERANCE)]
    wide = rows.pivot(index="quantity", columns="stat", values="estimate").rename(columns=_COLUMNS)
    wide = wide.reindex(columns=list(_COLUMNS.values())).dropna()
    wide["tolerance"] = wide.index.str.removeprefix(_TOLERANCE).astype(float)
    return wide.sort_values("tolerance").reset_index(drop=True)


def unmatched_imbalance(balance: Estimates) -> float | None:
    """Return the mean absolute SMD before matching, where the table has it."""
    rows = balance.where(stat="imbalance_left", sample="all").frame
    return None if rows.empty else float(rows["estimate"].iloc[0])


def frontier_rows(balance: Estimates) -> list[dict[str, Any]]:
    """Return a row for each tolerance that has pairs."""
    columns = ["tolerance", "pairs", "left", "chance"]
    return [
        {
            "tolerance": f"{tolerance:g}",
            "pairs": f"{pairs:.0f}",
            "left": number(left, decimals=3),
            "chance": number(chance, decimals=3),
        }
        for tolerance, pairs, left, chance in frontier_points(balance)[columns].to_numpy(dtype=float)
    ]


def frontier_sentence(balance: Estimates) -> str:
    """State what a stricter tolerance costs; nothing where fewer than two tolerances have pairs."""
    points, before = frontier_points(balance), unmatched_imbalance(balance)
    if len(points) < 2 or before is None:
        return ""
    first, last = points.iloc[0], points.iloc[-1]
    return (
        f"At max_smd {first['tolerance']:g} the design keeps {first['pairs']:.0f} pairs with a mean absolute SMD of "
        f"{number(first['left'], decimals=3)}, at {last['tolerance']:g} it keeps "
        f"{last['pairs']:.0f} with {number(last['left'], decimals=3)}; unmatched it is {number(before, decimals=3)}."
    )
