"""Error rates of recognisers in words and rows: what is missed and what is let in, by group and operating point."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from likewise.tables import STATS, Contrast, Estimates

_POINT = re.compile(r"^(?P<rater>.*): (?P<question>.*?) at (?P<at>FMR|its threshold|own FMR) (?P<value>\S+)$")

_REMARKS = {
    "rare": "A rate here rests on errors of fewer than five people.",
    "none seen": "Where no error was seen, the interval ends by the rule of three.",
    "no exception seen": "Where nothing was right, the interval ends by the rule of three.",
}


def error_quantities(estimates: Estimates) -> list[str]:
    """Name the quantities that are operating points of a recogniser."""
    frame = estimates.frame
    return frame.loc[frame["stat"].isin(["fnmr", "det"]), "quantity"].drop_duplicates().tolist()


def recognisers(estimates: Estimates, contrast: Contrast) -> list[dict[str, Any]]:
    """Return for each recogniser its operating points as rows of one table, and what lies beside."""
    frame = estimates.frame
    points: dict[str, list[str]] = {}
    for quantity in frame.loc[frame["stat"] == "fnmr", "quantity"].unique():
        points.setdefault(_read(quantity)["rater"], []).append(quantity)
    return [
        {
            "rater": rater,
            "points": [_point(frame[frame["quantity"] == name], contrast) for name in names],
            "matched": bool(((frame["stat"] == "fnmr") & (frame["sample"] == "matched")).any()),
        }
        for rater, names in points.items()
    ]


def enrolment_rows(estimates: Estimates) -> list[dict[str, str]]:
    """Return for each recogniser and group which share of trials had no answer, because no face was found."""
    rows = estimates.where(stat="enrolment_failure").frame
    return [
        {"rater": row["quantity"].partition(": ")[0], "group": row["group"], "share": percent(row)}
        for _, row in rows.iterrows()
    ]


def error_findings(estimates: Estimates, contrast: Contrast) -> list[str]:
    """Say of each recogniser what it misses at the first operating point, and between look-alikes."""
    found = []
    for entry in recognisers(estimates, contrast):
        point = entry["points"][0]
        first, second, gap = point["rows"]
        text = (
            f"Genuine pairs missed by {entry['rater']} {point['where']}: {first['all']} of {contrast.focal}, "
            f"{second['all']} of {contrast.reference}; {gap['said']}."
        )
        found.append(text)
    return found


def curve_steps(estimates: Estimates, rater: str) -> pd.DataFrame:
    """Return a recogniser's DET points: group, FMR, FNMR and its ends."""
    frame = estimates.where(stat="det").frame
    known = frame["quantity"].map(_read)
    frame = frame.assign(rater=[one["rater"] for one in known], fmr=[float(one["value"]) for one in known])
    return frame[frame["rater"] == rater].sort_values("fmr")


def percent(row: pd.Series | None) -> str:
    """Write a rate with its interval in per cent."""
    if row is None:
        return "–"
    if pd.isna(row["low"]):
        return f"{_digits(row['estimate'])} %"
    return f"{_digits(row['estimate'])} % ({_digits(row['low'])} to {_digits(row['high'])})"


def _point(part: pd.DataFrame, contrast: Contrast) -> dict[str, Any]:
    at = _read(part["quantity"].iloc[0])
    where = (
        f"at its own threshold ({at['value']})"
        if at["at"] == "its threshold"
        else f"where {100 * float(at['value']):g} % of all impostors are let in"
    )
    sides = [str(contrast.focal), str(contrast.reference)]
    return {
        "where": where,
        "rows": [*(_group_row(part, name, sides) for name in sides), _gap_row(part, contrast)],
        "across": percent(_first(part, "fmr", "all", f"{sides[0]} x {sides[1]}")),
        "apart": _apart(part),
        "doubt": _doubt(part),
    }


def _group_row(part: pd.DataFrame, name: str, sides: list[str]) -> dict[str, Any]:
    own, other = (_first(part, "fnmr", "all", side) for side in (name, next(side for side in sides if side != name)))
    gap = part[(part["stat"] == "gap") & (part["sample"] == "all")]
    told = bool(len(gap)) and not gap["low"].iloc[0] <= 0 <= gap["high"].iloc[0]
    worse = own is not None and other is not None and STATS["fnmr"].worse(own["estimate"], other["estimate"])
    return {
        "what": name, "all": percent(own), "matched": percent(_first(part, "fnmr", "matched", name)),
        "fmr": percent(_first(part, "fmr", "all", f"within {name}")), "kind": "worse" if told and worse else "group",
    }  # fmt: skip


def _gap_row(part: pd.DataFrame, contrast: Contrast) -> dict[str, Any]:
    crude, alike = (_first(part, "gap", sample, contrast.label) for sample in ("all", "matched"))
    adjusted = _first(part, "adjusted_gap", "matched", contrast.label)
    said = f"a difference of {_points(crude)}"
    if adjusted is not None:
        said += f", between look-alikes {_points(adjusted)}"
    elif alike is not None:
        said += f", between look-alikes (not adjusted) {_points(alike)}"
    label = contrast.label.replace(" - ", "\u00a0−\u00a0")
    all_, matched, held = (_points(row).replace(" points", "") for row in (crude, alike, adjusted))
    return {
        "what": f"{label}, points", "all": all_, "matched": matched, "fmr": "", "kind": "gap", "said": said,
        "adjusted": "" if adjusted is None else held,
    }  # fmt: skip


def _points(row: pd.Series | None) -> str:
    """Write a difference of rates in percentage points."""
    return "–" if row is None else percent(row).replace(" %", " points", 1)


def _apart(part: pd.DataFrame) -> str:
    """Say how far the groups lie apart in one number each, where there is an interval."""
    named = {"max_min": "largest over smallest", "gini": "Gini coefficient"}
    said = []
    for stat, words in named.items():
        row = _first(part, stat, "all", "FNMR, all groups")
        if row is not None and pd.notna(row["low"]):
            said.append(f"{words} {row['estimate']:.2f} ({row['low']:.2f} to {row['high']:.2f})")
    return "; ".join(said)


def _doubt(part: pd.DataFrame) -> str:
    """Say in sentences what the remarks on the rates say in a word."""
    remarks = part.loc[part["stat"].isin(["fnmr", "fmr"]), "method"].str.partition("; ")[2]
    words = {word for remark in remarks for word in remark.split(", ") if word}
    said = [sentence for start, sentence in _REMARKS.items() if any(word.startswith(start) for word in words)]
    return " ".join([*said, *(f"Mind: {word}." for word in sorted(words) if word.startswith("the threshold"))])


def _first(part: pd.DataFrame, stat: str, sample: str, group: str) -> pd.Series | None:
    hit = part[(part["stat"] == stat) & (part["sample"] == sample) & (part["group"] == group)]
    return hit.iloc[0] if len(hit) else None


def _read(quantity: str) -> dict[str, str]:
    match = _POINT.match(quantity)
    assert match is not None, quantity  # only operating points come here
    return match.groupdict()


def _digits(value: float) -> str:
    share = 100 * value
    return (f"{share:.1f}" if abs(share) >= 1 or share == 0 else f"{share:.2g}").replace("-", "−")
