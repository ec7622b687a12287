"""The annex: where the report has evidence for items of standards and laws, and a model-card section.

It maps evidence to items. It never states that a requirement is met.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pandas as pd

from likewise.report.names import Naming, label, system
from likewise.report.numbers import MISSING, ratio
from likewise.report.operating_points import OperatingPoint
from likewise.tables import Estimates

NOT_MEASURED = "not measured"
_DIFFERENTIALS = {"max_min": "max / min", "max_geometric_mean": "max / geometric mean", "gini": "Gini"}
_IMPACT = ("impact_ratio", "selection_rate")
_METRICS = ("fnmr", "fmr", "gap", "adjusted_gap")

# Items of the scope of ISO/IEC 19795-10:2024 (clause 1), and the parts of the report that address them.
_ISO = (
    ("Failure to enroll", ()),
    ("Failure to acquire", ("enrollment",)),
    ("Shifts in comparison scores", ("gaps",)),
    ("Recognition error rates: false non-match rate", ("errors",)),
    ("Recognition error rates: false match rate, within and across groups", ("errors",)),
    ("Recognition error rates: identification (FNIR, FPIR)", ()),
    ("Response and processing time", ("processing_time",)),
    ("Demographic group membership, and how it was determined", ("population",)),
    ("Phenotypic measures", ("phenotype",)),
    ("Statistical uncertainty", ("errors", "gaps", "labels")),
    ("Operational threshold settings", ("errors",)),
    ("Equitability: differentials between groups", ("differentials",)),
)
# Regulation (EU) 2024/1689: items for which an audit report can be evidence.
_AI_ACT = (
    ("Art. 10(2)(b)", "Origin of the data and its collection", ("datasheet",)),
    ("Art. 10(2)(f)", "Examination for possible biases", ("lines",)),
    ("Art. 10(2)(h)", "Gaps and shortcomings of the data", ("balance", "excluded")),
    ("Art. 10(3)", "Statistical properties as regards groups of persons", ("population", "balance")),
    ("Art. 15(1)", "Accuracy", ("errors", "labels", "gaps")),
    ("Art. 15(3)", "Accuracy metrics to be declared", ("errors", "model_cards")),
    ("Art. 15(4)", "Robustness: behavior under controlled changes", ("slopes",)),
    ("Annex IV, 2(d)", "Data sheets", ("datasheet",)),
    ("Annex IV, 2(g)", "Testing procedures, metrics and potentially discriminatory impacts; dated reports", ("lines",)),
    ("Annex IV, 3", "Degrees of accuracy for specific groups of persons", ("errors", "labels", "gaps")),
    ("Annex IV, 4", "Appropriateness of the performance metrics", ("comparison", "curves")),
)
PLACES = {
    "enrollment": ("data", "Systems and data"), "population": ("data", "Systems and data"),
    "datasheet": ("data", "Systems and data"), "gaps": ("gaps", "Gaps"), "errors": ("error-rates", "Error rates"),
    "labels": ("labels", "Labels by design"), "lines": ("summary", "Executive summary"),
    "balance": ("balance", "Covariate balance"), "excluded": ("balance", "Covariate balance"),
    "phenotype": ("balance", "Covariate balance"), "slopes": ("edits", "Counterfactual edits"),
    "comparison": ("designs", "Comparison of designs"), "curves": ("specifications", "Specification curve"),
    "differentials": ("annex", "Annex, differentials"), "model_cards": ("annex", "Annex, model card"),
    "processing_time": ("data", "Systems and data"),
}  # fmt: skip
"""For each key of the page's context the section that shows it."""


def present(context: Mapping[str, Any], balance: Estimates) -> set[str]:
    """Return the keys of the context that have content, with the phenotype where a covariate measures one."""
    names = " ".join(balance.frame["quantity"].astype(str)).lower()
    measured = any(word in names for word in ("skin", "ita", "fitzpatrick", "monk"))
    return {key for key, value in context.items() if value} | ({"phenotype"} if measured else set())


def iso_rows(have: Collection[str]) -> list[dict[str, Any]]:
    """Return the crosswalk to ISO/IEC 19795-10: item, and where it is measured."""
    return [{"item": item, "places": _places(needs, have)} for item, needs in _ISO]


def ai_act_rows(have: Collection[str]) -> list[dict[str, Any]]:
    """Return the evidence table for the EU AI Act: item, topic, and where the report has evidence."""
    return [{"item": item, "topic": topic, "places": _places(needs, have)} for item, topic, needs in _AI_ACT]


def differential_rows(estimates: Estimates) -> list[dict[str, str]]:
    """Return one row per recognizer, operating point, error rate and sample: the differentials between all groups."""
    frame = estimates.frame
    rows = frame[frame["stat"].isin(_DIFFERENTIALS) & frame["group"].str.endswith(", all groups")]
    found = []
    for (name, group, sample), part in rows.groupby(["quantity", "group", "sample"], sort=False):
        point = OperatingPoint.of(str(name))
        values = {stat: part[part["stat"] == stat] for stat in _DIFFERENTIALS}
        found.append(
            {
                "system": point.rater, "where": point.words, "sample": str(sample),
                "rate": str(group).removesuffix(", all groups"),
                **{stat: ratio(hit.iloc[0]) if len(hit) else MISSING for stat, hit in values.items()},
                "remark": _remark(part),
            }
        )  # fmt: skip
    return found


def impact_rows(estimates: Estimates) -> list[dict[str, str]]:
    """Return selection rates and impact ratios, where the analysis estimated them."""
    rows = estimates.frame[estimates.frame["stat"].isin(_IMPACT)]
    return [
        {
            "system": system(row["quantity"]), "outcome": label(row["quantity"]), "group": row["group"],
            "what": row["stat"].replace("_", " "), "value": ratio(row),
        }
        for _, row in rows.iterrows()
    ]  # fmt: skip


def model_cards(
    estimates: Estimates, naming: Naming, *, dataset: str, systems: Sequence[Mapping[str, str]] = ()
) -> str:
    """Return a ``model-index`` section for Hugging Face model cards: one entry per system, its rates and gaps.

    Parameters
    ----------
    estimates
        Estimates with rows of the stats ``fnmr``, ``fmr``, ``gap`` and ``adjusted_gap``.
    naming
        How matched samples are called.
    dataset
        The title of the audit.
    systems
        The systems under audit, for their kind.

    Returns
    -------
    str
        YAML; empty without such rows.
    """
    frame = estimates.frame
    rows = frame[frame["stat"].isin(_METRICS) & frame["sample"].isin(["all", "matched"])]
    kinds = {row["name"]: row.get("kind") or row.get("slot", "") for row in systems if "name" in row}
    cards = [
        _card(str(name), part, naming, dataset, kinds.get(str(name), "recognizer"))
        for name, part in rows.groupby(rows["quantity"].map(system), sort=False)
    ]
    return "model-index:\n" + "".join(cards) if cards else ""


def _card(name: str, rows: pd.DataFrame, naming: Naming, dataset: str, kind: str) -> str:
    task = "image-classification" if kind == "classifier" else "image-feature-extraction"
    lines = [
        f"- name: {json.dumps(name)}", "  results:", "  - task:", f"      type: {task}", "    dataset:",
        f"      name: {json.dumps(dataset)}", "      type: likewise-audit", "    metrics:",
    ]  # fmt: skip
    for _, row in rows.iterrows():
        sample = naming.sample(row["sample"], row["stat"])
        what = f"{row['stat']}: {row['quantity'].partition(': ')[2]}, {row['group']}, {sample}"
        lines += [
            f"    - type: {row['stat']}",
            f"      name: {json.dumps(what)}",
            f"      value: {row['estimate']:.6g}",
        ]
        if pd.notna(row["low"]):
            lines.append(f"      confidence_interval: [{row['low']:.6g}, {row['high']:.6g}]")
    return "\n".join(lines) + "\n"


def _places(needs: Sequence[str], have: Collection[str]) -> list[dict[str, str]]:
    found = dict.fromkeys(PLACES[key] for key in needs if key in have)
    return [{"key": key, "title": title} for key, title in found]


def _remark(part: pd.DataFrame) -> str:
    remarks = part["method"].str.partition("; ")[2]
    return "; ".join(dict.fromkeys(remark for remark in remarks if remark))
