"""Tables without a figure: responses of people, image quality, and representation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from likewise.report.names import quantity as named
from likewise.report.names import without_simulation
from likewise.report.numbers import interval
from likewise.report.sections.findings.gaps import plotted_gaps
from likewise.tables import STATS, Estimates

_LONG = 12  # rows beyond which a table is collapsed
_WITH_GAPS = (
    "mean", "gap", "adjusted_gap", "explained_share", "p_value", "gamma", "e_value", "e_value_limit", "odds_ratio",
    "answer_ratio", "gap_in_sd", "adjusted_gap_in_sd", "regression_gap", "robustness_value", "robustness_value_limit",
    "partial_r2_attribute", "partial_r2_answer", "gap_with_confounder", "verdict", "detectable_gap", "equivalence_p",
)  # fmt: skip
"""Reported with the gaps, where the quantity is plotted there."""


@dataclass(frozen=True)
class Family:
    """Statistics that are read together."""

    key: str
    title: str
    words: str
    belongs: Callable[[pd.DataFrame], pd.Series]


def _people(frame: pd.DataFrame) -> pd.Series:
    by_people = frame["quantity"].str.startswith(("people: ", "agreement: ")) | frame["stat"].eq("rank_correlation")
    elsewhere = frame["quantity"].isin(plotted_gaps(frame)) & frame["stat"].isin(_WITH_GAPS)
    return by_people & ~elsewhere & frame["stat"].ne("rater_accuracy")


def _image_quality(frame: pd.DataFrame) -> pd.Series:
    scored = frame["stat"].isin(["kid", "fid", "inception_score"]) | frame["stat"].str.startswith("manifold_")
    sources = frame.loc[scored, "quantity"].unique()
    return scored | frame["quantity"].str.startswith(tuple(f"{name}, " for name in sources) or ("\n",))


def _representation(frame: pd.DataFrame) -> pd.Series:
    terms = frame.loc[frame["stat"] == "shrunk_share", "quantity"]
    return frame["quantity"].isin(terms) & frame["stat"].isin(["share", "shrunk_share", "reference_gap"])


def _label_noise(frame: pd.DataFrame) -> pd.Series:
    samples = ("as predicted", "corrected for label noise", "labels imputed", "MC-SIMEX")
    scaled = frame["stat"].str.endswith("_in_sd")
    return (frame["sample"].isin(samples) & ~scaled) | frame["stat"].eq("label_accuracy")


FAMILIES = (
    Family(
        "label-noise",
        "Label noise",
        "The groups are predicted, and people labeled a random part of the images. The corrected gap is right whatever "
        "the errors of the prediction are. Imputation and MC-SIMEX assume a model of the error and are for comparison.",
        _label_noise,
    ),
    Family(
        "people",
        "Human study",
        "Raters and images are both random samples, and the intervals account for both. Krippendorff's alpha is 1 for "
        "perfect agreement and 0 for agreement by chance.",
        _people,
    ),
    Family(
        "raters",
        "Raters",
        "Agreement of each rater with the majority of the others, lowest first.",
        lambda frame: frame["stat"].eq("rater_accuracy"),
    ),
    Family(
        "images",
        "Image quality",
        "Generated images of each group against real images of the same group, by precomputed features.",
        _image_quality,
    ),
    Family(
        "representation",
        "Representation",
        "Shares by term, most skewed first. The shrunken share is pulled toward the shares of the other terms, more "
        "strongly for terms with few images.",
        _representation,
    ),
)


def families(estimates: Estimates) -> list[dict[str, Any]]:
    """Return the families that these estimates have rows of, as tables by quantity."""
    frame = estimates.frame
    frame = without_simulation(frame)
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
