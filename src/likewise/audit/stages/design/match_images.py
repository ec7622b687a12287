"""match-images: matched pairs of single images, for raters of images, where the plan matches trials."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import DESCRIBED, EMBEDDINGS, FIDELITY, IMAGE_MATCHES, IMAGES, LATENTS
from likewise.audit.matching import matched_or_nearest, matching_files, matching_options, number_of_focal
from likewise.audit.plan.model import Plan
from likewise.audit.raters.planned import classifies
from likewise.audit.stage import Stage


class MatchImages(Stage):
    """Match single images: a classifier rates images, not trials."""

    name, artifact, section, version = "match-images", IMAGE_MATCHES, "match", 2
    help = "Match single images for raters of images, where trials are matched."

    def enabled(self, plan: Plan) -> bool:
        """Whether trials are matched and a rater rates single images."""
        return plan.matches_trials and classifies(plan)

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return the images and everything that distances are computed from."""
        return (IMAGES if plan.describe is None else DESCRIBED, LATENTS, EMBEDDINGS, FIDELITY)

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the design."""
        return {"match": plan.match.to_dict(), "contrast": asdict(plan.contrast), **matching_options(plan)}

    def files(self, plan: Plan) -> tuple[str, ...]:
        """Return the files of vectors, distances and scores."""
        return matching_files(plan)

    def run(self, context: StageContext) -> None:
        """Write the matched pairs of images."""
        plan = context.plan
        spec = replace(plan.match, preset="")
        with context.reporter.task("match-images", number_of_focal(context)) as progress:
            found = matched_or_nearest(context, spec, progress, kind="images")
        context.summary = {"pairs": len(found), **({"note": found.note} if found.note else {})}
        found.write(context.path(IMAGE_MATCHES))
