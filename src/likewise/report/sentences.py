"""Estimates in words: sentences that state what the rows state, and no more."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from likewise.report.names import BALANCED, UNMATCHED, Naming, first, plain, quantity, without_simulation
from likewise.report.numbers import confidence, interval, number, p_value, significant
from likewise.report.operating_points import operating_quantities
from likewise.tables import Contrast, Estimates
from likewise.tables.estimates import FEW_CLUSTERS

__all__ = ["balance_verdict", "gap_findings", "interval", "number", "p_value", "sensitivity_sentence", "slope_finding"]

INFORMATIVE = 1.0
"""An explained share whose interval is wider than this is not stated."""
FALSE_DISCOVERY_RATE = 0.05
"""Labels with a q-value below this are counted as discoveries."""


def gap_findings(
    estimates: Estimates, contrast: Contrast, excluded: Collection[str] = (), naming: Naming | None = None
) -> list[str]:
    """State for each quantity the matched gap, the adjusted one beside it, and the unmatched one.

    Parameters
    ----------
    estimates
        Estimates with rows of the stats ``gap`` and ``adjusted_gap``.
    contrast
        The groups.
    excluded
        Quantities that are reported elsewhere.
    naming
        How matched samples are called.

    Returns
    -------
    list of str
        One entry per quantity.

    Examples
    --------
    >>> import likewise as lw
    >>> row = {"quantity": "arcface: distance", "stat": "gap", "sample": "all", "group": "F - M", "estimate": 0.2,
    ...        "low": 0.1, "high": 0.3, "level": 0.95, "n": 90, "clusters": 45, "method": "jackknife by identity"}
    >>> gap_findings(lw.Estimates.of([row]), lw.Contrast("sex", focal="F", reference="M"))
    ['Mean genuine (mated) distance (arcface): unmatched, unadjusted, higher for F than for M by 0.200 (95 % CI 0.100 to 0.300).']
    """  # noqa: E501  # the whole sentence
    sentences, names = [], naming or Naming()
    elsewhere = {*operating_quantities(estimates), *excluded}
    judged = bool(estimates.frame["stat"].eq("verdict").any())
    for name, rows in without_simulation(estimates.frame).groupby("quantity", sort=False):
        unmatched, matched, adjusted = (first(rows, key) for key in _GAPS)
        if name in elsewhere or (unmatched is None and matched is None):
            continue
        found = ((matched, names.matched), (adjusted, names.adjusted), (unmatched, UNMATCHED))
        parts = [f"{label}, {_stated(row, rows, contrast, judged)}" for row, label in found if row is not None]
        sentences.append(f"{quantity(str(name))}: {'; '.join(parts)}.{_explained(rows)}")
    return sentences


def in_parts(sentence: str) -> tuple[str, list[str]]:
    """Split a finding into what it is about and its parts, one a line.

    Examples
    --------
    >>> in_parts("FNMR of arcface: matched, 2 points; unmatched, 3 points.")
    ('FNMR of arcface', ['matched, 2 points', 'unmatched, 3 points'])
    """
    head, _, rest = sentence.rstrip(".").partition(": ")
    return head, [part for part in rest.replace(". ", "; ").split("; ") if part]


_GAPS = (("all", "gap"), ("matched", "gap"), ("matched", "adjusted_gap"))


def _stated(row: pd.Series, rows: pd.DataFrame, contrast: Contrast, judged: bool) -> str:
    """State a direction where the analysis judges the gap different; without a verdict of its own, only the interval.

    Where the analysis judges no gap at all, the interval decides.
    """
    verdict = first(rows, (f"{row['sample']}: {row['stat']}", "verdict"))
    if row["clusters"] < FEW_CLUSTERS:
        return f"too few people for a conclusion ({int(row['clusters'])} independent clusters)"
    if not judged or (verdict is not None and verdict["method"].endswith("; different")):
        return _direction(row, contrast)
    if verdict is None:
        return f"a difference of {confidence(row)}"
    word = str(verdict["method"]).rpartition("; ")[2]
    return f"{'equivalent within the margin' if word == 'equivalent' else 'inconclusive'}, {confidence(row)}"


def _direction(row: pd.Series, contrast: Contrast) -> str:
    if pd.isna(row["low"]):
        return f"a difference of {number(row['estimate'])} without an interval"
    if not significant(row):
        return f"not statistically significant, {confidence(row)}"
    above = row["estimate"] > 0
    higher, lower = (contrast.focal, contrast.reference) if above else (contrast.reference, contrast.focal)
    size = row if above else row.copy()
    if not above:
        size["estimate"], size["low"], size["high"] = -row["estimate"], -row["high"], -row["low"]
    return f"higher for {higher} than for {lower} by {confidence(size)}"


def _explained(rows: pd.DataFrame) -> str:
    """State which share of the unmatched gap is explained, where its interval is informative."""
    row = first(rows, ("matched", "explained_share"))
    if row is None or pd.isna(row["low"]) or row["high"] - row["low"] > INFORMATIVE:
        return ""
    low, middle, high = (f"{100 * row[end]:.0f}".replace("-", "−") for end in ("low", "estimate", "high"))
    return f" Matching and adjustment explain {middle} % ({low} % to {high} %) of the unmatched gap."


def sensitivity_sentence(rows: pd.DataFrame) -> str:
    """State how strong unmeasured confounding would have to be to explain a matched gap, beside observed covariates."""
    gamma, e_value, limit = (first(rows, ("matched", stat)) for stat in ("gamma", "e_value", "e_value_limit"))
    if gamma is None or e_value is None or limit is None:
        return ""
    head = "Sensitivity to unmeasured confounding: "
    if gamma["estimate"] <= 1:
        return f"{head}the matched, unadjusted gap is not statistically significant even without any."
    text = (
        f"{head}to explain the matched, unadjusted gap, an unmeasured confounder would have to change the odds of "
        f"group membership within pairs {_times(gamma)} (Rosenbaum's Γ at which significance is lost), or be "
        f"associated with both the group and the outcome by a risk ratio of {_times(e_value)} each (E-value; "
        f"{_times(limit)} for the interval's limit)."
    )
    observed = rows[rows["stat"].isin(["odds_ratio", "answer_ratio"]) & rows["low"].notna()]
    return text + _strongest(observed) + _robustness(rows)


def _robustness(rows: pd.DataFrame) -> str:
    """State the robustness value of the adjusted gap, and the gap under a confounder as strong as a covariate."""
    value, limit = (first(rows, ("matched", stat)) for stat in ("robustness_value", "robustness_value_limit"))
    if value is None or limit is None:
        return ""
    text = (
        f" Robustness value of the adjusted gap: {100 * value['estimate']:.0f} % of the residual variance of group and "
        f"outcome ({100 * limit['estimate']:.0f} % for the interval's limit)."
    )
    strong = rows[rows["stat"] == "gap_with_confounder"]
    if strong.empty:
        return text
    worst = strong.iloc[int(strong["estimate"].abs().to_numpy().argmin())]
    return f"{text} With an unmeasured confounder as strong as {plain(worst['group'])}, it would be {interval(worst)}."


def _strongest(observed: pd.DataFrame) -> str:
    """Name the observed covariate most strongly associated with the group, for comparison."""
    if observed.empty:
        return ""
    strength = np.exp(np.log(observed["estimate"]).abs())
    wide = observed.assign(strength=strength).pivot(index="group", columns="stat", values="strength")
    if not {"odds_ratio", "answer_ratio"} <= set(wide.columns):
        return ""
    top = wide.sort_values("odds_ratio").iloc[-1]
    name = plain(str(top.name).removesuffix(" (per sd)"))
    return (
        f" For comparison, the observed covariate most strongly associated with the group, {name}: odds × "
        f"{top['odds_ratio']:.2f} and outcome × {top['answer_ratio']:.2f} per standard deviation."
    )


def _times(row: pd.Series) -> str:
    return "more than 1000-fold" if row["estimate"] > 1000 else f"× {row['estimate']:.2f}"


def slope_finding(estimates: Estimates) -> str:
    """State which labels change with the edited attribute; discoveries are counted by q-value.

    All labels are of the same images, so their slopes depend on each other, in either direction: "man" rises where
    "woman" falls. Benjamini and Yekutieli's correction holds for that.
    """
    frame = estimates.frame
    edited = frame[frame["sample"] == "counterfactual"]
    rows = edited[edited["stat"].isin(["slope", "rate_slope"]) & edited["low"].notna()]
    if rows.empty:
        return ""
    q = edited[edited["stat"] == "q_by"].drop_duplicates("quantity").set_index("quantity")["estimate"]
    found = [row for _, row in rows.iterrows() if discovered(row, q)]
    how = f"q < {FALSE_DISCOVERY_RATE:g}, Benjamini-Yekutieli" if len(q) else "intervals not adjusted for multiplicity"
    of = f"{len(rows)} labels ({rows['n'].max():.0f} images with valid edits, {how})"
    if not found:
        return f"Counterfactual edits are not shown to change any of {of}: inconclusive; {_widest(rows)}."
    listed = "; ".join(f"{plain(row['quantity'].split(': ', 1)[-1])} {interval(row)}" for row in found)
    return (
        f"Counterfactual edits of the attribute change {len(found)} of {of}; relative change per unit of edit "
        f"strength: {listed}."
    )


def _widest(rows: pd.DataFrame) -> str:
    """Say how large a change none of these intervals excludes: no discovery is not the same as no effect."""
    reach = rows[["low", "high"]].abs().max(axis=1).to_numpy()
    name = plain(rows["quantity"].iloc[int(reach.argmax())].split(": ", 1)[-1])
    return f"their intervals include changes of up to {number(reach.max())} per unit of edit strength ({name})"


def discovered(row: pd.Series, q: pd.Series) -> bool:
    """Whether a slope counts as a discovery: by its q-value where there is one, else by its interval."""
    if row["quantity"] in q.index:
        return bool(q[row["quantity"]] < FALSE_DISCOVERY_RATE) and significant(row)
    return significant(row)


def balance_verdict(balance: Estimates) -> str:
    """State how many covariates differ before matching, and which still do after it.

    Parameters
    ----------
    balance
        A balance table with rows of the stat ``smd``.

    Returns
    -------
    str
        One sentence; empty without standardized mean differences.
    """
    frame = balance.where(stat="smd").frame
    before = frame[frame["sample"] == "all"]
    if before.empty:
        return ""
    apart = int((before["estimate"].abs() > BALANCED).sum())
    head = f"{apart} of {len(before)} covariates have an absolute SMD above {BALANCED:g}"
    after = [_remaining(str(name), part) for name, part in frame.groupby("sample", sort=False) if name != "all"]
    return "; ".join([f"Before matching, {head}", *after]) + "." if after else f"{head}."


def _remaining(sample: str, rows: pd.DataFrame) -> str:
    where = {"matched": "after matching", "weighted": "with overlap weights"}.get(sample, f"in the sample {sample!r}")
    apart = rows[rows["estimate"].abs() > BALANCED]
    if apart.empty:
        return f"{where}, none does"
    listed = ", ".join(f"{plain(row['quantity'])} ({number(row['estimate'])})" for _, row in apart.iterrows())
    return f"{where}, {len(apart)} still {'does' if len(apart) == 1 else 'do'}: {listed}"
