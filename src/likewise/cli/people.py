"""What ``analyse`` makes of people's answers: agreement, quality of generated faces, steps, skin tones, certainty."""

from __future__ import annotations

from functools import partial

from likewise.analyse.agreement import agreement, rater_quality
from likewise.analyse.panel import panel
from likewise.analyse.quality import mixed_quality, quality
from likewise.analyse.scales import scales
from likewise.analyse.skin_tone import tone_agreement
from likewise.cli.making import Job
from likewise.cli.noted import noted
from likewise.tables import Estimates, Faces, Ratings

JUDGED_REAL = "judged_real"


def people(job: Job, answers: Ratings) -> list[Estimates]:
    """Estimate for each question how far people agree, and what they said about the images of either group."""
    faces, found = job.faces(), list[Estimates]()
    for question, part in answers.frame.dropna(subset=["value"]).groupby("question", sort=True):
        asked = Ratings(part)
        found += _agreement(job, asked, str(question))
        shown = Ratings(part[part["unit"].isin(faces.images)])
        if len(shown):
            found += _about_images(job, shown, str(question), faces)
    return found


def yes_or_no(ratings: Ratings) -> bool:
    """Whether all answers are 0 or 1; others are taken for steps of a scale."""
    return bool(ratings.frame["value"].dropna().isin([0.0, 1.0]).all())


def _agreement(job: Job, asked: Ratings, question: str) -> list[Estimates]:
    plain, level = yes_or_no(asked), job.plan.analyse.level
    scale = "nominal" if plain else "ordinal"
    found = noted(
        job, f"agreement on {question!r}", lambda: agreement(asked, question=question, scale=scale, level=level)
    )
    if not plain:
        return found
    return found + noted(
        job,
        f"agreement of single raters on {question!r}",
        lambda: rater_quality(asked, question=question, consensus="majority", level=level),
    )


def _about_images(job: Job, shown: Ratings, question: str, faces: Faces) -> list[Estimates]:
    """Estimate what was said about single images, by group."""
    plan, contrast, level = job.plan.analyse, job.plan.contrast, job.plan.analyse.level
    if question == JUDGED_REAL and plan.made_by:
        found = _quality(job, shown, faces)
    elif yes_or_no(shown):
        both, sides = (str(contrast.focal), str(contrast.reference)), contrast.side(faces)
        kind = {image: both[0] if sides[image] == 1 else both[1] for image in faces.images if sides[image] != 0}
        share = partial(panel, shown, kind, question=question, compare=both, level=level)
        found = noted(job, f"shares of {question!r}", share)
    else:
        found = noted(
            job, f"steps of {question!r}", lambda: scales(shown, faces, contrast, question=question, level=level)
        )
        for name in plan.measured:
            tone = partial(tone_agreement, shown, faces, question=question, measured=name, level=level)
            found += noted(job, f"correlation of {name!r} with {question!r}", tone)
    if "confidence" in shown.frame.columns and shown.frame["confidence"].notna().any():
        sure = partial(scales, shown, faces, contrast, question=question, column="confidence", level=level)
        found += noted(job, f"certainty about {question!r}", sure)
    return found


def _quality(job: Job, shown: Ratings, faces: Faces) -> list[Estimates]:
    """Estimate how often generated faces pass for real; a study's arms (``session``) stand side by side."""
    plan, frame = job.plan.analyse, shown.frame
    arms = frame["session"].astype(str).tolist() if "session" in frame and frame["session"].nunique() > 1 else None
    found = list[Estimates]()
    for what, function in (("quality of generated faces", quality), ("mixed logit", mixed_quality)):
        estimate = partial(
            function,
            shown, faces, job.plan.contrast,
            made_by=plan.made_by, generated=plan.generated, question=JUDGED_REAL, arms=arms, level=plan.level,
        )  # fmt: skip
        found += noted(job, what, estimate)
    return found
