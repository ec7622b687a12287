"""How the stage ``analyse`` puts its numbers together: gaps, hidden bias, error rates, slopes, people and pictures."""

from __future__ import annotations

from typing import Any

import pandas as pd

from likewise.analyse.gaps import gaps
from likewise.analyse.sensitivity import sensitivity
from likewise.analyse.slope_tests import slope_tests
from likewise.analyse.slopes import slopes
from likewise.analyse.verification import FEW_FALSE_MATCHES, RATES, det, verification
from likewise.cli.asking import rater_options
from likewise.cli.making import ANSWERS, ESTIMATES, PAIRS, RATINGS, SWEEP, TRIALS, Job, covariates_of
from likewise.cli.noted import noted
from likewise.cli.people import people
from likewise.cli.pictures import pictures
from likewise.plugins import create
from likewise.tables import Estimates, Faces, Pairs, Ratings


def analysing(job: Job) -> None:
    """Estimate everything that the plan's raters can be asked about."""
    asked, pairs = Pairs.read(job.path(TRIALS)), Pairs.read(job.path(PAIRS))
    if len(pairs) < 2:
        job.notes.append("Fewer than two pairs were found: nothing can be said about look-alikes.")
    genuine = asked.genuine()
    parts: list[Estimates] = []
    if any(rater.slot == "recogniser" for rater in job.plan.rater):
        distances = _about(Ratings.read(job.path(RATINGS)), asked)
        parts += _gaps(job, _about(distances, genuine), genuine, pairs, None)
        parts += _errors(job, distances, asked, pairs)
    if any(rater.slot == "classifier" for rater in job.plan.rater):
        parts += _slopes(job)
    if job.plan.ask:
        answers = Ratings.read(job.path(ANSWERS))
        parts += [*_people_gaps(job, _about(answers, genuine), genuine, pairs), *people(job, answers)]
    parts += pictures(job)
    if job.plan.analyse.truth:
        parts.append(Estimates.read(job.folder.root / job.plan.analyse.truth))
    found = Estimates.together(parts)
    job.summary = {"rows": len(found)}
    found.write(job.path(ESTIMATES))


def _about(ratings: Ratings, trials: Pairs) -> Ratings:
    frame = ratings.frame
    return Ratings(frame[frame["unit"].isin(trials.frame["pair"])])


def _gaps(job: Job, ratings: Ratings, genuine: Pairs, pairs: Pairs, panel: str | None) -> list[Estimates]:
    """Estimate the gap of the mean answer; with look-alikes, what goes away and what hidden bias it withstands."""
    faces, contrast, level = job.faces(), job.plan.contrast, job.plan.analyse.level
    names = covariates_of(job)
    common: dict[str, Any] = {"covariates": names, "panel": panel, "level": level}
    if len(pairs) < 2:
        return [gaps(ratings, genuine, faces, contrast, **common)]
    found = [gaps(ratings, genuine, faces, contrast, pairs=pairs, **common)]
    numeric = [name for name in names if _varies(faces.attribute(name))]
    hidden = {**common, "covariates": numeric, "seed": job.plan.seed}
    return found + noted(
        job,
        "bounds on hidden differences",
        lambda: sensitivity(ratings, genuine, faces, contrast, pairs=pairs, **hidden),
    )


def _people_gaps(job: Job, answers: Ratings, genuine: Pairs, pairs: Pairs) -> list[Estimates]:
    """Estimate the gap of people's answers about trials, and of how sure they were."""
    if not len(answers):
        return []
    found, frame = _gaps(job, answers, genuine, pairs, "people"), answers.frame
    if "confidence" not in frame.columns or not frame["confidence"].notna().any():
        return found
    sure = Ratings(frame.assign(value=frame["confidence"], question=frame["question"] + ", confidence"))
    about, names = (sure, genuine, job.faces(), job.plan.contrast), covariates_of(job)
    matched, level = pairs if len(pairs) > 1 else None, job.plan.analyse.level
    return found + noted(
        job, "certainty", lambda: gaps(*about, pairs=matched, covariates=names, panel="people", level=level)
    )


def _varies(values: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(values.dtype) and bool(values.min() < values.max())


def _errors(job: Job, distances: Ratings, asked: Pairs, pairs: Pairs) -> list[Estimates]:
    """Estimate error rates at the false match rates that the impostor trials carry, and at shipped thresholds."""
    met = len(asked) - len(asked.genuine())
    if not met:
        return []
    carried = [rate for rate in RATES if rate * met >= FEW_FALSE_MATCHES]
    if left := [rate for rate in RATES if rate not in carried]:
        needed = f"{FEW_FALSE_MATCHES / max(left):,.0f}"
        job.notes.append(
            f"Error rates at a false match rate of {', '.join(f'{rate:g}' for rate in left)} are not shown: {met:,} "
            f"impostor trials do not carry them ({max(left):g} takes {needed}). Raise impostors in [trials]."
        )
    models = [create("recogniser", each.name, each.options) for each in job.plan.rater if each.slot == "recogniser"]
    shipped = {model.name: float(model.threshold) for model in models}
    about = (distances, asked, job.faces(), job.plan.contrast)
    level, matched = job.plan.analyse.level, pairs if len(pairs) > 1 else None

    def rates() -> Estimates:
        return verification(*about, pairs=matched, rates=carried, thresholds=shipped, level=level)

    return noted(job, "error rates", rates) + noted(job, "DET curves", lambda: det(*about, level=level))


def _slopes(job: Job) -> list[Estimates]:
    """Estimate every label's slope; false discoveries are counted over all labels of all classifiers."""
    models = [
        create("classifier", each.name, rater_options(job.folder, each))
        for each in job.plan.rater
        if each.slot == "classifier"
    ]
    thresholds = {model.name: float(model.threshold) for model in models}
    frame = Ratings.read(job.path(RATINGS)).frame
    own = Ratings(frame[frame["rater"].isin(thresholds)])
    made = Faces.read(job.path(SWEEP) / "faces.parquet")
    return [each(own, made, threshold=thresholds, level=job.plan.analyse.level) for each in (slopes, slope_tests)]
