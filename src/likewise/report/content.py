"""The content of the report: rows, sentences and figures from Estimates and Matches. No statistic is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from likewise.report.figures.designs import design_plot, specification_plot
from likewise.report.figures.estimates import gap_plot, love_plot, rate_plot
from likewise.report.figures.frontier import frontier_plot
from likewise.report.figures.groups import group_plot
from likewise.report.figures.style import HALF, NARROW, WIDE, to_svg
from likewise.report.figures.verification import det_plot, score_plot
from likewise.report.names import Naming, quantity
from likewise.report.operating_points import det_points, simultaneous
from likewise.report.sections.annex import (
    ai_act_rows,
    differential_rows,
    impact_rows,
    iso_rows,
    model_cards,
    present,
)
from likewise.report.sections.findings.crowd import families
from likewise.report.sections.findings.designs import (
    Panel,
    curve_sentence,
    curves,
    label_panels,
    panels,
    share_panels,
)
from likewise.report.sections.findings.error_rates import enrollment_rows, error_findings, recognizers
from likewise.report.sections.findings.gaps import gap_tables
from likewise.report.sections.findings.groups import group_sections
from likewise.report.sections.findings.labels import label_finding, label_tables, many_labels
from likewise.report.sections.findings.preferences import preference_finding, preference_tables
from likewise.report.sections.findings.slopes import (
    placebo_tables,
    plotted_labels,
    slope_tables,
    validity_rows,
)
from likewise.report.sections.findings.truth import truth_rows
from likewise.report.sections.sample.balance import (
    balance_rows,
    energy_sentence,
    excluded_rows,
    joint_rows,
    sample_table,
)
from likewise.report.sections.sample.frontier import frontier_rows, frontier_sentence
from likewise.report.sections.sample.validity import overlap_sentence, overlap_warning
from likewise.report.sections.summary import Line, is_share
from likewise.report.sentences import balance_verdict, gap_findings, in_parts, slope_finding
from likewise.tables import Contrast, Estimates, Matches

Made = Mapping[str, Mapping[str, Any]]
"""The sidecar of each artifact: stage, summary, seed, digest, notes, licenses, versions."""


def outcomes(estimates: Estimates, contrast: Contrast, naming: Naming) -> dict[str, Any]:
    """Return what the estimates give: findings, designs, error rates, gaps, labels, edits, people, truth."""
    many = many_labels(estimates.frame)
    findings = [*gap_findings(estimates, contrast, many, naming), *error_findings(estimates, contrast, naming)]
    findings += [label_finding(estimates, contrast, naming), preference_finding(estimates, contrast)]
    findings += [slope_finding(estimates)]
    return {
        "findings": [in_parts(sentence) for sentence in findings if sentence],
        **_designs(estimates, contrast, naming),
        "errors": _errors(estimates, contrast, naming),
        "enrollment": enrollment_rows(estimates),
        "gaps": [
            {**gap, "figure": _drawn(partial(gap_plot, estimates, gap["quantity"], naming=naming), _message(gap))}
            for gap in gap_tables(estimates, naming)
        ],
        "labels": label_tables(estimates),
        "groups": _groups(estimates),
        "preferences": preference_tables(estimates),
        "curves": [_curve(name, rows) for name, rows in curves(estimates)],
        "slopes": slope_tables(estimates),
        "placebos": placebo_tables(estimates),
        "rates": _rates(estimates),
        "families": families(estimates),
        "truth": truth_rows(estimates, naming),
    }


def sample(pairs: Matches, balance: Estimates, contrast: Contrast, naming: Naming) -> dict[str, Any]:
    """Return what the matching and its balance table give."""
    verdict, sentence = balance_verdict(balance), overlap_sentence(balance, contrast)
    return {
        "sample": sample_table(pairs, contrast),
        "verdict": verdict,
        "balance": balance_rows(balance, contrast),
        "energy": energy_sentence(balance, naming),
        "excluded": excluded_rows(balance, contrast),
        "joint": joint_rows(balance, contrast),
        "love": _drawn(partial(love_plot, balance), verdict) if verdict else None,
        "frontier": _frontier(pairs, balance),
        "overlap": {
            "sentence": sentence,
            "warning": overlap_warning(balance),
            "figure": _drawn(partial(score_plot, balance, contrast), sentence) if sentence else None,
        },
    }


def _frontier(pairs: Matches, balance: Estimates) -> dict[str, Any]:
    """Return what other tolerances would keep and leave."""
    sentence = frontier_sentence(balance)
    plot = partial(frontier_plot, balance, tolerance=pairs.spec.max_smd if pairs.spec else None)
    return {
        "sentence": sentence,
        "rows": frontier_rows(balance),
        "figure": _drawn(plot, sentence) if sentence else None,
    }


def annex(context: Mapping[str, Any], estimates: Estimates, balance: Estimates) -> dict[str, Any]:
    """Return the annex: evidence by item of standards and laws, differentials and a model card."""
    added = {
        "differentials": differential_rows(estimates),
        "impact": impact_rows(estimates),
        "model_cards": model_cards(estimates, context["naming"], dataset=context["title"], systems=context["tested"]),
    }
    have = present({**context, **added}, balance)
    return {**added, "iso": iso_rows(have), "ai_act": ai_act_rows(have)}


def provenance(made: Made) -> dict[str, Any]:
    """Return what each artifact was made from."""
    return {
        "made": [_artifact(name, entry) for name, entry in made.items()],
        "validity_counts": validity_rows(made),
        "notes": [note for entry in made.values() for note in entry["notes"]],
        "licenses": sorted({item for entry in made.values() for item in entry["licenses"].items()}),
        "versions": next(iter(made.values()))["versions"] if made else {},
    }


def _artifact(artifact: str, entry: Mapping[str, Any]) -> dict[str, str]:
    summary = "; ".join(f"{name} {_written(value)}" for name, value in entry["summary"].items() if name != "raters")
    seed = "–" if entry["seed"] is None else str(entry["seed"])
    return {
        "artifact": artifact, "stage": entry["stage"], "summary": summary, "seed": seed,
        "digest": entry["digest"][:12],
    }  # fmt: skip


def _written(value: object) -> str:
    """Write a value of a summary: lists without brackets, yes and no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_written(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _drawn(plot: Callable[..., Figure], description: str, *, wide: float = WIDE) -> Markup:
    """Draw a figure for a desk and for a phone; the page shows the one that fits."""
    drawn = ((name, to_svg(plot(width=width), description)) for name, width in (("wide", wide), ("narrow", NARROW)))
    page = "".join(f'<div class="{name}">{svg}</div>' for name, svg in drawn)
    return Markup(page)  # noqa: S704  # our own figure: matplotlib escapes its texts, to_svg the description


def _message(gap: Mapping[str, Any]) -> str:
    return "; ".join(f"{row['what']} {row['value']}" for row in gap["rows"])


def _designs(estimates: Estimates, contrast: Contrast, naming: Naming) -> dict[str, Any]:
    """Return the designs in standard deviations, the scale on which distances and answers meet; else of labels."""
    shown = panels(estimates, contrast, naming)
    return {"panels": shown, "label_panels": [] if shown else label_panels(estimates, naming)}


def summary(
    lines: Sequence[Line], estimates: Estimates, contrast: Contrast, context: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the figure of the summary, and the comparison of designs.

    The figure shows the differences of the table where all of them are rates, in percentage points. Otherwise they
    meet in standard deviations of the outcomes only.
    """
    quantities, panels_of = [line.quantity for line in lines], context["panels"]
    shares = bool(lines) and all(is_share(name) for name in quantities)
    drawn = share_panels(estimates, quantities, context["naming"]) if shares else panels_of or context["label_panels"]
    unit = "percentage points" if shares or not panels_of else ""
    return {
        "summary_figure": _design_figure(drawn, contrast, unit, wide=HALF),
        "summary_truth": bool(context["truth"]) and not shares,
        "design_figure": _design_figure(panels_of, contrast, "") if shares else None,
        "comparison": [line for line in lines if line.beside],
        "panels": [panel for panel in panels_of if panel.quantity not in quantities and len(panel.designs) > 1],
        "conclusions": [said for panel in panels_of for said in panel.remarks],
    }


def _design_figure(drawn: Sequence[Panel], contrast: Contrast, unit: str, *, wide: float = WIDE) -> Markup | None:
    if not drawn:
        return None
    message = "; ".join(
        f"{panel.quantity}, {design.name}: {design.text}" for panel in drawn for design in panel.designs
    )
    return _drawn(partial(design_plot, drawn, contrast, unit=unit), message, wide=wide)


def _curve(name: str, rows: pd.DataFrame) -> dict[str, Any]:
    sentence = curve_sentence(rows)
    return {"name": quantity(name), "sentence": sentence, "figure": _drawn(partial(specification_plot, rows), sentence)}


def _errors(estimates: Estimates, contrast: Contrast, naming: Naming) -> list[dict[str, Any]]:
    bands = "simultaneous" if simultaneous(estimates) else "pointwise"
    return [
        {**entry, "figure": _det(estimates, entry["rater"]), "bands": bands}
        for entry in recognizers(estimates, contrast, naming)
    ]


def _groups(estimates: Estimates) -> list[dict[str, Any]]:
    """Return the sets of groups; those of the intersection, of labels the one that differs most, are open and drawn."""
    sections = group_sections(estimates)
    for place, section in enumerate(sections):
        widest = max(section["entries"], key=lambda entry: entry["differing"])
        for entry in section["entries"]:
            entry["open"] = place == 0 and (not entry["label"] or entry is widest)
            plot = partial(group_plot, estimates, entry["quantity"], section["sample"])
            entry["figure"] = _drawn(plot, f"{entry['highest']}; {entry['lowest']}") if entry["open"] else None
    return sections


def _det(estimates: Estimates, rater: str) -> Markup | None:
    steps = det_points(estimates, rater)
    if not (steps["estimate"] > 0).any():  # a log scale cannot show a rate of zero
        return None
    message = "; ".join(f"{row.group} at FMR {row.fmr:.3g}: {row.estimate:.3g}" for row in steps.itertuples())
    return _drawn(partial(det_plot, estimates, rater), message)


def _rates(estimates: Estimates) -> Markup | None:
    if not (estimates.frame["stat"] == "rate").any():
        return None
    return _drawn(partial(rate_plot, plotted_labels(estimates)), slope_finding(estimates))
