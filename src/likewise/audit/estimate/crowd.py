"""Estimates from people's responses: agreement, image quality, ordinal scales, skin tone, confidence."""

from __future__ import annotations

from functools import partial
from typing import Any

from likewise.analysis.crowd.agreement import agreement, rater_quality, unit_identities
from likewise.analysis.crowd.panel import panel
from likewise.analysis.crowd.quality import mixed_quality, quality
from likewise.analysis.crowd.scales import scales
from likewise.analysis.crowd.skin_tone import tone_agreement
from likewise.audit.context import StageContext
from likewise.tables import Estimates, Images, Ratings

JUDGED_REAL = "judged_real"


def crowd_estimates(context: StageContext, responses: Ratings) -> list[Estimates]:
    """Estimate for each question how far people agree, and what they said about the images of either group."""
    images, found = context.images(), list[Estimates]()
    for question, part in responses.frame.dropna(subset=["value"]).groupby("question", sort=True):
        asked = Ratings(part)
        found += _agreement(context, asked, str(question))
        shown = Ratings(part[part["unit"].isin(images.keys)])
        if len(shown):
            found += _about_images(context, shown, str(question), images)
    return found


def yes_or_no(ratings: Ratings) -> bool:
    """Whether all responses are 0 or 1; others are taken for steps of a scale."""
    return bool(ratings.frame["value"].dropna().isin([0.0, 1.0]).all())


def _agreement(context: StageContext, asked: Ratings, question: str) -> list[Estimates]:
    plain, level = yes_or_no(asked), context.plan.estimate.level
    scale = "nominal" if plain else "ordinal"
    whose = unit_identities(context.images(), context.trials())
    about: dict[str, Any] = {"question": question, "identities": whose, "level": level}
    found = context.attempt(f"agreement on {question!r}", partial(agreement, asked, scale=scale, **about))
    if not plain:
        return found
    return found + context.attempt(
        f"agreement of single raters on {question!r}",
        partial(rater_quality, asked, consensus="majority", **about),
    )


def _about_images(context: StageContext, shown: Ratings, question: str, images: Images) -> list[Estimates]:
    """Estimate what was said about single images, by group."""
    plan, contrast, level = context.plan.estimate, context.plan.contrast, context.plan.estimate.level
    if question == JUDGED_REAL and plan.made_by:
        found = _quality(context, shown, images)
    elif yes_or_no(shown):
        both, sides = (str(contrast.focal), str(contrast.reference)), contrast.side(images)
        kind = {image: both[0] if sides[image] == 1 else both[1] for image in images.keys if sides[image] != 0}
        whose = unit_identities(images)
        share = partial(panel, shown, kind, question=question, compare=both, identities=whose, level=level)
        found = context.attempt(f"shares of {question!r}", share)
    else:
        steps = partial(scales, shown, images, contrast, question=question, level=level)
        found = context.attempt(f"mean of {question!r}", steps)
        for name in plan.measured:
            tone = partial(tone_agreement, shown, images, question=question, measured=name, level=level)
            found += context.attempt(f"correlation of {name!r} with {question!r}", tone)
    if "confidence" in shown.frame.columns and shown.frame["confidence"].notna().any():
        sure = partial(scales, shown, images, contrast, question=question, column="confidence", level=level)
        found += context.attempt(f"confidence about {question!r}", sure)
    return found


def _quality(context: StageContext, shown: Ratings, images: Images) -> list[Estimates]:
    """Estimate how often generated images pass for real; a study's arms (``session``) stand side by side."""
    plan, frame = context.plan.estimate, shown.frame
    arms = frame["session"].astype(str).tolist() if "session" in frame and frame["session"].nunique() > 1 else None
    found = list[Estimates]()
    for what, function in (("quality of generated images", quality), ("mixed logit", mixed_quality)):
        estimate = partial(
            function,
            shown, images, context.plan.contrast,
            made_by=plan.made_by, generated=plan.generated, question=JUDGED_REAL, arms=arms, level=plan.level,
        )  # fmt: skip
        found += context.attempt(what, estimate)
    return found
