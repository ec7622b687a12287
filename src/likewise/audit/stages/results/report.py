"""report: gather what the page shows; the page computes nothing."""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import (
    BALANCE,
    COUNTERFACTUALS,
    DESCRIBED,
    ESTIMATES,
    EXCLUDED,
    FIDELITY,
    IMAGES,
    MATCHES,
    RATINGS,
    REPORT,
    TRIALS,
    VALIDITY,
)
from likewise.audit.folder.store import PLAN
from likewise.audit.plan.design_sections import PrecomputedAnswers
from likewise.audit.plan.model import Plan
from likewise.audit.plan.request import FILES
from likewise.audit.results.gallery import walls
from likewise.audit.stage import Stage
from likewise.report.page import write_report
from likewise.report.sections.front_matter import FrontMatter
from likewise.tables import Estimates


class Report(Stage):
    """Write the report."""

    name, artifact, section, counted = "report", REPORT, "report", False
    help = "Write the report."
    version = 8

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return everything that the page shows."""
        images = IMAGES if plan.describe is None else DESCRIBED
        return (images, MATCHES, BALANCE, TRIALS, ESTIMATES, FIDELITY, COUNTERFACTUALS, VALIDITY, RATINGS)

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the report section and the contrast."""
        return {**asdict(plan.report), "contrast": asdict(plan.contrast)}

    def run(self, context: StageContext) -> None:
        """Write the page."""
        plan = context.plan
        measured = context.path(FIDELITY) / ESTIMATES
        sidecars = {name: context.folder.sidecar(name) for name in context.planned if name != REPORT}
        write_report(
            context.path(REPORT),
            title=plan.report.title,
            contrast=plan.contrast,
            pairs=context.matches(),
            balance=context.balance(),
            estimates=context.estimates(),
            fidelity=context.tables.read(Estimates, measured) if plan.fidelity else None,
            made={name: asdict(sidecar) for name, sidecar in sidecars.items() if sidecar},
            tested=_tested(context),
            population=_population(context),
            front=_front(context),
            walls=walls(context),
            blurred=plan.report.blur_images,
            undecodable=_undecodable(context),
            has_images=bool(plan.data.images),
            reconstructs=plan.projects,
        )
        context.summary = {"bytes": context.path(REPORT).stat().st_size}


def _tested(context: StageContext) -> list[dict[str, str]]:
    """Return the raters that the stage rate recorded, and those whose answers come from a file."""
    made = context.folder.sidecar(RATINGS)
    rated = list(made.summary.get("raters", [])) if made is not None else []
    return [*rated, *(_precomputed(answers) for answers in context.plan.precomputed)]


def _precomputed(answers: PrecomputedAnswers) -> dict[str, str]:
    kind = next(kind for kind in FILES if getattr(answers, kind))
    named = f"{kind}{f' ({answers.measure})' if answers.measure else ''} in {Path(getattr(answers, kind)).name}"
    own = {} if answers.threshold is None else {"threshold": f"{answers.threshold:g}", "set_on": "stated in the plan"}
    return {"name": answers.rater, "kind": named, **own}


def _population(context: StageContext) -> list[dict[str, Any]]:
    """Count images and people of each group."""
    images, contrast = context.images(), context.plan.contrast
    side = contrast.side(images)
    names = {1: str(contrast.focal), -1: str(contrast.reference), 0: "neither (not compared)"}
    rows = []
    for value, name in names.items():
        people = images.identities.loc[side.index[side == value]]
        if len(people):
            several = int((people.value_counts() > 1).sum())
            rows.append({"group": name, "images": len(people), "people": int(people.nunique()), "several": several})
    return rows


def _front(context: StageContext) -> FrontMatter:
    """Return what the plan states about the audit, with the date and the hash of the plan."""
    plan = context.plan.report
    stated = {field.name: getattr(plan, field.name) for field in fields(FrontMatter) if hasattr(plan, field.name)}
    plan_hash = hashlib.sha256((context.folder.root / PLAN).read_bytes()).hexdigest()
    return FrontMatter(**{**stated, "date": plan.date or _today(), "plan_hash": plan_hash})


def _today() -> str:
    """Return the day, or that of SOURCE_DATE_EPOCH, as reproducible builds set it."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), tz=UTC) if epoch.isdecimal() else datetime.now(tz=UTC)
    return now.date().isoformat()


def _undecodable(context: StageContext) -> list[str]:
    """Return the images that the stage read excluded because they do not decode."""
    path = context.path(EXCLUDED)
    if not path.is_file():
        return []
    rows = pd.read_csv(path, dtype=str)
    return rows.loc[rows["reason"] == "does not decode", "image"].tolist()
