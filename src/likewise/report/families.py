"""Tables of what has no picture of its own: people's answers, the images themselves, who is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from likewise.report.words import interval, named
from likewise.tables import STATS, Estimates

_LONG = 30  # rows beyond which a table is folded up
_WITH_GAPS = ("mean", "gap", "adjusted_gap", "share_gone", "p_value", "gamma", "e_value", "e_value_limit", "odds_ratio",
              "answer_ratio")  # fmt: skip
"""Told with the gaps, where the quantity is drawn there."""


@dataclass(frozen=True)
class Family:
    """Statistics that are read together."""

    key: str
    title: str
    words: str
    belongs: Callable[[pd.DataFrame], pd.Series]


def drawn_gaps(frame: pd.DataFrame) -> list[str]:
    """Name the quantities whose gap is drawn: on images as they come, or between look-alikes."""
    drawn = frame["stat"].eq("gap") & frame["sample"].isin(["all", "matched"])
    names: list[str] = frame.loc[drawn, "quantity"].unique().tolist()
    return names


def _people(frame: pd.DataFrame) -> pd.Series:
    asked = frame["quantity"].str.startswith(("people: ", "agreement: ")) | frame["stat"].eq("rank_correlation")
    elsewhere = frame["quantity"].isin(drawn_gaps(frame)) & frame["stat"].isin(_WITH_GAPS)
    return asked & ~elsewhere & frame["stat"].ne("rater_accuracy")


def _pictures(frame: pd.DataFrame) -> pd.Series:
    scored = frame["stat"].isin(["kid", "fid", "inception_score"])
    sources = frame.loc[scored, "quantity"].unique()
    return scored | frame["quantity"].str.startswith(tuple(f"{name}, " for name in sources) or ("\n",))


def _shown(frame: pd.DataFrame) -> pd.Series:
    terms = frame.loc[frame["stat"] == "shrunk_share", "quantity"]
    return frame["quantity"].isin(terms) & frame["stat"].isin(["share", "shrunk_share", "reference_gap"])


FAMILIES = (
    Family(
        "people",
        "What people answered",
        "People and images are both samples, and the intervals allow for both. Krippendorff's alpha is 1 where all "
        "agree and 0 where they agree no more than by chance; it speaks of these people and of images like these.",
        _people,
    ),
    Family(
        "raters",
        "Single raters",
        "How often each of them agrees with the majority of the others, most at odds first.",
        lambda frame: frame["stat"].eq("rater_accuracy"),
    ),
    Family(
        "pictures",
        "The pictures themselves",
        "Each group's generated images beside the same group's real ones, by features that were computed elsewhere.",
        _pictures,
    ),
    Family(
        "shown",
        "Who is shown",
        "Shares by term, most skewed first. The second share is drawn towards those of the other terms, the more so "
        "the fewer images a term has.",
        _shown,
    ),
)


def families(estimates: Estimates) -> list[dict[str, Any]]:
    """Return the families that these estimates have rows of, as tables by quantity."""
    frame = estimates.frame
    frame = frame[~frame["sample"].str.startswith("truth: ")]
    shown = []
    for family in FAMILIES:
        rows = frame[family.belongs(frame)]
        if len(rows):
            tables = [_table(str(name), part) for name, part in rows.groupby("quantity", sort=False)]
            shown.append({"key": family.key, "title": family.title, "words": family.words, "tables": tables})
    return shown


def _table(quantity: str, part: pd.DataFrame) -> dict[str, Any]:
    several = len(set(part["sample"])) > 1
    rows = [
        {
            "what": f"{STATS[row['stat']].label}: {row['group']}" + (f", {row['sample']}" if several else ""),
            "value": interval(row), "n": f"{row['n']:,}", "clusters": f"{row['clusters']:,}", "method": row["method"],
        }
        for _, row in part.iterrows()
    ]  # fmt: skip
    return {"name": named(quantity).replace("_", " "), "rows": rows, "long": len(rows) > _LONG}
