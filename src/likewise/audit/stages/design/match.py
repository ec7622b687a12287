"""match: matched pairs across the contrast."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import DESCRIBED, EMBEDDINGS, FIDELITY, IMAGES, LATENTS, MATCHES, TRIALS
from likewise.audit.matching import (
    matched_or_nearest,
    matching_files,
    matching_options,
    number_of_focal,
    unmatched_trials,
)
from likewise.audit.plan.model import Plan
from likewise.audit.raters.independence import warn_shared_family
from likewise.audit.stage import Stage
from likewise.runtime.registry import create


class Match(Stage):
    """Match the images, or the trials, of the two groups."""

    name, artifact, section, version = "match", MATCHES, "match", 2
    help = "Match images or trials across the contrast."

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return the images and everything that distances are computed from."""
        trials = (TRIALS,) if plan.matches_trials else ()
        return (IMAGES if plan.describe is None else DESCRIBED, LATENTS, EMBEDDINGS, FIDELITY, *trials)

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the design."""
        return {"match": plan.match.to_dict(), "contrast": asdict(plan.contrast), **matching_options(plan)}

    def files(self, plan: Plan) -> tuple[str, ...]:
        """Return the files of vectors, distances and scores."""
        return matching_files(plan)

    def run(self, context: StageContext) -> None:
        """Write the matched pairs."""
        plan = context.plan
        with context.reporter.task("match", number_of_focal(context)) as progress:
            found = matched_or_nearest(context, plan.match, progress)
        context.notes += unmatched_trials(plan)
        for entry in plan.design_recognizers:
            family = create("recognizer", entry.name, entry.options).family
            context.notes += warn_shared_family(context.folder, plan, entry.name, family)
        context.summary = {
            "pairs": len(found),
            "unit": found.unit,
            "estimand": found.estimand,
            **({"note": found.note} if found.note else {}),
        }
        found.write(context.path(MATCHES))
