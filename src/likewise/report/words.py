"""Numbers in words: sentences that say what the estimates say, and no more."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from likewise.report.rates import error_quantities
from likewise.tables import Contrast, Estimates

TELLING = 1.0  # a share known no better than to within the whole gap is not worth a sentence
APART = 0.1  # the usual line for a standardised mean difference
SLOPE_TESTS = ("p_value", "q_bh", "linearity_p", "ols_p")
QUESTIONS = {
    "distance": "Distance between two pictures of one person",
    "same": "Share of answers 'same person' to two pictures of one person",
    "same, confidence": "How sure people were of their answer about two pictures of one person",
}
SAMPLES = {
    ("all", "mean"): "as the images come",
    ("all", "gap"): "as the images come",
    ("matched", "mean"): "look-alikes",
    ("matched", "gap"): "look-alikes",
    ("matched", "adjusted_gap"): "look-alikes, adjusted",
}


def number(value: float) -> str:
    """Write a number with three decimals and a real minus sign."""
    return "–" if pd.isna(value) else f"{value:.3f}".replace("-", "−")


def chance(p: float | None) -> str:
    """Write a p-value."""
    if p is None or pd.isna(p):
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def interval(row: pd.Series) -> str:
    """Write an estimate with its interval."""
    if pd.isna(row["low"]):
        return number(row["estimate"])
    return f"{number(row['estimate'])} ({number(row['low'])} to {number(row['high'])})"


def named(quantity: str) -> str:
    """Write ``rater: question`` as a person would."""
    rater, _, question = quantity.partition(": ")
    asked = QUESTIONS.get(question, question.replace("_", " "))
    return f"{asked} ({rater})" if question else quantity.replace("_", " ")


def sampled(row: pd.Series) -> str:
    """Write on which images an estimate stands."""
    return SAMPLES.get(
        (row["sample"], row["stat"]), "edited faces" if row["sample"] == "counterfactual" else row["sample"]
    )


def gap_findings(estimates: Estimates, contrast: Contrast, left_out: Collection[str] = ()) -> list[str]:
    """Say for each quantity what the gap is as the images come and what is left between look-alikes."""
    sentences = []
    elsewhere = {*error_quantities(estimates), *left_out}
    for quantity, rows in _measured(estimates).groupby("quantity", sort=False):
        if quantity in elsewhere:
            continue
        crude = _first(rows, ("all", "gap"))
        alike = _first(rows, ("matched", "adjusted_gap"), ("matched", "gap"))
        if crude is None:
            continue
        text = f"{named(str(quantity))}: {_direction(crude, contrast)} as the images come"
        if alike is not None:
            text += f"; between look-alikes, {_direction(alike, contrast)}"
        sentences.append(f"{text}.{_gone(rows)}")
    return sentences


def _gone(rows: pd.DataFrame) -> str:
    """Say which share of the crude gap goes away, where its interval tells anything."""
    share = _first(rows, ("matched", "share_gone"))
    if share is None or pd.isna(share["low"]) or share["high"] - share["low"] > TELLING:
        return ""
    low, middle, high = (f"{100 * share[name]:.0f}".replace("-", "−") for name in ("low", "estimate", "high"))
    return f" {middle} % ({low} % to {high} %) of the crude gap goes away between look-alikes."


def hidden_bias(rows: pd.DataFrame) -> str:
    """Say how strong something hidden would have to be to explain a matched gap, beside what was observed."""
    gamma, e_value, limit = (_first(rows, ("matched", stat)) for stat in ("gamma", "e_value", "e_value_limit"))
    if gamma is None or e_value is None or limit is None:
        return ""
    if gamma["estimate"] <= 1:
        return "Hidden differences: the plain gap between look-alikes is not significant even without any."
    text = (
        "Hidden differences: to explain the plain gap between look-alikes, something unmatched would have to change "
        f"the odds of the group within pairs {_times(gamma)} (Rosenbaum's Γ, for significance), or go with the group "
        f"and with the answer as a risk ratio of {_times(e_value)} each (E-value; {_times(limit)} to reach the "
        "interval's end)."
    )
    observed = rows[rows["stat"].isin(["odds_ratio", "answer_ratio"]) & rows["low"].notna()]
    return text + _strongest(observed)


def _strongest(observed: pd.DataFrame) -> str:
    """Name the covariate that goes most strongly with the group, as a yardstick."""
    if observed.empty:
        return ""
    strength = np.exp(np.log(observed["estimate"]).abs())
    wide = observed.assign(strength=strength).pivot(index="group", columns="stat", values="strength")
    if not {"odds_ratio", "answer_ratio"} <= set(wide.columns):
        return ""
    top = wide.sort_values("odds_ratio").iloc[-1]
    name = str(wide.sort_values("odds_ratio").index[-1]).removesuffix(" (per sd)").replace("_", " ")
    return (
        f" For comparison, the observed covariate that goes most with the group, {name}: odds × "
        f"{top['odds_ratio']:.2f} and answers × {top['answer_ratio']:.2f} for one standard deviation."
    )


def _times(row: pd.Series) -> str:
    return "more than 1000-fold" if row["estimate"] > 1000 else f"× {row['estimate']:.2f}"


def slope_finding(estimates: Estimates) -> str:
    """Say which labels move when only the attribute is turned."""
    frame = estimates.frame
    edited = frame["sample"] == "counterfactual"
    rows = frame[edited & frame["stat"].isin(["slope", "rate_slope"]) & frame["low"].notna()]
    if rows.empty:
        return ""
    moving = rows[(rows["low"] > 0) | (rows["high"] < 0)]
    if moving.empty:
        return (
            f"Turning only the attribute moves none of {len(rows)} labels by more than this sample can tell from zero."
        )
    listed = "; ".join(f"{row['quantity'].split(': ', 1)[-1]} {interval(row)}" for _, row in moving.iterrows())
    return f"Turning only the attribute moves {len(moving)} of {len(rows)} labels (relative change a step): {listed}."


def balance_verdict(balance: Estimates) -> str:
    """Say which covariates remain apart after matching."""
    smd = balance.where(stat="smd").frame
    before = smd[smd["sample"] == "all"]
    count = int((before["estimate"].abs() > APART).sum())
    told = f"{count} of {len(before)} covariates differ by more than {APART} sd"
    after = {sample: rows for sample, rows in smd.groupby("sample", sort=False) if sample != "all"}
    if not after:
        return f"{told}."
    said = [_still_apart(str(sample), rows) for sample, rows in after.items()]
    return "; ".join([f"Before matching, {told}", *said]) + "."


def _still_apart(sample: str, rows: pd.DataFrame) -> str:
    known = {"matched": "between look-alikes", "weighted": "under overlap weights"}
    where = known.get(sample, f"in the sample {sample!r}")
    apart = rows[rows["estimate"].abs() > APART]
    if apart.empty:
        return f"{where}, none does"
    listed = ", ".join(
        f"{row['quantity'].replace('_', ' ')} ({number(row['estimate'])})" for _, row in apart.iterrows()
    )
    return f"{where}, {len(apart)} still {'does' if len(apart) == 1 else 'do'}: {listed}"


def truth_rows(estimates: Estimates) -> list[dict[str, str]]:
    """Set each planted value beside its estimate."""
    frame = estimates.frame
    rows = []
    scaled, designs = frame["stat"].str.endswith("_in_sd"), frame["sample"].str.startswith("design: ")
    frame = frame[~scaled & ~designs]
    for _, true in frame[frame["sample"].str.startswith("truth: ")].iterrows():
        own = frame[(frame["quantity"] == true["quantity"]) & ~frame["sample"].str.startswith("truth: ")]
        for _, row in own[own["stat"].isin(_answers_to(true))].iterrows():
            if (row["sample"] == "all") != (true["sample"] == "truth: all"):
                continue
            inside = row["low"] - 1e-9 <= true["estimate"] <= row["high"] + 1e-9
            rows.append(
                {
                    "quantity": named(row["quantity"]), "sample": sampled(row),
                    "true": number(true["estimate"]), "estimate": interval(row), "inside": "yes" if inside else "no",
                }
            )  # fmt: skip
    return rows


def _answers_to(true: pd.Series) -> list[str]:
    return ["gap", "adjusted_gap"] if true["stat"] == "gap" else [true["stat"]]


def _measured(estimates: Estimates) -> pd.DataFrame:
    frame = estimates.frame
    return frame[~frame["sample"].str.startswith("truth: ")]


def _first(rows: pd.DataFrame, *wanted: tuple[str, str]) -> pd.Series | None:
    for sample, stat in wanted:
        hit = rows[(rows["sample"] == sample) & (rows["stat"] == stat)]
        if len(hit):
            return hit.iloc[0]
    return None


def _direction(row: pd.Series, contrast: Contrast) -> str:
    if pd.isna(row["low"]):
        return f"a difference of {number(row['estimate'])} without an interval"
    if row["low"] <= 0 <= row["high"]:
        return f"no difference that this sample can tell from zero, {interval(row)}"
    higher, lower = (
        (contrast.focal, contrast.reference) if row["estimate"] > 0 else (contrast.reference, contrast.focal)
    )
    size = row.copy()
    if row["estimate"] < 0:
        size["estimate"], size["low"], size["high"] = -row["estimate"], -row["high"], -row["low"]
    return f"higher for {higher} than for {lower} by {interval(size)}"
