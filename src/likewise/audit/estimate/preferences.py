"""Estimates of pair questions: preferences in matched pairs and in valid edits."""

from __future__ import annotations

from functools import partial

import pandas as pd

from likewise.analysis.preferences import preferences
from likewise.audit.context import StageContext
from likewise.audit.raters.pair_questions import pair_artifacts, pairs_of
from likewise.audit.raters.planned import make_rater
from likewise.services.vlm.chat import VisionLanguageModel
from likewise.services.vlm.questions import MATCHED, Question
from likewise.tables import Estimates, Ratings


def preference_estimates(context: StageContext) -> list[Estimates]:
    """Estimate how often the focal image is chosen; pairs of edits that are not valid are excluded and counted."""
    found: list[Estimates] = []
    for rater in context.plan.classifiers if pair_artifacts(context.plan) else ():
        model = make_rater(context.folder, rater)
        for question in model.pair_questions if isinstance(model, VisionLanguageModel) else ():
            found += _estimated(context, model.name, question)
    return found


def _estimated(context: StageContext, rater: str, question: Question) -> list[Estimates]:
    pairs = _valid(context, pairs_of(context, question), question.name)
    frame = context.ratings().frame
    own = frame["question"].isin([question.name, question.refused, question.shown_first]) & frame["rater"].eq(rater)
    group, level = context.plan.contrast.label, context.plan.estimate.level
    estimate = partial(preferences, Ratings(frame[own]), pairs, group=group, level=level)
    return context.attempt(f"preference {question.name!r}", estimate)


def _valid(context: StageContext, pairs: pd.DataFrame, name: str) -> pd.DataFrame:
    if context.plan.counterfactual is None:
        return pairs
    valid = context.valid_counterfactuals().frame
    parents = set(valid["parent"])
    edited = context.counterfactuals()[0].frame.set_index("image")["parent"]
    arms = context.placebo()
    if arms is not None:
        edited = pd.concat([edited, arms.frame.set_index("image")["parent"]])
    kept = pairs["sample"].eq(MATCHED) | pairs["first"].map(edited).isin(parents)
    if not kept.all():
        context.notes.append(f"{name}: {int((~kept).sum())} of {len(pairs)} pairs have edits that are not valid.")
    return pairs[kept]
