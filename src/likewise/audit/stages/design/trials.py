"""trials: the two images that a recognizer or a person is asked about."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import DESCRIBED, EMBEDDINGS, IMAGES, MATCHES, TRIALS
from likewise.audit.matching import difficulty_of
from likewise.audit.plan.model import Plan
from likewise.audit.raters.precomputed import precomputed_trials
from likewise.audit.stage import Stage
from likewise.design.trials import trials
from likewise.tables import Trials


class ChooseTrials(Stage):
    """Choose genuine and impostor trials."""

    name, artifact, section, version, counted, seeded = "trials", TRIALS, "trials", 3, False, True
    help = "Choose genuine and impostor trials: the two images that raters compare."

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return the images; with references, the matched pairs and the difficulties too."""
        by_reference = (MATCHES, EMBEDDINGS) if plan.match.references else ()
        return (IMAGES if plan.describe is None else DESCRIBED, *by_reference)

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the section, the contrast and what decides which trials there are."""
        scores = [asdict(entry) for entry in plan.precomputed if entry.scores]
        hard = plan.reference_difficulty
        return {
            **asdict(plan.trials),
            "contrast": asdict(plan.contrast),
            "recognizers": plan.recognizes,
            **({"units": plan.units.kind} if plan.matches_trials else {}),
            **({"reference_difficulty": asdict(hard)} if hard else {}),
            **({"precomputed": scores} if scores else {}),
        }

    def files(self, plan: Plan) -> tuple[str, ...]:
        """Return the score files and the files of difficulties."""
        hard = plan.reference_difficulty
        return (*(entry.scores for entry in plan.precomputed if entry.scores), *(hard.files if hard else ()))

    def run(self, context: StageContext) -> None:
        """Write the trials: those of the score files, or chosen here."""
        plan, each = context.plan, context.plan.trials.impostors
        impostors: dict[str, Any] = {"impostors": each, "groups": "any"} if plan.recognizes and each > 0 else {}
        references: dict[str, Any] = {}
        if plan.match.references:
            references = {"references": context.matches(), "difficulty": difficulty_of(context)}
        between: dict[str, Any] = {"contrast": plan.contrast} if impostors or references else {}
        given = precomputed_trials(context)
        if given is not None and references:
            context.notes.append("The trials are those of the score files; references of the matching are not used.")
        every: dict[str, Any] = {"genuine": "all"} if plan.matches_trials else {}
        made = given or trials(context.images(), seed=plan.seed, **every, **impostors, **references, **between)
        if given is None and references:
            context.notes.append(_without_reference(context, made))
        genuine = len(made.genuine())
        context.summary = {"genuine trials": genuine, "impostor trials": len(made) - genuine}
        made.write(context.path(TRIALS))


def _without_reference(context: StageContext, made: Trials) -> str:
    """Describe how second images were chosen, and count images without one, by group."""
    images, used = context.images(), set(made.genuine().frame["a"])
    side = context.plan.contrast.side(images)
    without = images.subset([image for image in side.index[side != 0] if image not in used])
    lost = without.attribute(context.plan.contrast.column).value_counts().to_dict() if len(without) else "none"
    return (
        "Matched images are compared with their references; every other image with one that is as difficult as a "
        f"reference of the other group, chosen at random. Images without such a reference: {lost}."
    )
