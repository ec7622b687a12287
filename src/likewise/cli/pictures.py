"""What ``analyse`` makes of the pictures themselves: how generated ones differ from real ones, and who is shown."""

from __future__ import annotations

from functools import partial

from likewise.analyse.image_quality import feature_distances, inception_scores
from likewise.analyse.representation import representation
from likewise.cli.making import Job
from likewise.cli.noted import noted
from likewise.errors import TableError
from likewise.tables import Estimates, Vectors
from likewise.tables.checks import need_columns, need_numbers
from likewise.tables.files import read_frame


def pictures(job: Job) -> list[Estimates]:
    """Estimate by group how generated images differ from real ones, and who is shown."""
    return [*_image_quality(job), *_shown(job)]


def _image_quality(job: Job) -> list[Estimates]:
    plan, faces, contrast, found = job.plan.analyse, job.faces(), job.plan.contrast, list[Estimates]()
    made_by, generated = plan.made_by, plan.generated
    if plan.features:
        features = Vectors.read(job.folder.root / plan.features)
        distances = partial(feature_distances, features, faces, contrast, level=plan.level, seed=job.plan.seed)
        what = "distances of generated from real images"
        found += noted(job, what, partial(distances, made_by=made_by, generated=generated))
    if plan.logits:
        logits = Vectors.read(job.folder.root / plan.logits)
        scores = partial(inception_scores, logits, faces, contrast, level=plan.level)
        found += noted(job, "Inception Scores", partial(scores, made_by=made_by, generated=generated))
    return found


def _shown(job: Job) -> list[Estimates]:
    plan, contrast = job.plan.analyse, job.plan.contrast
    if not plan.term:
        return []
    reference = _reference(job) if plan.reference else None
    share = partial(representation, term=plan.term, attribute=contrast.column, share_of=str(contrast.focal))
    return noted(job, "shares by term", lambda: share(job.faces(), reference=reference, level=plan.level))


def _reference(job: Job) -> dict[str, float]:
    frame, _ = read_frame(job.folder.root / job.plan.analyse.reference, text=("term",))
    need_columns(frame, ["term", "share"], "the table of reference shares")
    need_numbers(frame, ["share"], "the table of reference shares")
    if frame["term"].duplicated().any() or frame["share"].isna().any():
        raise TableError("the table of reference shares has one share a term", got="several, or an empty one")
    return dict(zip(frame["term"].astype(str), frame["share"].astype(float), strict=True))
