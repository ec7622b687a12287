"""Error rates of recognizers: FNMR and FMR by group and operating point, as rows and sentences."""

from __future__ import annotations

from typing import Any

import pandas as pd

from likewise.report.names import UNMATCHED, Naming, difference, first
from likewise.report.numbers import percent, points, ratio, significant
from likewise.report.operating_points import OperatingPoint
from likewise.tables import STATS, Contrast, Estimates

_REMARKS = {
    "rare": "A rate here rests on errors of fewer than five people.",
    "impostors not balanced": "The matched impostor trials are not balanced.",
    "none seen": "Where no error was observed, the interval ends by the rule of three.",
    "no exception seen": "Where every trial was an error, the interval ends by the rule of three.",
}
_ENROLLMENT = ("enrolment_failure", "enrollment_failure", "failure_to_acquire")


def recognizers(estimates: Estimates, contrast: Contrast, naming: Naming | None = None) -> list[dict[str, Any]]:
    """Return for each recognizer its operating points as rows of one table."""
    frame, names = estimates.frame, naming or Naming()
    points_of: dict[str, list[str]] = {}
    for name in frame.loc[frame["stat"] == "fnmr", "quantity"].unique():
        points_of.setdefault(OperatingPoint.of(name).rater, []).append(name)
    return [
        {
            "rater": rater,
            "points": [_point(frame[frame["quantity"] == name], contrast, names) for name in quantities],
            "matched": _has_matched(frame, quantities, "fnmr"),
            "matched_fmr": _has_matched(frame, quantities, "fmr"),
        }
        for rater, quantities in points_of.items()
    ]


def _has_matched(frame: pd.DataFrame, quantities: list[str], stat: str) -> bool:
    """Whether there is a matched rate of this kind."""
    return bool((frame["quantity"].isin(quantities) & frame["stat"].eq(stat) & frame["sample"].eq("matched")).any())


def enrollment_rows(estimates: Estimates) -> list[dict[str, str]]:
    """Return for each recognizer and group the share of trials without a comparison score."""
    frame = estimates.frame
    rows = frame[frame["stat"].isin(_ENROLLMENT)]
    return [
        {"rater": row["quantity"].partition(": ")[0], "group": row["group"], "share": percent(row)}
        for _, row in rows.iterrows()
    ]


def error_findings(estimates: Estimates, contrast: Contrast, naming: Naming | None = None) -> list[str]:
    """State each recognizer's FNMR by group at its first operating point: matched first, then unmatched."""
    return [_finding(entry, contrast) for entry in recognizers(estimates, contrast, naming)]


def _finding(entry: dict[str, Any], contrast: Contrast) -> str:
    point = entry["points"][0]
    focal, reference, gap = point["rows"]
    text = f"FNMR of {entry['rater']} {point['where']}: "
    if gap["matched_row"] is not None:
        text += (
            f"{point['names'].matched}, {focal['matched']} for {contrast.focal} and {reference['matched']} for "
            f"{contrast.reference}, {_difference(gap, 'matched')}"
        )
        adjusted = None if gap["matched_few"] else gap["adjusted_row"]
        text += f"; {point['names'].adjusted}, {points(adjusted)}" if adjusted is not None else ""
        text += "; "
    return (
        f"{text}{UNMATCHED}, {focal['all']} for {contrast.focal} and {reference['all']} for {contrast.reference}, "
        f"{_difference(gap, 'all')}."
    )


def _difference(gap: dict[str, Any], sample: str) -> str:
    """State a difference, unless the analysis concludes nothing from so few people."""
    row = gap[f"{sample}_row"]
    if gap[f"{sample}_few"]:
        return f"too few people for a conclusion ({int(row['clusters'])} independent clusters)"
    return f"a difference of {points(row)}"


def _point(part: pd.DataFrame, contrast: Contrast, naming: Naming) -> dict[str, Any]:
    sides = [str(contrast.focal), str(contrast.reference)]
    where = OperatingPoint.of(part["quantity"].iloc[0]).words
    return {
        "where": where,
        "names": naming,
        "rows": [*(_group_row(part, name, sides) for name in sides), _gap_row(part, contrast)],
        "across": percent(first(part, ("all", "fmr"), group=f"{sides[0]} x {sides[1]}")),
        "ratios": _ratios(part),
        "remarks": remarks(part),
    }


def _group_row(part: pd.DataFrame, name: str, sides: list[str]) -> dict[str, Any]:
    other = next(side for side in sides if side != name)
    return {
        "what": name,
        **{sample: percent(first(part, (sample, "fnmr"), group=name)) for sample in ("all", "matched")},
        **{f"{sample}_worse": _worse(part, sample, name, other) for sample in ("all", "matched")},
        **_fmr(part, "fmr", f"within {name}"),
        "kind": "group",
    }


def _worse(part: pd.DataFrame, sample: str, name: str, other: str) -> bool:
    """Whether a group's FNMR is significantly higher than the other's."""
    own, across = (first(part, (sample, "fnmr"), group=side) for side in (name, other))
    if own is None or across is None or not significant(first(part, (sample, "gap"))):
        return False
    return STATS["fnmr"].worse(own["estimate"], across["estimate"])


def _gap_row(part: pd.DataFrame, contrast: Contrast) -> dict[str, Any]:
    wanted = (("all", "gap"), ("matched", "gap"), ("matched", "adjusted_gap"))
    unmatched, matched, adjusted = (first(part, key, group=contrast.label) for key in wanted)
    return {
        "what": f"{difference(contrast)}, percentage points",
        "kind": "gap",
        "all": _bare(unmatched),
        "matched": _bare(matched),
        "adjusted": "" if adjusted is None else _bare(adjusted),
        "adjusted_apart": significant(adjusted),
        **{f"{sample}_together": _together(part, sample, contrast) for sample in ("all", "matched")},
        **_fmr(part, "fmr_gap", contrast.label),
        **{"all_worse": significant(unmatched), "matched_worse": significant(matched)},
        **{f"{sample}_few": _few(part, sample) for sample in ("all", "matched")},
        **{"all_row": unmatched, "matched_row": matched, "adjusted_row": adjusted},
    }


def _few(part: pd.DataFrame, sample: str) -> bool:
    """Return whether the analysis has too few independent clusters for a verdict on the gap."""
    verdict = first(part, (f"{sample}: gap", "verdict"))
    return verdict is not None and str(verdict["method"]).endswith("; too few")


def _fmr(part: pd.DataFrame, stat: str, group: str) -> dict[str, Any]:
    """Write the FMR within a group, or its gap, of all and of matched impostor trials."""
    write, found = _bare if stat == "fmr_gap" else percent, dict[str, Any]()
    for sample, name in (("all", "fmr"), ("matched", "fmr_matched")):
        row = first(part, (sample, stat), group=group)
        found |= {name: "" if row is None else write(row), f"{name}_apart": stat == "fmr_gap" and significant(row)}
    return found


def _bare(row: pd.Series | None) -> str:
    """Write percentage points without their unit."""
    return points(row).replace(" points", "")


def _together(part: pd.DataFrame, sample: str, contrast: Contrast) -> str:
    row = first(part, (sample, "gap_simultaneous"), group=contrast.label)
    return "" if row is None else _bare(row)


def _ratios(part: pd.DataFrame) -> str:
    """Write the ratio and the Gini coefficient of the groups' FNMR, where they have an interval."""
    named = {"max_min": "max / min", "max_geometric_mean": "max / geometric mean", "gini": "Gini coefficient"}
    found = {words: first(part, ("all", stat), group="FNMR, all groups") for stat, words in named.items()}
    return "; ".join(
        f"{words} {ratio(row)}" for words, row in found.items() if row is not None and pd.notna(row["low"])
    )


def remarks(part: pd.DataFrame) -> str:
    """Write in sentences what the remarks on the rates state in a word."""
    remarks = part.loc[part["stat"].isin(["fnmr", "fmr"]), "method"].str.partition("; ")[2]
    words = {word for remark in remarks for word in remark.split(", ") if word}
    said = [sentence for start, sentence in _REMARKS.items() if any(word.startswith(start) for word in words)]
    return " ".join([*said, *(f"Warning: {word}." for word in sorted(words) if word.startswith("the threshold"))])
