"""The section on pair questions: which of two images a vision-language model chooses."""

from __future__ import annotations

from typing import Any

import pandas as pd

from likewise.report.names import plain, system
from likewise.report.numbers import MISSING, percent
from likewise.tables import Contrast, Estimates

_NULL = 0.5


def preference_tables(estimates: Estimates) -> list[dict[str, Any]]:
    """Return a row for each pair question and sample: the preference, the order effect and the refusals."""
    frame = estimates.frame
    own = frame[frame["stat"].isin(["preference", "first_shown", "pairs_refused"])]
    rows = []
    for (name, sample), part in own.groupby(["quantity", "sample"], sort=False):
        stats = {str(row["stat"]): row for _, row in part.iterrows()}
        lead = stats.get("preference")
        rows.append({
            "rater": system(str(name)), "question": plain(str(name).partition(": ")[2]), "sample": str(sample),
            "pairs": "0" if lead is None else f"{int(lead['n']):,}",
            "clear": lead is not None and _excludes(lead),
            **{stat: percent(stats[stat]) if stat in stats else MISSING
               for stat in ("preference", "first_shown", "pairs_refused")},
        })  # fmt: skip
    return rows


def preference_finding(estimates: Estimates, contrast: Contrast) -> str:
    """State which pair questions show a preference that is not one for the place."""
    frame = estimates.frame
    rows = frame[frame["stat"].eq("preference") & frame["sample"].isin(["matched", "counterfactual"])]
    said = [_sentence(row, contrast) for _, row in rows.iterrows()]
    return " ".join(said)


def _sentence(row: pd.Series, contrast: Contrast) -> str:
    where = "matched pairs" if row["sample"] == "matched" else "edits of the same images"
    chosen = contrast.focal if row["estimate"] > _NULL else contrast.reference
    words = f"prefers the {chosen} image" if _excludes(row) else "no statistically significant preference"
    question = plain(str(row["quantity"]).partition(": ")[2])
    return f"{system(str(row['quantity']))}, {question}, {where}: {words} ({contrast.focal} chosen {percent(row)})."


def _excludes(row: pd.Series) -> bool:
    return bool(row["low"] > _NULL or row["high"] < _NULL)
