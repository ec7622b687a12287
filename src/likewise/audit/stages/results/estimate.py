"""estimate: everything that can be estimated from the ratings and responses, with intervals."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from likewise.audit.context import StageContext
from likewise.audit.estimate.everything import estimate_everything
from likewise.audit.folder.artifacts import (
    COUNTERFACTUALS,
    DESCRIBED,
    ESTIMATES,
    IMAGE_MATCHES,
    IMAGES,
    IMPOSTOR_MATCHES,
    LATENTS,
    MATCHES,
    RATINGS,
    RESPONSES,
    TRIALS,
    VALIDITY,
    VARIANTS,
)
from likewise.audit.plan.model import Plan
from likewise.audit.raters.planned import rater_options_plain
from likewise.audit.stage import Stage


class Estimate(Stage):
    """Estimate gaps, error rates, slopes, agreement and the quality of images."""

    name, artifact, section, version, counted, seeded = "estimate", ESTIMATES, "estimate", 13, False, True
    help = "Estimate gaps, error rates and slopes, with intervals."

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return every table that estimates are computed from."""
        images = IMAGES if plan.describe is None else DESCRIBED
        return (
            images,
            MATCHES,
            IMAGE_MATCHES,
            IMPOSTOR_MATCHES,
            TRIALS,
            VARIANTS,
            COUNTERFACTUALS,
            VALIDITY,
            RATINGS,
            RESPONSES,
            LATENTS,
        )

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the section, the contrast, the covariates and the raters."""
        design: dict[str, Any] = {"contrast": asdict(plan.contrast), "covariates": list(plan.covariates)}
        design |= {"match": plan.match.to_dict(), "units": asdict(plan.units)}
        groups = {"groups": asdict(plan.groups)} if plan.groups else {}
        own = {name: value for name, value in asdict(plan.estimate).items() if name != "effects" or value}
        return {**design, **own, **groups, **rater_options_plain(plan)}

    def files(self, plan: Plan) -> tuple[str, ...]:
        """Return the files that the section names."""
        return plan.estimate.files

    def run(self, context: StageContext) -> None:
        """Write the estimates."""
        found = estimate_everything(context)
        context.summary = {"rows": len(found)}
        found.write(context.path(ESTIMATES))
