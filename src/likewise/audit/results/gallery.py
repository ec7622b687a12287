"""What the gallery of the report shows: matched units, hardest trials, edits, and images that were not detected."""

from __future__ import annotations

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import COUNTERFACTUALS, RATINGS, TRIALS, VALIDITY
from likewise.counterfactuals.validation.validity import assess
from likewise.report.sections.sample.gallery import Gallery, Look, Wall
from likewise.tables import Images, Ratings

UNSTATED = "breaks a rule of [validity]"


def walls(context: StageContext) -> list[Wall]:
    """Return the gallery: with pictures where the plan allows them, else with names and distances only."""
    plan, images = context.plan, context.images()
    edited = context.counterfactuals() if context.path(COUNTERFACTUALS).is_dir() else None
    shown = bool(plan.data.images) and (plan.report.show_images or _toy(context))
    look: Look | None = context.album(images) if shown else None
    gallery = Gallery(
        images=images, contrast=plan.contrast, covariates=plan.covariates, look=look,
        edited=_edited_look(context, edited[0]) if edited and shown else None, blur=plan.report.blur_images,
    )  # fmt: skip
    found = gallery.pairs(context.matches())
    if all(name in context.planned for name in (TRIALS, RATINGS)):
        found += [*gallery.trials(context.trials(), context.ratings())]
        found += [*gallery.unanswered(context.trials(), context.ratings())]
    if edited:
        made = edited[0]
        found += gallery.edits(made, reconstructions=_reconstructions(context), rejected=_rejected(context, made))
    return found


def _toy(context: StageContext) -> bool:
    """Whether the pictures show synthetic identities of the toy simulation."""
    sidecar = context.folder.sidecar(COUNTERFACTUALS)
    return sidecar is not None and sidecar.summary.get("toy") is True


def _edited_look(context: StageContext, made: Images) -> Look:
    arms = context.placebo()
    return context.edited_album([*made.keys, *(arms.keys if arms else [])])


def _reconstructions(context: StageContext) -> dict[str, str]:
    """Return for each original its reconstruction control."""
    arms = context.placebo()
    if arms is None:
        return {}
    rows = arms.frame[arms.frame["source"] == "reconstruct"]
    return dict(zip(rows["parent"], rows["image"], strict=True))


def _rejected(context: StageContext, made: Images) -> dict[str, str]:
    """Return for each original with invalid edits the reason."""
    spec, path = context.plan.validated, context.path(VALIDITY)
    if spec is None or not path.is_file():
        return {}
    valid = set(context.valid_counterfactuals().frame["parent"])
    known = assess(context.tables.read(Ratings, path), made, spec).reasons.to_dict()
    return {str(key): str(known.get(key, UNSTATED)) for key in dict.fromkeys(made.frame["parent"]) if key not in valid}
