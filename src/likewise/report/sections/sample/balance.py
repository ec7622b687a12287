"""Covariate balance as tables and sentences: means, joint shares, energy distance, and the excluded images."""

from __future__ import annotations

from typing import Any

import pandas as pd

from likewise.report.names import BALANCED, Naming, plain
from likewise.report.numbers import MISSING, magnitude, number
from likewise.tables import Contrast, Estimates, Matches

_MEANS = ("mean", "share")
_EXCLUDED = ("excluded", "left out")
ESTIMANDS = {
    "ATE": "ATE: average difference over all units",
    "ATT": "ATT: average difference over the units of the focal group",
    "ATC": "ATC: average difference over the units of the reference group",
    "ATM": "ATM: average difference over the matched units",
}
_SHOWN = 8  # covariates of the comparison with the excluded; the artifact has all of them


def sample_table(matches: Matches, contrast: Contrast) -> dict[str, Any]:
    """Return how many units were offered, matched and dropped, by group and reason, and the constraints that hold."""
    dropped = matches.dropped
    counted = "units" if "units" in dropped.columns else "images"
    sides = [str(contrast.focal), str(contrast.reference)]
    reasons = [
        {"reason": str(reason), "counts": [int(part.loc[part["side"] == side, counted].sum()) for side in sides]}
        for reason, part in dropped.groupby("reason", sort=False)
    ]
    ledger = matches.ledger
    return {
        "sides": sides,
        "offered": [matches.offered.get(side, 0) for side in sides],
        "matched": len(matches),
        "reasons": reasons,
        "constraints": [{"name": name, "kept": int(ledger[name].sum())} for name in ledger.columns if name != "pair"],
        "note": matches.note,
        "unit": f"{matches.unit}s",
        "estimand": ESTIMANDS.get(matches.estimand, matches.estimand),
        "spec": matches.spec.to_dict() if matches.spec else {},
    }


def balance_rows(balance: Estimates, contrast: Contrast) -> list[dict[str, Any]]:
    """Return each covariate's means and standardized difference (``apart``: a large one), before and after matching."""
    frame = balance.frame
    rows = []
    for name in frame.loc[frame["stat"].isin((*_MEANS, "smd")), "quantity"].unique():
        row: dict[str, Any] = {"quantity": plain(name)}
        for sample in ("all", "matched"):
            for side, level in (("focal", contrast.focal), ("reference", contrast.reference)):
                row[f"{sample}_{side}"] = _value(frame, name, _MEANS, (sample,), str(level))
            row[f"{sample}_smd"] = _value(frame, name, ("smd",), (sample,), contrast.label)
            row[f"{sample}_apart"] = _apart(frame, name, "smd", (sample,), contrast.label)
        rows.append(row)
    return rows


def energy_sentence(balance: Estimates, naming: Naming | None = None) -> str:
    """State the energy distance between the groups in the space of the vectors; an estimate below zero is none."""
    rows = balance.where(stat="energy_distance").frame
    known: dict[str, float] = dict(zip(rows["sample"], rows["estimate"], strict=True))
    if "all" not in known:
        return ""
    text = f"Energy distance between the groups in the space of the vectors: {number(max(known['all'], 0.0))} unmatched"
    if "matched" in known:
        text += f", {number(max(known['matched'], 0.0))} {(naming or Naming()).matched}"
    return f"{text} (0: identical distributions; the contrast itself remains in it)."


def excluded_rows(balance: Estimates, contrast: Contrast) -> list[dict[str, Any]]:
    """Return the means of matched and excluded images by group, for the covariates in which they differ most."""
    frame = balance.frame
    apart = frame[frame["stat"] == "excluded_smd"]
    order = apart["estimate"].abs().groupby(apart["quantity"]).max().sort_values(ascending=False, kind="stable")
    return [
        {
            "quantity": plain(name),
            "sides": [
                {
                    "matched": _value(frame, name, _MEANS, ("matched",), side),
                    "excluded": _value(frame, name, _MEANS, _EXCLUDED, side),
                    "smd": _value(frame, name, ("excluded_smd",), _EXCLUDED, side),
                    "apart": _apart(frame, name, "excluded_smd", _EXCLUDED, side),
                }
                for side in (str(contrast.focal), str(contrast.reference))
            ],
        }
        for name in order.index[:_SHOWN]
    ]


def joint_rows(balance: Estimates, contrast: Contrast) -> list[dict[str, str]]:
    """Return the joint shares of two binary covariates in each group, before and after matching, in percent."""
    rows = balance.where(stat="joint_share").frame
    return [
        {
            "cell": plain(name).replace(" & ", ", "),
            **{
                f"{sample}_{side}": _share(rows, name, sample, str(level))
                for sample in ("all", "matched")
                for side, level in (("focal", contrast.focal), ("reference", contrast.reference))
            },
        }
        for name in rows["quantity"].unique()
    ]


def _value(frame: pd.DataFrame, name: str, stats: tuple[str, ...], samples: tuple[str, ...], group: str) -> str:
    of_name = (frame["quantity"] == name) & frame["stat"].isin(stats)
    hit = frame.loc[of_name & frame["sample"].isin(samples) & (frame["group"] == group), "estimate"]
    decimals = magnitude(*frame.loc[of_name, "estimate"]) if stats == _MEANS else 3
    return number(hit.iloc[0], decimals=decimals) if len(hit) else MISSING


def _apart(frame: pd.DataFrame, name: str, stat: str, samples: tuple[str, ...], group: str) -> bool:
    """Whether a standardized mean difference is above the limit."""
    of_name = (frame["quantity"] == name) & (frame["stat"] == stat) & frame["sample"].isin(samples)
    return bool((frame.loc[of_name & (frame["group"] == group), "estimate"].abs() > BALANCED).any())


def _share(rows: pd.DataFrame, name: str, sample: str, group: str) -> str:
    hit = rows.loc[(rows["quantity"] == name) & (rows["sample"] == sample) & (rows["group"] == group), "estimate"]
    return f"{100 * hit.iloc[0]:.0f} %" if len(hit) else MISSING
