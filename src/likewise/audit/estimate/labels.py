"""Gaps of the labels of classifiers: unmatched, matched and in edited images."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from likewise.analysis.labels import FEW_LABELS, binarize, clip_share_gaps, label_of, same_labels, simultaneous_level
from likewise.analysis.triangulation import compare_approaches, edited_gaps
from likewise.audit.context import StageContext
from likewise.audit.estimate.edits import too_few
from likewise.audit.estimate.gaps import gap_estimates
from likewise.audit.raters.planned import label_thresholds, labels_images, make_rater
from likewise.audit.raters.precomputed import precomputed_thresholds
from likewise.errors import some
from likewise.tables import Estimates, Matches, Ratings


def label_gap_estimates(context: StageContext, pairs: Matches) -> list[Estimates]:
    """Estimate the difference of each label's share between the groups, with simultaneous intervals."""
    plan, ratings = context.plan, context.ratings()
    models = [make_rater(context.folder, each) for each in plan.rater if labels_images(plan, each)]
    thresholds = label_thresholds(models)
    thresholds |= precomputed_thresholds(plan, recognizes=False)
    given, remarks = binarize(_about(ratings, context.images().keys), thresholds, labels=plan.estimate.labels)
    context.notes += remarks + [note for model in models for note in _by_letters(model, plan.estimate.labels, given)]
    many = len(given.frame[["rater", "question"]].drop_duplicates())
    if not many:
        return []
    # One sentence counts the labels that differ under every design, so the intervals hold over all of them: unmatched,
    # matched (the adjusted gap moves with it) and edited.
    designs = 1 + (len(pairs) > 1) + plan.sweeps
    level = simultaneous_level(plan.estimate.level, many * designs)
    found = gap_estimates(context, given, None, pairs, level=level, closely=many <= FEW_LABELS)
    found += _edited(context, given, ratings, thresholds, pairs, level) if plan.sweeps else []
    return [clip_share_gaps(part) for part in found]


def _by_letters(model: Any, wanted: Sequence[str], given: Ratings) -> list[str]:
    """Warn of labels in the plan that a rater in another language happens to share by spelling."""
    language = getattr(model, "language", "")
    if language.lower().partition("-")[0] in ("", "en"):
        return []
    mine = set(given.frame.loc[given.frame["rater"] == model.name, "question"].map(label_of))
    found = [label for label in wanted if label in mine - set(model.rename.values())]
    if not found:
        return []
    fix = "The same spelling may mean something else; rename gives them names of your own."
    return [f"{model.name}: labels of the plan that also exist in the language {language!r}: {some(found)}. {fix}"]


def _edited(
    context: StageContext, given: Ratings, ratings: Ratings, thresholds: dict[str, float], pairs: Matches, level: float
) -> list[Estimates]:
    """Estimate the change of the same labels in edited images, and whether matched pairs agree."""
    made, contrast = context.valid_counterfactuals(), context.plan.contrast
    rated = _about(ratings, made.keys)
    if not len(rated) or too_few(made):
        return []  # the slopes of the labels note it
    edited = same_labels(rated, thresholds, given)
    found = context.attempt("labels of edited images", lambda: edited_gaps(edited, None, made, contrast, level=level))
    if len(pairs) < 2 or not found:
        return found

    def compared() -> Estimates:
        return compare_approaches(
            Ratings.together([given, edited]), None, context.images(), contrast,
            pairs=pairs, edited_trials=None, edited=made, covariates=context.covariates(), level=level,
        )  # fmt: skip

    return found + context.attempt("comparison of matched pairs with edits, by label", compared)


def _about(ratings: Ratings, units: Iterable[str]) -> Ratings:
    frame = ratings.frame
    return Ratings(frame[frame["unit"].isin(set(units))])
