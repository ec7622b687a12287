"""One question, several designs: rows for the figure, and what they show together, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from likewise.report.names import EDITED, UNMATCHED, Naming, first, is_label, quantity, truth_of, without_simulation
from likewise.report.numbers import confidence, interval, p_equals, signed, significant
from likewise.tables import Contrast, Estimates

WORSE = {"distance": 1.0, "same": -1.0}
"""Which way a higher outcome points: a larger genuine distance makes recognition harder, more answers 'same' make it
easier. Other questions have no worse side."""
_ROWS = (("all", "gap"), ("matched", "gap"), ("matched", "adjusted_gap"), ("counterfactual", "gap"))
_ALPHA = 0.05


@dataclass(frozen=True)
class Design:
    """The estimate of one design in standard deviations of the outcome; above 0 is worse for the focal group."""

    name: str
    kind: str
    """``all``, ``matched``, ``adjusted`` or ``counterfactual``: the mark of the figure."""
    estimate: float
    low: float
    high: float
    truth: float | None
    text: str
    """The same estimate in the outcome's own units."""


@dataclass(frozen=True)
class Panel:
    """All designs of one quantity."""

    quantity: str
    designs: tuple[Design, ...]
    conclusion: str
    remarks: tuple[str, ...] = ()
    """Where the designs disagree."""


def panels(estimates: Estimates, contrast: Contrast, naming: Naming | None = None) -> list[Panel]:
    """Return a panel for each question that has a worse side."""
    frame, names = estimates.frame, naming or Naming()
    found = frame.loc[frame["stat"] == "gap_in_sd", "quantity"].drop_duplicates()
    parts = [(name, frame[frame["quantity"] == name]) for name in found if name.partition(": ")[2] in WORSE]
    return [
        Panel(name, _designs(part, names), conclusion(part, contrast, names), tuple(remarks(part, contrast)))
        for name, part in parts
    ]


def label_panels(estimates: Estimates, naming: Naming | None = None, *, most: int = 4) -> list[Panel]:
    """Return panels of the labels with the largest differences, in percentage points; a label has no worse side."""
    frame, names = estimates.frame, naming or Naming()
    gaps = frame[frame["quantity"].map(is_label).astype(bool) & frame["stat"].eq("gap")]
    gaps = gaps[gaps["sample"].isin(["matched", "all"])].assign(size=gaps["estimate"].abs())
    largest = gaps.sort_values("size", ascending=False, kind="stable")["quantity"].drop_duplicates().head(most)
    return [Panel(name, _plain_designs(frame[frame["quantity"] == name], names), "") for name in largest]


def share_panels(estimates: Estimates, quantities: Sequence[str], naming: Naming | None = None) -> list[Panel]:
    """Return panels of rates and shares, in percentage points: the same differences as in the summary's table."""
    frame, names = without_simulation(estimates.frame), naming or Naming()
    return [Panel(name, _plain_designs(frame[frame["quantity"] == name], names), "") for name in quantities]


def _plain_designs(rows: pd.DataFrame, naming: Naming) -> tuple[Design, ...]:
    found = [(key, first(rows, key)) for key in _ROWS]
    kinds = ("all", "matched", "adjusted", "counterfactual")
    return tuple(
        Design(
            naming.sample(*key), kind, 100 * row["estimate"], 100 * row["low"], 100 * row["high"], None, interval(row)
        )
        for (key, row), kind in zip(found, kinds, strict=True)
        if row is not None
    )


def conclusion(rows: pd.DataFrame, contrast: Contrast, naming: Naming | None = None) -> str:
    """State what the designs show together for one quantity, and no more."""
    names = naming or Naming()
    unmatched, matched, adjusted, edited = (first(rows, key) for key in _ROWS)
    if unmatched is None:
        return ""
    sign = WORSE[rows["quantity"].iloc[0].partition(": ")[2]]
    said = [f"{quantity(rows['quantity'].iloc[0])}."]
    shown = ((matched, names.matched), (adjusted, names.adjusted), (edited, EDITED), (unmatched, UNMATCHED))
    said += [_sentence(row, sign, contrast, name) for row, name in shown if row is not None]
    return " ".join([*said, *remarks(rows, contrast)])


def remarks(rows: pd.DataFrame, contrast: Contrast) -> list[str]:
    """State where designs of one quantity disagree, and whether matching and edits do."""
    unmatched, matched = (first(rows, key) for key in _ROWS[:2])
    if unmatched is None:
        return []
    sign = WORSE[rows["quantity"].iloc[0].partition(": ")[2]]
    return [said for said in (_change(unmatched, matched, sign, contrast), _agreement(rows)) if said]


def curves(estimates: Estimates) -> list[tuple[str, pd.DataFrame]]:
    """Return for each quantity its gaps under all designs, in order of size."""
    frame = estimates.frame
    rows = frame[frame["sample"].str.startswith("design: ") & frame["stat"].isin(["gap", "adjusted_gap"])]
    return [
        (str(name), part.sort_values("estimate", kind="stable", ignore_index=True))
        for name, part in rows.groupby("quantity", sort=False)
    ]


def curve_sentence(rows: pd.DataFrame) -> str:
    """State what the specification curve shows."""
    above = sum(significant(row) and row["low"] > 0 for _, row in rows.iterrows())
    below = sum(significant(row) and row["high"] < 0 for _, row in rows.iterrows())
    designs = rows["sample"].str.removeprefix("design: ").str.partition(", without ")[0].nunique()
    low, high = (signed(end) for end in (rows["estimate"].min(), rows["estimate"].max()))
    return (
        f"{len(rows)} specifications ({designs} designs, unadjusted or adjusted): estimates from {low} to {high}; "
        f"{above} intervals lie above zero, {below} below, {len(rows) - above - below} include it."
    )


def _designs(rows: pd.DataFrame, naming: Naming) -> tuple[Design, ...]:
    sign = WORSE[rows["quantity"].iloc[0].partition(": ")[2]]
    others = rows.loc[rows["sample"].str.fullmatch("design: propensity[^,]*"), "sample"].drop_duplicates()
    wanted = [(sample, stat, naming.sample(sample, stat)) for sample, stat in _ROWS[:3]]
    wanted += [(name, "adjusted_gap", f"{name.removeprefix('design: ')}, adjusted") for name in others]
    wanted += [("counterfactual", "gap", EDITED)]
    found = [(label, stat, first(rows, (sample, f"{stat}_in_sd"))) for sample, stat, label in wanted]
    return tuple(_design(label, stat, row, rows, sign) for label, stat, row in found if row is not None)


def _design(label: str, stat: str, row: pd.Series, rows: pd.DataFrame, sign: float) -> Design:
    sample = row["sample"]
    known = first(rows, (truth_of(sample, rows["sample"]), "gap_in_sd"))
    plain = first(rows, (sample, stat))
    low, high = sorted((sign * row["low"], sign * row["high"]))
    kind = sample if sample in ("all", "counterfactual") else "adjusted" if stat == "adjusted_gap" else "matched"
    truth = None if known is None else sign * float(known["estimate"])
    return Design(label, kind, sign * row["estimate"], low, high, truth, "" if plain is None else interval(plain))


def _sentence(row: pd.Series, sign: float, contrast: Contrast, name: str) -> str:
    side = _worse(row, sign, contrast)
    verdict = f"worse for {side}" if side else "not statistically significant"
    return f"{name[0].upper()}{name[1:]}: {verdict}, {confidence(row)}."


def _change(unmatched: pd.Series, matched: pd.Series | None, sign: float, contrast: Contrast) -> str:
    """Name a change of direction or of significance between the unmatched and the matched estimate."""
    if matched is None:
        return ""
    before, after = _worse(unmatched, sign, contrast), _worse(matched, sign, contrast)
    if before and after and before != after:
        return "The direction of the gap reverses with matching."
    if after and not before:
        return "The gap is masked in the unmatched comparison."
    return ""


def _worse(row: pd.Series, sign: float, contrast: Contrast) -> str:
    """Name the group with the worse outcome, if the interval excludes zero."""
    if not significant(row):
        return ""
    return str(contrast.focal if sign * row["estimate"] > 0 else contrast.reference)


def _agreement(rows: pd.DataFrame) -> str:
    apart, p = (first(rows, ("matched - counterfactual", stat)) for stat in ("design_difference", "agreement_p"))
    if apart is None or p is None:
        return ""
    message = f"difference {interval(apart)}, {p_equals(p['estimate'])}"
    if p["estimate"] < _ALPHA:
        return f"Matching and edits disagree ({message}): at least one of them is in error, so rely on neither alone."
    return f"Matching and edits do not differ significantly ({message})."
