"""Which stages a plan names, in order, and what each of them then needs."""

from __future__ import annotations

from dataclasses import replace

from likewise.cli.fidelity import FIDELITY
from likewise.cli.framing import ALIGNED
from likewise.cli.making import ANSWERS, DESCRIBED, EMBEDDINGS, FACES, LATENTS, PAIRS, RATINGS, SWEEP, TRIALS, VARIANTS
from likewise.cli.measures import declared
from likewise.cli.plan import Plan
from likewise.cli.stages import (
    ALL,
    ANALYSE,
    CERTIFY,
    COUNTERFACTUAL,
    DESCRIBE,
    FIDELITY_STAGE,
    MATCH,
    PROJECT,
    RATE,
    REPORT_STAGE,
    TRIALS_STAGE,
    VARY,
    Stage,
    editing,
)
from likewise.cli.sweeping import CERTIFICATES


def stages(plan: Plan) -> list[Stage]:
    """Return the stages that this plan names, in order, each needing only what the plan makes."""
    looks = bool(declared(plan.within, plan.difficulty) or (plan.difficulty and plan.difficulty.perceptual))
    absent = {
        DESCRIBED: plan.describe is None,
        ALIGNED: plan.align is None,
        FIDELITY: plan.fidelity is None,
        EMBEDDINGS: not looks,
        VARIANTS: not plan.variant,
        SWEEP: plan.counterfactual is None,
        CERTIFICATES: plan.judged is None,
        LATENTS: not spaced(plan),
        RATINGS: not (plan.rater or plan.answered),
        ANSWERS: plan.ask is None,
    }
    recognisers = any(rater.slot == "recogniser" for rater in plan.rater)
    planned = [stage for stage in ALL if not absent.get(stage.artefact, False)]
    in_frame = [] if absent[ALIGNED] else [ALIGNED]
    design = [name for name in (EMBEDDINGS, FIDELITY) if not absent[name]]
    extra = {
        PROJECT.name: in_frame,
        FIDELITY_STAGE.name: in_frame,
        COUNTERFACTUAL.name: [
            *([TRIALS] if recognisers else []),
            *in_frame,
            *([LATENTS] if editing(plan).get("latents") == LATENTS else []),
        ],
        CERTIFY.name: in_frame,
        MATCH.name: design,
        TRIALS_STAGE.name: [PAIRS, *([] if absent[EMBEDDINGS] else [EMBEDDINGS])] if plan.match.references else [],
        VARY.name: design,
        RATE.name: [] if absent[SWEEP] else [SWEEP],
        ANALYSE.name: [name for name in (VARIANTS, SWEEP, CERTIFICATES, RATINGS, ANSWERS) if not absent[name]],
        REPORT_STAGE.name: [name for name in (FIDELITY, SWEEP, RATINGS) if not absent[name]],
    }
    return [replace(stage, needs=(*_needs(stage, plan), *extra.get(stage.name, []))) for stage in planned]


def spaced(plan: Plan) -> bool:
    """Say whether the plan has images lie somewhere; given distances or scores alone need no space."""
    return bool(plan.faces.images or plan.vectors or plan.encode)


def _needs(stage: Stage, plan: Plan) -> tuple[str, ...]:
    """Say what a stage needs: the described faces, where the plan has them described."""
    needs = tuple(need for need in stage.needs if need != LATENTS or spaced(plan))
    if plan.describe is None or stage is DESCRIBE:
        return needs
    return tuple(DESCRIBED if need == FACES else need for need in needs)
