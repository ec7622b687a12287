"""variants: the matched pairs of alternative designs, for the specification curve."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import DESCRIBED, EMBEDDINGS, FIDELITY, IMAGES, LATENTS, TRIALS, VARIANTS
from likewise.audit.matching import matched, matching_files, matching_options, number_of_focal
from likewise.audit.plan.model import Plan
from likewise.audit.stage import Stage
from likewise.errors import LikewiseError


class Variants(Stage):
    """Match again by each alternative design; ratings play no part in it."""

    name, artifact, section, version = "variants", VARIANTS, "variant", 2
    help = "Match by alternative designs, for the specification curve."

    def enabled(self, plan: Plan) -> bool:
        """Whether the plan has variants."""
        return bool(plan.variant)

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return the images and everything that distances are computed from."""
        trials = (TRIALS,) if plan.matches_trials else ()
        return (IMAGES if plan.describe is None else DESCRIBED, LATENTS, EMBEDDINGS, FIDELITY, *trials)

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the designs."""
        return {
            "variants": [[variant.name, variant.match.to_dict()] for variant in plan.variant],
            "contrast": asdict(plan.contrast),
            **matching_options(plan),
        }

    def files(self, plan: Plan) -> tuple[str, ...]:
        """Return the files of vectors, distances and scores."""
        return matching_files(plan)

    def run(self, context: StageContext) -> None:
        """Write one file of matched pairs for each design; an infeasible one is noted."""
        found: dict[str, int] = {}
        total = number_of_focal(context) * len(context.plan.variant)
        with context.reporter.task("variants", total) as progress, context.replaced(VARIANTS) as fresh:
            for number, variant in enumerate(context.plan.variant):
                try:
                    pairs = matched(context, variant.match, progress)
                except LikewiseError as error:  # the audit's own design stands
                    context.notes.append(f"The variant {variant.name!r} is infeasible: {error}")
                    continue
                pairs.write(fresh / f"{number:02d}.parquet")
                found[variant.name] = len(pairs)
        context.summary = {f"pairs by {name}": count for name, count in found.items()}
