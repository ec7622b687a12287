"""Gaps of one kind of rating: unmatched and matched, under variants of the design, and their sensitivity."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from likewise.analysis.gaps.estimate import gaps
from likewise.analysis.gaps.known_effects import known_effects
from likewise.analysis.sensitivity.matched_gaps import sensitivity
from likewise.analysis.specification_curve import specification_curve
from likewise.audit.context import StageContext
from likewise.audit.matching import features_of
from likewise.design.balance.weighting import entropy_weights, overlap_weights
from likewise.errors import SpecError, TableError
from likewise.tables import Estimates, Matches, Ratings, Trials
from likewise.tables.io import read_frame


def gap_estimates(
    context: StageContext,
    ratings: Ratings,
    genuine: Trials | None,
    pairs: Matches,
    panel: str | None = None,
    *,
    level: float | None = None,
    closely: bool = True,
) -> list[Estimates]:
    """Estimate the gap of the mean rating, unmatched and matched.

    ``closely`` adds the variants of the design and the sensitivity to unmeasured confounding.
    """
    images, contrast, level = context.images(), context.plan.contrast, level or context.plan.estimate.level
    names = context.covariates()
    common: dict[str, Any] = {"covariates": names, "panel": panel, "level": level}
    beside = _beside_matching(context, genuine)
    matched = pairs if len(pairs) > 1 else None

    def estimate(answers: Ratings, pairs: Matches | None = matched) -> Estimates:
        return gaps(answers, genuine, images, contrast, pairs=pairs, **beside, **common)

    try:
        found = [estimate(ratings)]
    except TableError:
        ratings, found = _one_by_one(context, ratings, estimate, panel)
    found += _known(context, genuine, matched, beside.get("weights")) if panel is None else []
    if not closely or not found or matched is None:
        return found
    found += _curve(context, ratings, genuine, pairs, common)
    numeric = [name for name in names if _varies(images.attribute(name))]
    hidden = {**common, "covariates": numeric, "seed": context.plan.seed}
    return found + context.attempt(
        "sensitivity to unmeasured confounding",
        lambda: sensitivity(ratings, genuine, images, contrast, pairs=pairs, **hidden),
    )


def _known(
    context: StageContext, genuine: Trials | None, pairs: Matches | None, weights: dict[str, pd.Series] | None
) -> list[Estimates]:
    """Return the ground truth of every sample, where the plan names known effects by trial."""
    path = context.plan.estimate.effects
    if not path or genuine is None:
        return []
    effects, _ = read_frame(context.file(path), text=("a", "b", "quantity"))
    return [known_effects(effects, genuine, context.images(), context.plan.contrast, pairs=pairs, weights=weights)]


def _one_by_one(
    context: StageContext, ratings: Ratings, estimate: Callable[..., Estimates], panel: str | None
) -> tuple[Ratings, list[Estimates]]:
    """Estimate each quantity by itself, and note those that cannot be; return the ratings of the others, too.

    One system without answers must not take the others' estimates with it. A quantity without two matched identities
    of each group has an unmatched estimate.
    """
    kept, found = [], list[Estimates]()
    for key, part in ratings.frame.groupby(["rater", "question"] if panel is None else ["question"], sort=True):
        own, name = Ratings(part), ": ".join(map(str, key))
        whole = context.attempt(f"matched gap of {name}", partial(estimate, own))
        found += whole or context.attempt(f"gap of {name}", partial(estimate, own, pairs=None))
        kept += [part] if whole else []
    return Ratings(pd.concat(kept) if kept else ratings.frame.head(0)), found


def _beside_matching(context: StageContext, genuine: Trials | None) -> dict[str, Any]:
    """Return what the design balances, and weights that balance it without matching, where there are such.

    Only where balance is a constraint of the plan: other designs do not hold these numbers equal.
    """
    plan = context.plan
    if plan.match.method != "cardinality" or (genuine is None) == plan.matches_trials:
        return {}
    features = features_of(context)
    weights: dict[str, pd.Series] = {}
    for name, make in (("overlap-weighted", overlap_weights), ("entropy-balanced", entropy_weights)):
        try:
            weights[name] = make(
                context.images(), plan.contrast, covariates=plan.match.balance, units=genuine, vectors=features
            )
        except SpecError as error:
            context.notes.append(f"No {name} estimate: {error}")
    return {"balanced": features, "weights": weights}


def _curve(
    context: StageContext, ratings: Ratings, genuine: Trials | None, pairs: Matches, common: dict[str, Any]
) -> list[Estimates]:
    """Estimate the gap under the plan's own design and every variant."""
    if not context.plan.variant or (genuine is None and context.plan.matches_trials):  # variants are of trials then
        return []
    designs = {"plan": pairs, **context.variants()}
    found, left_out = specification_curve(
        ratings, genuine, context.images(), context.plan.contrast, designs=designs, **common
    )
    context.notes += [f"The variant {line}" for line in left_out]
    return [found]


def _varies(values: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(values.dtype) and bool(values.min() < values.max())
