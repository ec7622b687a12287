"""Answers that a rater gave elsewhere, [[precomputed]]: their trials and their ratings."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from likewise.audit.context import StageContext
from likewise.audit.plan.design_sections import PrecomputedAnswers
from likewise.audit.plan.model import Plan
from likewise.data.precomputed_labels import read_labels
from likewise.data.precomputed_scores import rate_embeddings, rate_scores, read_scores, trials_of
from likewise.tables import Images, Ratings, Trials


def precomputed_trials(context: StageContext) -> Trials | None:
    """Return the trials of the score files; None where trials are chosen here."""
    scored = [_scores(context, entry) for entry in context.plan.precomputed if entry.scores]
    return trials_of(scored, context.images()) if scored else None


def precomputed_ratings(context: StageContext) -> list[Ratings]:
    """Read the ratings of every [[precomputed]], and note what its file lacks."""
    return [_ratings(context, entry) for entry in context.plan.precomputed]


def _scores(context: StageContext, entry: PrecomputedAnswers) -> pd.DataFrame:
    path = context.file(entry.scores)
    return read_entry(path, context.images(), entry, from_both_ends=not context.plan.matches_trials)


def read_entry(path: Path, images: Images, entry: PrecomputedAnswers, *, from_both_ends: bool = True) -> pd.DataFrame:
    """Read the scores of one [[precomputed]]."""
    return read_scores(
        path, images, columns=entry.columns, measure=entry.how, scale=entry.scale, where=entry.where,
        from_both_ends=from_both_ends,
    )  # fmt: skip


def _ratings(context: StageContext, entry: PrecomputedAnswers) -> Ratings:
    context.licenses[entry.rater] = f"answers in {Path(entry.path).name}; their license is not known"
    images, path = context.images(), context.file(entry.path)
    if entry.scores:
        return rate_scores(_scores(context, entry), entry.rater)
    if entry.embeddings:
        return rate_embeddings(path, context.trials(), images, entry.rater, measure=entry.how)
    found = read_labels(path, images, entry.rater, columns=entry.columns, scale=entry.scale)
    lacking = images.frame[~images.frame["image"].isin(found.frame["unit"])]
    if len(lacking):
        by = lacking[context.plan.contrast.column].value_counts().to_dict()
        context.notes.append(f"{entry.rater}: {len(lacking)} images of the table have no answer in {path.name}: {by}")
    return found


def precomputed_thresholds(plan: Plan, *, recognizes: bool) -> dict[str, float]:
    """Return the thresholds of precomputed raters, by rater."""
    found = {entry.rater: entry.rating_threshold for entry in plan.precomputed if entry.recognizes == recognizes}
    return {rater: threshold for rater, threshold in found.items() if threshold is not None}
