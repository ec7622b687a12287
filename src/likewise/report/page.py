"""The report: one self-contained page, drawn from Estimates and Pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from likewise import __version__
from likewise.report.alike import balance_rows, energy_words, joint_rows, left_out_rows
from likewise.report.families import drawn_gaps, families
from likewise.report.fidelity import fidelity_rows
from likewise.report.figures import NARROW, WIDE, det_plot, gap_plot, love_plot, rate_plot, to_svg
from likewise.report.ground import ground_warning, ground_words, score_plot
from likewise.report.labels import label_finding, label_tables, many_labels
from likewise.report.leg_figures import curve_plot, legs_plot
from likewise.report.legs import curve_words, curves, panels
from likewise.report.rates import curve_steps, enrolment_rows, error_findings, error_quantities, recognisers
from likewise.report.sweep import certificate_rows, embedded, placebo_tables, slope_tables, striking
from likewise.report.words import (
    balance_verdict,
    gap_findings,
    hidden_bias,
    interval,
    named,
    sampled,
    slope_finding,
    truth_rows,
)
from likewise.tables import Contrast, Estimates, Pairs
from likewise.tables.files import write_text


def write_report(
    path: Path,
    *,
    title: str,
    contrast: Contrast,
    pairs: Pairs,
    balance: Estimates,
    estimates: Estimates,
    fidelity: Estimates | None = None,
    made: Mapping[str, Mapping[str, Any]],
    sheet: Path | None = None,
    tested: Sequence[Mapping[str, str]] = (),
    population: Sequence[Mapping[str, Any]] = (),
    gallery: bytes | None = None,
) -> Path:
    """Draw the report; ``made`` says of each artefact how it was made (its sidecar), ``sheet`` is a picture or none."""
    many = many_labels(estimates.frame)
    environment = Environment(loader=PackageLoader("likewise.report"), autoescape=True, undefined=StrictUndefined)
    page = environment.get_template("report.html.j2").render(
        title=title,
        version=__version__,
        contrast=contrast,
        findings=[*gap_findings(estimates, contrast, many), *error_findings(estimates, contrast)],
        label_finding=label_finding(estimates, contrast),
        labels=label_tables(estimates),
        slope_finding=slope_finding(estimates),
        sample=_sample(pairs, contrast),
        fidelity=fidelity_rows(fidelity, contrast),
        verdict=balance_verdict(balance),
        balance=balance_rows(balance, contrast),
        energy=energy_words(balance),
        left_out=left_out_rows(balance, contrast),
        joint=joint_rows(balance, contrast),
        ground=_ground(balance, contrast),
        love=_drawn(partial(love_plot, balance), balance_verdict(balance)),
        legs=_legs(estimates, contrast),
        gaps=_gaps(estimates, many),
        curves=[_curve(name, rows) for name, rows in curves(estimates)],
        errors=_errors(estimates, contrast),
        rates=_rates(estimates),
        slopes=slope_tables(estimates),
        families=families(estimates),
        placebos=placebo_tables(estimates),
        certificate=certificate_rows(made),
        sheet=embedded(sheet.read_bytes() if sheet is not None and sheet.is_file() else None),
        tested=tested,
        population=population,
        enrolment=enrolment_rows(estimates),
        gallery=embedded(gallery),
        truth=truth_rows(estimates),
        made=_made(made),
        notes=[note for entry in made.values() for note in entry["notes"]],
        licences=sorted({item for entry in made.values() for item in entry["licences"].items()}),
        versions=next(iter(made.values()))["versions"] if made else {},
    )
    write_text(path, page)
    return path


def _drawn(plot: Callable[..., Figure], description: str) -> Markup:
    """Draw a figure for a desk and for a phone; the page shows the one that fits."""
    drawn = ((name, to_svg(plot(width=width), description)) for name, width in (("wide", WIDE), ("narrow", NARROW)))
    page = "".join(f'<div class="{name}">{svg}</div>' for name, svg in drawn)
    return Markup(page)  # noqa: S704  # our own drawing: matplotlib escapes its texts, to_svg the description


def _sample(pairs: Pairs, contrast: Contrast) -> dict[str, Any]:
    dropped = pairs.dropped
    sides = [str(contrast.focal), str(contrast.reference)]
    reasons = [
        {"reason": reason, "counts": [int(part.loc[part["side"] == side, "images"].sum()) for side in sides]}
        for reason, part in dropped.groupby("reason", sort=False)
    ]
    rules = [{"rule": name, "kept": int(pairs.ledger[name].sum())} for name in pairs.ledger.columns if name != "pair"]
    return {
        "sides": sides,
        "offered": [pairs.offered.get(side, 0) for side in sides],
        "matched": len(pairs),
        "reasons": reasons,
        "rules": rules,
        "note": pairs.note,
        "spec": pairs.spec.to_dict() if pairs.spec else {},
    }


def _ground(balance: Estimates, contrast: Contrast) -> dict[str, Any]:
    """Return the common ground by the score, where the matching had one."""
    words = ground_words(balance, contrast)
    figure = _drawn(partial(score_plot, balance, contrast), words) if words else None
    return {"words": words, "warning": ground_warning(balance), "figure": figure}


def _legs(estimates: Estimates, contrast: Contrast) -> dict[str, Any]:
    shown = [panel for panel in panels(estimates, contrast) if len(panel.legs) > 1]
    told = "; ".join(f"{panel.quantity}, {leg.name}: {leg.text}" for panel in shown for leg in panel.legs)
    figure = _drawn(partial(legs_plot, shown, contrast), told) if shown else None
    return {"figure": figure, "conclusions": [panel.conclusion for panel in shown]}


def _curve(quantity: str, rows: pd.DataFrame) -> dict[str, Any]:
    told = curve_words(rows)
    return {"name": named(quantity), "words": told, "figure": _drawn(partial(curve_plot, rows), told)}


def _gaps(estimates: Estimates, left_out: set[str]) -> list[dict[str, Any]]:
    frame = estimates.frame
    shown = []
    elsewhere = {*error_quantities(estimates), *left_out}
    for quantity in drawn_gaps(frame[~frame["quantity"].isin(elsewhere)]):
        part = frame[(frame["quantity"] == quantity) & frame["stat"].isin(["mean", "gap", "adjusted_gap"])]
        part = part[~part["sample"].str.startswith(("truth: ", "design: "))]
        rows = [_gap_row(row) for _, row in part.iterrows()]
        told = "; ".join(f"{row['what']} {row['value']}" for row in rows)
        figure = _drawn(partial(gap_plot, estimates, quantity), told)
        hidden = hidden_bias(frame[frame["quantity"] == quantity])
        shown.append({"name": named(quantity), "figure": figure, "rows": rows, "hidden": hidden})
    return shown


def _errors(estimates: Estimates, contrast: Contrast) -> list[dict[str, Any]]:
    shown = recognisers(estimates, contrast)
    curves = estimates.frame["stat"].eq("det").any()
    for entry in shown:
        steps = curve_steps(estimates, entry["rater"]) if curves else pd.DataFrame()
        told = "; ".join(f"{row.group} at FMR {row.fmr:.3g}: {row.estimate:.3g}" for row in steps.itertuples())
        missed = len(steps) > 0 and bool((steps["estimate"] > 0).any())  # nothing missed is nothing on a log scale
        entry["figure"] = _drawn(partial(det_plot, steps, contrast), told) if missed else None
    return shown


def _gap_row(row: pd.Series) -> dict[str, str]:
    what = f"{row['group'].replace(' - ', ' − ')}: {sampled(row)}"
    kind = "group" if row["stat"] == "mean" else "gap"
    return {
        "what": what, "value": interval(row), "n": f"{row['n']:,}", "clusters": f"{row['clusters']:,}",
        "method": row["method"], "kind": kind,
    }  # fmt: skip


def _rates(estimates: Estimates) -> Markup | None:
    if not (estimates.frame["stat"] == "rate").any():
        return None
    return _drawn(partial(rate_plot, striking(estimates)), slope_finding(estimates))


def _made(made: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    rows = []
    for artefact, entry in made.items():
        summary = ", ".join(f"{name} {value}" for name, value in entry["summary"].items() if name != "raters")
        seed = "–" if entry["seed"] is None else str(entry["seed"])
        rows.append(
            {
                "artefact": artefact,
                "stage": entry["stage"],
                "summary": summary,
                "seed": seed,
                "digest": entry["digest"][:12],
            }
        )
    return rows
