"""Labels of classifiers under each design: one row per label, and one sentence for all of them."""

from __future__ import annotations

from typing import Any

import pandas as pd

from likewise.report.names import EDITED, UNMATCHED, Naming, first, is_label, label, system
from likewise.report.numbers import MISSING, number, p_value, significant
from likewise.tables import Contrast, Estimates

FEW = 3
"""Up to this many labels are reported one by one, under every design; more are reported as a table."""
_DESIGNS = {
    "matched": ("matched", "gap"),
    "adjusted": ("matched", "adjusted_gap"),
    "edited": ("counterfactual", "gap"),
    "all": ("all", "gap"),
}


def many_labels(frame: pd.DataFrame) -> set[str]:
    """Return the quantities that are labels, if they are too many to be reported one by one."""
    gaps = frame[frame["stat"].eq("gap") & frame["quantity"].map(is_label).astype(bool)]
    labels = set(gaps["quantity"])
    return labels if len(labels) > FEW else set()


def label_tables(estimates: Estimates) -> list[dict[str, Any]]:
    """Return for each classifier a row per label, the largest unmatched gap first; nothing if there are few labels."""
    frame = estimates.frame
    tables: dict[str, list[dict[str, str]]] = {}
    for name, found in _labels(frame[frame["quantity"].isin(many_labels(frame))]):
        tables.setdefault(system(name), []).append({"label": label(name), **_row(found)})
    return [{"rater": rater, "rows": rows} for rater, rows in tables.items()]


def label_finding(estimates: Estimates, contrast: Contrast, naming: Naming | None = None) -> str:
    """State how many labels differ between the groups, under each design."""
    names = naming or Naming()
    frame = estimates.frame
    found = [rows for _, rows in _labels(frame[frame["quantity"].isin(many_labels(frame))])]
    if not found:
        return ""
    words = {"matched": names.matched, "adjusted": names.adjusted, "edited": EDITED, "all": UNMATCHED}
    counted = [
        f"{sum(significant(rows.get(design)) for rows in found)} ({word})"
        for design, word in words.items()
        if any(design in rows and pd.notna(rows[design]["low"]) for rows in found)
    ]
    return (
        f"Of {len(found)} labels, assigned at significantly different rates to {contrast.focal} and "
        f"{contrast.reference} images (simultaneous intervals): {', '.join(counted)}."
    )


def percentage_points(row: pd.Series) -> str:
    """Write a difference of shares in percentage points, with its sign."""
    middle, low, high = (_signed(row[end]) for end in ("estimate", "low", "high"))
    return middle if pd.isna(row["low"]) else f"{middle} ({low} to {high})"


def _signed(value: float) -> str:
    text = number(100 * value, decimals=1) if pd.notna(value) else MISSING
    return text if text in ("0.0", MISSING) or text.startswith("−") else f"+{text}"


def _labels(part: pd.DataFrame) -> list[tuple[str, dict[str, pd.Series]]]:
    found = []
    for name, rows in part.groupby("quantity", sort=False):
        known = {design: first(rows, key) for design, key in _DESIGNS.items()}
        known["q"] = first(rows, ("matched", "q_value"), ("all", "q_value"))
        known["p"] = first(rows, ("matched - counterfactual", "agreement_p"))
        found.append((str(name), {design: row for design, row in known.items() if row is not None}))
    return sorted(found, key=lambda entry: -abs(entry[1]["all"]["estimate"]) if "all" in entry[1] else 0.0)


def _row(found: dict[str, pd.Series]) -> dict[str, str]:
    shown = {design: percentage_points(found[design]) if design in found else MISSING for design in _DESIGNS}
    clear = {f"{design}_clear": "yes" if significant(found.get(design)) else "" for design in _DESIGNS}
    tested = {key: p_value(found[key]["estimate"]) if key in found else MISSING for key in ("p", "q")}
    return {**tested, **shown, **clear}
