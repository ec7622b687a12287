"""The stage report: it gathers what the page shows; the page computes nothing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from likewise.cli.asking import sheet_of
from likewise.cli.gallery import gallery
from likewise.cli.making import BALANCE, ESTIMATES, PAIRS, RATINGS, REPORT, Job
from likewise.report.page import write_report
from likewise.tables import Estimates, Pairs


def _tested(job: Job) -> list[dict[str, str]]:
    """Return what the rating stage said of its raters."""
    made = job.folder.sidecar(RATINGS)
    return list(made.summary.get("raters", [])) if made is not None else []


def _population(job: Job) -> list[dict[str, Any]]:
    """Count images and people of each side."""
    faces, contrast = job.faces(), job.plan.contrast
    side = contrast.side(faces)
    names = {1: str(contrast.focal), -1: str(contrast.reference), 0: "neither (not compared)"}
    rows = []
    for value, name in names.items():
        people = faces.identities.loc[side.index[side == value]]
        if len(people):
            several = int((people.value_counts() > 1).sum())
            rows.append({"group": name, "images": len(people), "people": int(people.nunique()), "several": several})
    return rows


def reporting(job: Job) -> None:
    """Draw the report."""
    judged = job.path("fidelity") / "estimates.parquet"
    sidecars = {name: job.folder.sidecar(name) for name in job.planned if name != REPORT}
    write_report(
        job.path(REPORT),
        title=job.plan.report.title,
        contrast=job.plan.contrast,
        pairs=Pairs.read(job.path(PAIRS)),
        balance=Estimates.read(job.path(BALANCE)),
        estimates=Estimates.read(job.path(ESTIMATES)),
        fidelity=Estimates.read(judged) if job.plan.fidelity else None,
        made={name: asdict(sidecar) for name, sidecar in sidecars.items() if sidecar},
        sheet=sheet_of(job.folder, show=job.plan.report.show_images),
        tested=_tested(job),
        population=_population(job),
        gallery=gallery(job),
    )
    job.summary = {"bytes": job.path(REPORT).stat().st_size}
