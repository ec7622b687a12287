"""Labels of classifiers, asked three ways: as the images come, between look-alikes, and in edited pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from likewise.analyse.legs import agreement_of_legs, turned_gaps
from likewise.analyse.present import LABELLED, present, same_labels
from likewise.cli.answered import lines_of
from likewise.cli.asking import labels_images, rater_options, sweeps
from likewise.cli.gap_rows import gap_rows
from likewise.cli.making import RATINGS, SWEEP, Job, covariates_of
from likewise.cli.noted import noted
from likewise.cli.sweeping import CERTIFICATES
from likewise.errors import some
from likewise.make.certificate import certified
from likewise.plugins import create
from likewise.report.labels import FEW
from likewise.tables import Estimates, Faces, Pairs, Ratings


def label_gaps(job: Job, pairs: Pairs) -> list[Estimates]:
    """Estimate how much oftener one group's images get a label; the intervals of all labels hold together."""
    plan, ratings = job.plan, Ratings.read(job.path(RATINGS))
    models = [
        create("classifier", each.name, rater_options(job.folder, each))
        for each in plan.rater
        if labels_images(plan, each)
    ]
    lines = {model.name: float(model.threshold) for model in models} | lines_of(plan, recognises=False)
    given, remarks = present(_about(ratings, job.faces().images), lines, labels=plan.analyse.labels)
    job.notes += remarks + [note for model in models for note in _by_letters(model, plan.analyse.labels, given)]
    many = len(given.frame[["rater", "question"]].drop_duplicates())
    if not many:
        return []
    level = 1 - (1 - plan.analyse.level) / many  # Bonferroni
    found = gap_rows(job, given, None, pairs, level=level, closely=many <= FEW)
    found += _edited(job, given, ratings, lines, pairs, level) if sweeps(plan) else []
    return [_within_bounds(part) for part in found]


def _by_letters(model: Any, wanted: Sequence[str], given: Ratings) -> list[str]:
    """Warn of labels that the plan names and that a rater in another language has by their letters alone."""
    language = getattr(model, "language", "")
    if language.lower().partition("-")[0] in ("", "en"):
        return []
    mine = set(given.frame.loc[given.frame["rater"] == model.name, "question"].str.removeprefix(LABELLED))
    found = [label for label in wanted if label in mine - set(model.rename.values())]
    if not found:
        return []
    fix = "The same letters may mean something else; rename gives them words of your own."
    return [f"{model.name}: labels of the plan that are also words of the language {language!r}: {some(found)}. {fix}"]


def _within_bounds(estimates: Estimates) -> Estimates:
    """Cut intervals of differences of shares at -1 and 1: beyond there is no such difference."""
    frame = estimates.frame
    here = frame["stat"].isin(["gap", "adjusted_gap"]) & frame["estimate"].abs().le(1)
    for end in ("low", "high"):
        frame[end] = frame[end].where(~here, frame[end].clip(-1, 1))
    return Estimates(frame)


def turned_faces(job: Job) -> Faces:
    """Return the counterfactuals; those that were certified, where somebody judged."""
    made = Faces.read(job.path(SWEEP) / "faces.parquet")
    return made if job.plan.judged is None else certified(Ratings.read(job.path(CERTIFICATES)), made)


def _edited(
    job: Job, given: Ratings, ratings: Ratings, lines: dict[str, float], pairs: Pairs, level: float
) -> list[Estimates]:
    """Estimate how much oftener the same labels are given when pictures are edited, and whether look-alikes agree."""
    turned, contrast = turned_faces(job), job.plan.contrast
    edited = same_labels(_about(ratings, turned.images), lines, given)
    found = noted(job, "labels of edited pictures", lambda: turned_gaps(edited, None, turned, contrast, level=level))
    if len(pairs) < 2 or not found:
        return found

    def compared() -> Estimates:
        return agreement_of_legs(
            Ratings.together([given, edited]), None, job.faces(), contrast,
            pairs=pairs, turned_trials=None, turned=turned, covariates=covariates_of(job), level=level,
        )  # fmt: skip

    return found + noted(job, "comparison of look-alikes with edits, by label", compared)


def _about(ratings: Ratings, units: Iterable[str]) -> Ratings:
    frame = ratings.frame
    return Ratings(frame[frame["unit"].isin(set(units))])
