"""How the stage ``analyse`` puts its numbers together: gaps, hidden bias, error rates, slopes, people and pictures."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from likewise.analyse.gaps import gaps
from likewise.analyse.legs import agreement_of_legs, on_one_scale, turned_gaps
from likewise.analyse.missed import adjusted_misses
from likewise.analyse.placebo import rate_shifts
from likewise.analyse.slope_tests import beyond_placebo, slope_tests
from likewise.analyse.slopes import slopes
from likewise.analyse.verification import FEW_FALSE_MATCHES, RATES, det, verification
from likewise.cli.answered import lines_of
from likewise.cli.asking import classifies, placebo_of, rater_options, recognises, sweeps
from likewise.cli.gap_rows import gap_rows
from likewise.cli.label_rows import label_gaps, turned_faces
from likewise.cli.making import ANSWERS, ESTIMATES, PAIRS, RATINGS, SWEEP, TRIALS, TURNED, Job, covariates_of
from likewise.cli.noted import noted
from likewise.cli.people import people
from likewise.cli.pictures import pictures
from likewise.make.arms import RANDOM
from likewise.plugins import create
from likewise.tables import Estimates, Faces, Pairs, Ratings


def analysing(job: Job) -> None:
    """Estimate everything that the plan's raters can be asked about."""
    asked, pairs = Pairs.read(job.path(TRIALS)), Pairs.read(job.path(PAIRS))
    if len(pairs) < 2:
        job.notes.append("Fewer than two pairs were found: nothing can be said about look-alikes.")
    genuine = asked.genuine()
    parts: list[Estimates] = []
    if recognises(job.plan):
        distances = _about(Ratings.read(job.path(RATINGS)), asked)
        parts += gap_rows(job, _about(distances, genuine), genuine, pairs, None)
        parts += _legs(job, genuine, pairs)
        parts += _errors(job, distances, asked, pairs)
    if sweeps(job.plan):
        parts += _slopes(job)
    if classifies(job.plan):
        parts += label_gaps(job, pairs)
    if job.plan.ask:
        answers = Ratings.read(job.path(ANSWERS))
        parts += [*_people_gaps(job, _about(answers, genuine), genuine, pairs), *people(job, answers)]
    parts += pictures(job)
    if job.plan.analyse.truth:
        parts.append(Estimates.read(job.folder.root / job.plan.analyse.truth))
    found = Estimates.together([*parts, *_scaled(job, Estimates.together(parts), asked)])
    job.summary = {"rows": len(found)}
    found.write(job.path(ESTIMATES))


def _scaled(job: Job, found: Estimates, asked: Pairs) -> list[Estimates]:
    """Put the gaps of all raters on one scale."""
    sources: list[tuple[str, str | None]] = [(RATINGS, None)] if recognises(job.plan) else []
    sources += [(ANSWERS, "people")] if job.plan.ask else []
    return [on_one_scale(found, Ratings.read(job.path(name)), asked.genuine(), panel=panel) for name, panel in sources]


def _about(ratings: Ratings, trials: Pairs) -> Ratings:
    frame = ratings.frame
    return Ratings(frame[frame["unit"].isin(trials.frame["pair"])])


def _people_gaps(job: Job, answers: Ratings, genuine: Pairs, pairs: Pairs) -> list[Estimates]:
    """Estimate the gap of people's answers about trials, and of how sure they were."""
    if not len(answers):
        return []
    found, frame = gap_rows(job, answers, genuine, pairs, "people"), answers.frame
    if "confidence" not in frame.columns or not frame["confidence"].notna().any():
        return found
    sure = Ratings(frame.assign(value=frame["confidence"], question=frame["question"] + ", confidence"))
    about, names = (sure, genuine, job.faces(), job.plan.contrast), covariates_of(job)
    matched, level = pairs if len(pairs) > 1 else None, job.plan.analyse.level
    return found + noted(
        job, "certainty", lambda: gaps(*about, pairs=matched, covariates=names, panel="people", level=level)
    )


def _legs(job: Job, genuine: Pairs, pairs: Pairs) -> list[Estimates]:
    """Estimate what turning both pictures of a trial does to recognisers, and whether look-alikes say the same."""
    if not (job.path(SWEEP) / TURNED).is_file() or job.plan.counterfactual is None:
        return []
    turned = turned_faces(job)
    every, kept = Pairs.read(job.path(SWEEP) / TURNED).frame, set(turned.images)
    asked = Pairs(every[every["a"].isin(kept) & every["b"].isin(kept)])
    ratings, contrast, level = Ratings.read(job.path(RATINGS)), job.plan.contrast, job.plan.analyse.level
    found = noted(job, "change in edited pictures", lambda: turned_gaps(ratings, asked, turned, contrast, level=level))
    if len(pairs) < 2 or not found:
        return found

    def compared() -> Estimates:
        return agreement_of_legs(
            ratings, genuine, job.faces(), contrast,
            pairs=pairs, turned_trials=asked, turned=turned, covariates=covariates_of(job), level=level,
        )  # fmt: skip

    return found + noted(job, "comparison of look-alikes with edits", compared)


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
    shipped = {model.name: float(model.threshold) for model in models} | lines_of(job.plan, recognises=True)
    about = (distances, asked, job.faces(), job.plan.contrast)
    level, matched = job.plan.analyse.level, pairs if len(pairs) > 1 else None

    def rates() -> Estimates:
        return verification(*about, pairs=matched, rates=carried, thresholds=shipped, level=level)

    found = noted(job, "error rates", rates)
    if found and matched and covariates_of(job):
        common: dict[str, Any] = {"pairs": matched, "covariates": covariates_of(job), "level": level}
        found += noted(job, "adjusted error rates", lambda: adjusted_misses(found[0], *about, **common))
    return found + noted(job, "DET curves", lambda: det(*about, level=level))


def _slopes(job: Job) -> list[Estimates]:
    """Estimate every label's slope; false discoveries are counted over all labels of all classifiers."""
    models = [
        create("classifier", each.name, rater_options(job.folder, each))
        for each in job.plan.rater
        if each.slot == "classifier"
    ]
    thresholds = {model.name: float(model.threshold) for model in models}
    frame = Ratings.read(job.path(RATINGS)).frame
    frame = frame[~frame["unit"].isin(job.faces().images)]
    own = _ever_there(job, frame[frame["rater"].isin(thresholds)], thresholds)
    made = turned_faces(job)
    if job.plan.judged is None:
        job.notes.append(
            "Nobody judged the edits, because the plan says so: whether the attribute moved, and nothing else, is not "
            "known. Leave judge = false out of [certificate]."
        )
    if made.frame["parent"].nunique() < 2:
        job.notes.append("No slopes: fewer than two faces have edits that may be used.")
        return []
    about: dict[str, Any] = {"threshold": thresholds, "level": job.plan.analyse.level}
    real = _of(own, made)
    found = [
        part for each in (slopes, slope_tests) for part in noted(job, "slopes", partial(each, real, made, **about))
    ]
    return found + (_placebos(job, own, made, about) if found else [])


def _ever_there(job: Job, frame: pd.DataFrame, thresholds: dict[str, float]) -> pd.DataFrame:
    """Leave out labels that no picture of the sweep ever carries, and count them."""
    there = frame["value"] >= frame["rater"].map(thresholds)
    ever = there.groupby([frame["rater"], frame["question"]]).transform("any")
    never = frame.loc[~ever, ["rater", "question"]].drop_duplicates().groupby("rater").size()
    job.notes += [
        f"{rater}: {count:,} labels that no picture ever carries have no slope." for rater, count in never.items()
    ]
    return frame[ever]


def _of(frame: pd.DataFrame, faces: Faces) -> Ratings:
    return Ratings(frame[frame["unit"].isin(set(faces.images))])


def _placebos(job: Job, frame: pd.DataFrame, made: Faces, about: dict[str, Any]) -> list[Estimates]:
    """Estimate what the placebo arms do to every label: a slope for the random direction, shifts for the others."""
    arms = placebo_of(job.folder)
    if arms is None:
        job.notes.append("The sweep has no placebo arms: what editing does without turning anything is not known.")
        return []
    levels = set(made.frame["level"])  # those that are too far for most are left out here, too
    kept = arms.frame[arms.frame["parent"].isin(set(made.frame["parent"])) & arms.frame["level"].isin(levels)]
    aside = Faces(kept[kept["source"] == RANDOM])
    moved, real = _of(frame, aside), _of(frame, made)
    own = noted(
        job, "slopes of the random direction", partial(slopes, moved, aside, sample="random direction", **about)
    )
    beyond = partial(beyond_placebo, real, made, moved, aside, arm="random direction", **about)
    return [
        *(Estimates(part.frame[part.frame["stat"].isin(["slope", "rate_slope"])]) for part in own),
        *noted(job, "slopes beyond the random direction", beyond),
        *noted(job, "shifts of the placebo arms", lambda: rate_shifts(_of(frame, Faces(kept)), Faces(kept), **about)),
    ]
