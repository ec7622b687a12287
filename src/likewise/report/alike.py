"""How alike the groups are, as tables and words: covariates, two at a time, the whole space, and who was left out."""

from __future__ import annotations

from typing import Any

import pandas as pd

from likewise.report.words import number
from likewise.tables import Contrast, Estimates

_MEANS = ("mean", "share")
_SHOWN = 8  # covariates of the profile; the artefact has all of them


def balance_rows(balance: Estimates, contrast: Contrast) -> list[dict[str, str]]:
    """Return each covariate's means and standardised difference, before and after."""
    frame = balance.frame
    rows = []
    for name in frame.loc[frame["stat"].isin((*_MEANS, "smd")), "quantity"].unique():
        row = {"quantity": _plain(name)}
        for sample in ("all", "matched"):
            for side, level in (("focal", contrast.focal), ("reference", contrast.reference)):
                row[f"{sample}_{side}"] = _found(frame, name, _MEANS, sample, str(level))
            row[f"{sample}_smd"] = _found(frame, name, ("smd",), sample, contrast.label)
        rows.append(row)
    return rows


def energy_words(balance: Estimates) -> str:
    """Say how far apart the groups are in the whole space of the vectors."""
    rows = balance.where(stat="energy_distance").frame
    known: dict[str, float] = dict(zip(rows["sample"], rows["estimate"], strict=True))
    if "all" not in known:
        return ""
    text = "Energy distance of the groups in the whole space of the vectors: "
    text += f"{number(known['all'])} as the images come"
    if "matched" in known:
        text += f", {number(known['matched'])} between look-alikes"
    return f"{text} (0: nothing there tells them apart; what the contrast itself draws stays)."


def left_out_rows(balance: Estimates, contrast: Contrast) -> list[dict[str, Any]]:
    """Return, for the covariates in which they differ most, the means of the matched and of the left out by group."""
    frame = balance.frame
    apart = frame[frame["stat"] == "left_out_smd"]
    order = apart["estimate"].abs().groupby(apart["quantity"]).max().sort_values(ascending=False, kind="stable")
    return [
        {
            "quantity": _plain(name),
            "sides": [
                {
                    "matched": _found(frame, name, _MEANS, "matched", side),
                    "left": _found(frame, name, _MEANS, "left out", side),
                    "smd": _found(frame, name, ("left_out_smd",), "left out", side),
                }
                for side in (str(contrast.focal), str(contrast.reference))
            ],
        }
        for name in order.index[:_SHOWN]
    ]


def joint_rows(balance: Estimates, contrast: Contrast) -> list[dict[str, str]]:
    """Return how often two covariates go together in each group, before and after, in per cent."""
    rows = balance.where(stat="joint_share").frame
    return [
        {
            "cell": _plain(name).replace(" & ", ", "),
            **{
                f"{sample}_{side}": _share(rows, name, sample, str(level))
                for sample in ("all", "matched")
                for side, level in (("focal", contrast.focal), ("reference", contrast.reference))
            },
        }
        for name in rows["quantity"].unique()
    ]


def _found(frame: pd.DataFrame, name: str, stats: tuple[str, ...], sample: str, group: str) -> str:
    here = (frame["quantity"] == name) & (frame["sample"] == sample) & (frame["group"] == group)
    hit = frame.loc[here & frame["stat"].isin(stats), "estimate"]
    return number(hit.iloc[0]) if len(hit) else "–"


def _share(rows: pd.DataFrame, name: str, sample: str, group: str) -> str:
    hit = rows.loc[(rows["quantity"] == name) & (rows["sample"] == sample) & (rows["group"] == group), "estimate"]
    return f"{100 * hit.iloc[0]:.0f} %" if len(hit) else "–"


def _plain(name: str) -> str:
    return str(name).replace("_", " ")
