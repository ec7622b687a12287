"""Estimates from valid counterfactual edits: slopes of labels, and the change of a recognizer's answers."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from likewise.analysis.slopes.estimate import slopes
from likewise.analysis.slopes.placebo import rate_shifts
from likewise.analysis.slopes.tests import excess_over_placebo, slope_tests
from likewise.analysis.triangulation import compare_approaches, edited_gaps
from likewise.audit.context import StageContext
from likewise.audit.raters.planned import label_thresholds, make_rater
from likewise.counterfactuals.placebo import RANDOM
from likewise.tables import Estimates, Images, Matches, Ratings, Trials
from likewise.tables.estimates import FEW_CLUSTERS


def too_few(made: Images) -> bool:
    """Whether so few people have valid edits that nothing is estimated from them.

    "No label changes" because hardly any edit is valid would be the worst result of all.
    """
    return bool(made.frame["identity"].nunique() < FEW_CLUSTERS)


def _few_note(made: Images, where: str = "") -> str:
    people = made.frame["identity"].nunique()
    return (
        f"No counterfactual finding: {people} identities have valid edits{where}, too few for a conclusion "
        f"(at least {FEW_CLUSTERS})."
    )


def edited_trial_gaps(context: StageContext, genuine: Trials, pairs: Matches) -> list[Estimates]:
    """Estimate the effect of editing both images of a trial on recognizers, and compare it with matched pairs."""
    trials = context.edited_trials()
    if trials is None:
        return []
    edited = context.valid_counterfactuals()
    every, kept = trials.frame, set(edited.keys)
    trials = Trials(every[every["a"].isin(kept) & every["b"].isin(kept)])
    if too_few(shown := edited.subset(trials.frame["a"].unique())):
        context.notes.append(_few_note(shown, " in both images of a trial"))
        return []
    ratings, contrast, level = context.ratings(), context.plan.contrast, context.plan.estimate.level
    change = partial(edited_gaps, ratings, trials, edited, contrast, level=level)
    found = context.attempt("change in edited images", change)
    if len(pairs) < 2 or not found:
        return found
    compared = partial(
        compare_approaches, ratings, genuine, context.images(), contrast,
        pairs=pairs, edited_trials=trials, edited=edited, covariates=context.covariates(), level=level,
    )  # fmt: skip
    return found + context.attempt("comparison of matched pairs with edits", compared)


def label_slopes(context: StageContext) -> list[Estimates]:
    """Estimate every label's slope; the false discovery rate is over all labels of all classifiers."""
    models = [make_rater(context.folder, each) for each in context.plan.classifiers]
    thresholds = label_thresholds(models)
    frame = context.ratings().frame
    frame = frame[~frame["unit"].isin(context.images().keys)]
    own = _labels_present(context, frame[frame["rater"].isin(thresholds)], thresholds)
    made = context.valid_counterfactuals()
    if context.plan.validated is None:
        context.notes.append(
            "No counterfactual finding: the plan does not validate edits, so it is not known whether only the "
            "attribute changed. Remove enabled = false from [validity]."
        )
        return []
    if too_few(made):
        context.notes.append(_few_note(made))
        return []
    about: dict[str, Any] = {"threshold": thresholds, "level": context.plan.estimate.level}
    real = _of(own, made)
    found = [
        part for each in (slopes, slope_tests) for part in context.attempt("slopes", partial(each, real, made, **about))
    ]
    return found + (_placebos(context, own, made, about) if found else [])


def _labels_present(context: StageContext, frame: pd.DataFrame, thresholds: dict[str, float]) -> pd.DataFrame:
    """Drop labels that no image of the sweep has, and count them."""
    limit = frame["rater"].map(thresholds).astype("float64")  # also where no rater has one
    there = (frame["value"] >= limit) | (limit.isna() & frame["value"].gt(0))
    ever = there.groupby([frame["rater"], frame["question"]]).transform("any")
    never = frame.loc[~ever, ["rater", "question"]].drop_duplicates().groupby("rater").size()
    context.notes += [
        f"{rater}: {count:,} labels that no image has are without a slope." for rater, count in never.items()
    ]
    return frame[ever]


def _of(frame: pd.DataFrame, images: Images) -> Ratings:
    return Ratings(frame[frame["unit"].isin(set(images.keys))])


def _placebos(context: StageContext, frame: pd.DataFrame, made: Images, about: dict[str, Any]) -> list[Estimates]:
    """Estimate the effect of the placebo arms on every label: a slope, or a shift."""
    arms = context.placebo()
    if arms is None:
        context.notes.append("The sweep has no placebo arms: the effect of editing alone is not known.")
        return []
    levels = set(made.frame["level"])  # strengths that are excluded for all images are excluded here, too
    kept = arms.frame[arms.frame["parent"].isin(set(made.frame["parent"])) & arms.frame["level"].isin(levels)]
    aside = Images(kept[kept["source"] == RANDOM])
    moved, real = _of(frame, aside), _of(frame, made)
    own = context.attempt(
        "slopes of the random direction", partial(slopes, moved, aside, sample="random direction", **about)
    )
    beyond = partial(excess_over_placebo, real, made, moved, aside, arm="random direction", **about)
    return [
        *(Estimates(part.frame[part.frame["stat"].isin(["slope", "rate_slope"])]) for part in own),
        *context.attempt("slopes in excess of the random direction", beyond),
        *context.attempt(
            "shifts of the placebo arms", lambda: rate_shifts(_of(frame, Images(kept)), Images(kept), **about)
        ),
    ]
