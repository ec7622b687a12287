"""Three ways to ask one question, side by side: rows for the figure, and what may be concluded, in words."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from likewise.report.words import chance, interval, named
from likewise.tables import Contrast, Estimates

WORSE = {"distance": 1.0, "same": -1.0}
"""Which way a higher answer points: a larger distance between two pictures of one person makes it harder to recognise,
more answers 'same' make it easier. Other questions have no better side."""
CRUDE, FOUND, MADE = "as the images come", "look-alikes", "edited pictures"
_ROWS = (
    ("all", "gap", CRUDE),
    ("matched", "adjusted_gap", FOUND),
    ("matched", "gap", FOUND),
    ("counterfactual", "gap", MADE),
)
_SURE = 0.05


@dataclass(frozen=True)
class Leg:
    """One estimate of the gap in standard deviations of the answers; above 0 is worse for the focal group."""

    name: str
    estimate: float
    low: float
    high: float
    truth: float | None
    text: str


@dataclass(frozen=True)
class Panel:
    """All legs of one quantity."""

    quantity: str
    legs: tuple[Leg, ...]
    conclusion: str


def panels(estimates: Estimates, contrast: Contrast) -> list[Panel]:
    """Return a panel for each question that has a worse side and was answered."""
    frame = estimates.frame
    names = frame.loc[frame["stat"] == "gap_in_sd", "quantity"].drop_duplicates()
    return [
        Panel(name, _legs(frame[frame["quantity"] == name]), conclusion(frame[frame["quantity"] == name], contrast))
        for name in names
        if name.partition(": ")[2] in WORSE
    ]


def _legs(rows: pd.DataFrame) -> tuple[Leg, ...]:
    sign = WORSE[rows["quantity"].iloc[0].partition(": ")[2]]
    chosen: dict[str, tuple[pd.Series, str]] = {}
    designs = rows.loc[rows["sample"].str.fullmatch("design: propensity[^,]*"), "sample"].drop_duplicates()
    wanted = [*_ROWS, *((name, "adjusted_gap", f"{FOUND}, {name.removeprefix('design: ')}") for name in designs)]
    for sample, stat, label in wanted:
        hit = rows[(rows["sample"] == sample) & (rows["stat"] == f"{stat}_in_sd")]
        if len(hit):
            chosen.setdefault(label, (hit.iloc[0], stat))
    order = [CRUDE, *(label for label in chosen if label.startswith(FOUND)), MADE]
    return tuple(_leg(label, *chosen[label], rows, sign) for label in order if label in chosen)


def _leg(label: str, row: pd.Series, stat: str, rows: pd.DataFrame, sign: float) -> Leg:
    known = rows[
        (rows["sample"] == ("truth: all" if label == CRUDE else "truth: alike")) & (rows["stat"] == "gap_in_sd")
    ]
    plain = rows[(rows["sample"] == row["sample"]) & (rows["stat"] == stat)].iloc[0]
    ends = sorted((sign * row["low"], sign * row["high"]))
    truth = sign * float(known["estimate"].iloc[0]) if len(known) else None
    return Leg(label, sign * row["estimate"], ends[0], ends[1], truth, interval(plain))


def conclusion(rows: pd.DataFrame, contrast: Contrast) -> str:
    """Say in plain words what the legs of one quantity say together, and no more."""
    crude, found = (_first(rows, *wanted) for wanted in ((("all", "gap"),), _FOUND))
    made = _first(rows, ("counterfactual", "gap"))
    if crude is None:
        return ""
    sign = WORSE[rows["quantity"].iloc[0].partition(": ")[2]]
    said = [f"{named(rows['quantity'].iloc[0])}. {_of(crude, sign, contrast, 'As the images come')}"]
    if found is not None:
        said.append(_beside(crude, found, sign, contrast, "Between look-alikes"))
    if made is not None:
        said.append(_beside(crude, made, sign, contrast, "When the same pictures are edited"))
    said.append(_agreement(rows))
    return " ".join(part for part in said if part)


_FOUND = (("matched", "adjusted_gap"), ("matched", "gap"))


def _of(row: pd.Series, sign: float, contrast: Contrast, where: str) -> str:
    side = _worse(row, sign, contrast)
    return f"{where}, {'it is harder for ' + side if side else 'no gap can be told from zero'}: {interval(row)}."


def _beside(crude: pd.Series, row: pd.Series, sign: float, contrast: Contrast, where: str) -> str:
    """Compare a leg with the crude gap: gone, left, turned around, or come to light."""
    before, after = _worse(crude, sign, contrast), _worse(row, sign, contrast)
    if before and not after:
        told = "that gap cannot be told from zero"
    elif before and after == before:
        told = f"it stays harder for {after}"
    elif before:
        told = f"the gap turns around, it is harder for {after}"
    elif after:
        told = f"a gap comes to light that the crude comparison hides, it is harder for {after}"
    else:
        told = "none can be told from zero either"
    return f"{where}, {told}: {interval(row)}."


def _worse(row: pd.Series, sign: float, contrast: Contrast) -> str:
    """Name the group for which it is harder, if the interval leaves zero out."""
    if pd.isna(row["low"]) or row["low"] <= 0 <= row["high"]:
        return ""
    return str(contrast.focal if sign * row["estimate"] > 0 else contrast.reference)


def _agreement(rows: pd.DataFrame) -> str:
    apart, p = (_first(rows, ("matched - counterfactual", stat)) for stat in ("leg_difference", "agreement_p"))
    if apart is None or p is None:
        return ""
    told = f"they differ by {interval(apart)}, p {_is(p['estimate'])}"
    if p["estimate"] < _SURE:
        return f"Look-alikes and edits contradict each other, {told}: one of them is off, so rely on neither alone."
    return f"Look-alikes and edits do not contradict each other: {told}."


def _is(p: float) -> str:
    said = chance(p)
    return said if said.startswith("<") else f"= {said}"


def _first(rows: pd.DataFrame, *wanted: tuple[str, str]) -> pd.Series | None:
    for sample, stat in wanted:
        hit = rows[(rows["sample"] == sample) & (rows["stat"] == stat)]
        if len(hit):
            return hit.iloc[0]
    return None


def curves(estimates: Estimates) -> list[tuple[str, pd.DataFrame]]:
    """Return for each quantity its gaps under all designs, in order of size."""
    frame = estimates.frame
    rows = frame[frame["sample"].str.startswith("design: ") & frame["stat"].isin(["gap", "adjusted_gap"])]
    return [
        (str(name), part.sort_values("estimate", kind="stable", ignore_index=True))
        for name, part in rows.groupby("quantity", sort=False)
    ]


def curve_words(rows: pd.DataFrame) -> str:
    """Say what the curve shows in one sentence."""
    above, below = int((rows["low"] > 0).sum()), int((rows["high"] < 0).sum())
    designs = rows["sample"].str.removeprefix("design: ").str.partition(", without ")[0].nunique()
    low, high = (_signed(end) for end in (rows["estimate"].min(), rows["estimate"].max()))
    return (
        f"{len(rows)} ways to estimate it ({designs} designs, plain or adjusted): from {low} to {high}; "
        f"{above} intervals lie above zero, {below} below, {len(rows) - above - below} hold it."
    )


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")
