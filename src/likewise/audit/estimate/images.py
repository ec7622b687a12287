"""Estimates from the images themselves: generated against real ones, and the shares of the groups."""

from __future__ import annotations

from functools import partial

from likewise.analysis.images.manifold import manifold_estimates
from likewise.analysis.images.quality import feature_distances, inception_scores
from likewise.analysis.representation import representation
from likewise.audit.context import StageContext
from likewise.errors import TableError
from likewise.tables import Estimates
from likewise.tables.checks import need_columns, need_numbers
from likewise.tables.io import read_frame


def image_estimates(context: StageContext) -> list[Estimates]:
    """Estimate by group how generated images differ from real ones, and who is shown."""
    return [*_image_quality(context), *_shown(context)]


def _image_quality(context: StageContext) -> list[Estimates]:
    plan, images, contrast, found = context.plan.estimate, context.images(), context.plan.contrast, list[Estimates]()
    made_by, generated = plan.made_by, plan.generated
    if plan.features:
        features = context.vectors(context.file(plan.features))
        distances = partial(feature_distances, features, images, contrast, level=plan.level, seed=context.plan.seed)
        what = "distances of generated from real images"
        found += context.attempt(what, partial(distances, made_by=made_by, generated=generated))
        scores = partial(manifold_estimates, features, images, contrast, level=plan.level)
        what = "precision, recall, density and coverage"
        found += context.attempt(what, partial(scores, made_by=made_by, generated=generated))
    if plan.logits:
        logits = context.vectors(context.file(plan.logits))
        inception = partial(inception_scores, logits, images, contrast, level=plan.level)
        found += context.attempt("Inception Scores", partial(inception, made_by=made_by, generated=generated))
    return found


def _shown(context: StageContext) -> list[Estimates]:
    plan, contrast = context.plan.estimate, context.plan.contrast
    if not plan.term:
        return []
    reference = _reference(context) if plan.reference else None
    share = partial(representation, term=plan.term, attribute=contrast.column, share_of=str(contrast.focal))
    return context.attempt("shares by term", lambda: share(context.images(), reference=reference, level=plan.level))


def _reference(context: StageContext) -> dict[str, float]:
    frame, _ = read_frame(context.file(context.plan.estimate.reference), text=("term",))
    need_columns(frame, ["term", "share"], "the table of benchmark shares")
    need_numbers(frame, ["share"], "the table of benchmark shares")
    if frame["term"].duplicated().any() or frame["share"].isna().any():
        raise TableError(
            f"{context.plan.estimate.reference} has a term twice, or an empty share", fix="Give one share a term."
        )
    return dict(zip(frame["term"].astype(str), frame["share"].astype(float), strict=True))
