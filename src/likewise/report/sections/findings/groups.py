"""Groups and intersections: one row per quantity for how far the groups lie apart, and a table of the groups each."""

from __future__ import annotations

from typing import Any

import pandas as pd

from likewise.report.names import first, is_label, measure, plain, quantity, system
from likewise.report.numbers import MISSING, interval, percent, points, ratio, significant
from likewise.tables import Estimates

OVERALL, ALL = "overall", "all groups"
_VALUES = ("group_rate", "group_mean")


def group_sections(estimates: Estimates) -> list[dict[str, Any]]:
    """Return one entry a set of columns: the quantities, and the groups of each; the intersection first."""
    frame = estimates.frame
    frame = frame[frame["sample"].str.startswith("by ")]
    samples = sorted(frame["sample"].unique(), key=lambda name: -str(name).count(" x "))
    return [_section(str(sample), frame[frame["sample"] == sample]) for sample in samples]


def values_of(estimates: Estimates, name: str, sample: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the values and the differences of one quantity, largest value first, the overall value last."""
    frame = estimates.frame
    part = frame[(frame["quantity"] == name) & (frame["sample"] == sample)]
    values = part[part["stat"].isin(_VALUES)].sort_values("estimate", ascending=False, kind="stable")
    values = pd.concat([values[values["group"] != OVERALL], values[values["group"] == OVERALL]])
    return values, part[part["stat"] == "group_difference"]


def _section(sample: str, part: pd.DataFrame) -> dict[str, Any]:
    found = Estimates(part)
    names = [str(name) for name in part.loc[part["stat"].isin(_VALUES), "quantity"].unique()]
    entries = [_entry(found, name, sample) for name in names]
    return {
        "by": " × ".join(plain(name) for name in sample.removeprefix("by ").split(" x ")), "sample": sample,
        "entries": entries, "suppressed": _suppressed(part), "level": _level(part),
    }  # fmt: skip


def _entry(estimates: Estimates, name: str, sample: str) -> dict[str, Any]:
    values, differences = values_of(estimates, name, sample)
    largest = first(estimates.where(quantity=name).frame, (sample, "max_difference"))
    highest_over_lowest = first(estimates.where(quantity=name).frame, (sample, "max_min"))
    share = bool((values["stat"] == "group_rate").all())
    groups = values[values["group"] != OVERALL]
    write, gap = (percent, points) if share else (interval, interval)
    by_group = {str(row["group"]).rsplit(" - ", 1)[0]: row for _, row in differences.iterrows()}
    reference = str(differences["group"].iloc[0]).rsplit(" - ", 1)[1]
    rows = [
        {
            "group": row["group"], "n": f"{row['n']:,}", "identities": f"{row['clusters']:,}", "value": write(row),
            "difference": gap(by_group[row["group"]]) if row["group"] in by_group else MISSING,
            "differs": significant(by_group.get(row["group"])), "overall": row["group"] == OVERALL,
            "remark": str(row["method"]).partition("; ")[2],
        }
        for _, row in values.iterrows()
    ]  # fmt: skip
    return {
        "quantity": name, "name": quantity(name), "measure": measure(name), "system": system(name),
        "label": is_label(name), "rows": rows,
        "reference": reference,
        "highest": _end(groups.iloc[0], write), "lowest": _end(groups.iloc[-1], write),
        "largest": MISSING if largest is None else gap(largest), "ratio": _ratio(highest_over_lowest),
        "differing": sum(row["differs"] for row in rows), "groups": len(groups), "share": share,
    }  # fmt: skip


def _ratio(row: pd.Series | None) -> str:
    """Write a ratio; without an interval half an error was added to each group, and the number means little."""
    return MISSING if row is None or pd.isna(row["low"]) else ratio(row)


def _end(row: pd.Series, write: Any) -> str:
    return f"{write(row).partition(' (')[0]} ({row['group']})"


def _suppressed(part: pd.DataFrame) -> str:
    rows = part[part["stat"] == "suppressed_groups"]
    if rows.empty:
        return ""
    below, _, names = str(rows.iloc[0]["method"]).partition("; ")
    return f"Not reported ({below}): {names.replace(' | ', '; ')}."


def _level(part: pd.DataFrame) -> str:
    return f"{round(100 * float(part['level'].dropna().iloc[0]), 2):g} %"
