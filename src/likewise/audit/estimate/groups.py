"""Values of several groups and their intersections, as [groups] asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from likewise.analysis.groups.cells import OVERALL, Shown, cell_names
from likewise.analysis.groups.estimate import by_group
from likewise.analysis.labels import binarize
from likewise.analysis.verification.shown_rates import supported_rates
from likewise.audit.context import StageContext
from likewise.audit.plan.sections import GroupsPlan
from likewise.audit.raters.planned import classifies, label_thresholds, labels_images, make_rater, own_thresholds
from likewise.audit.raters.precomputed import precomputed_thresholds
from likewise.tables import Estimates, Images, Ratings, Trials


def group_estimates(context: StageContext) -> list[Estimates]:
    """Estimate every quantity in the groups of each column of [groups], and in their intersections."""
    asked, found = context.plan.groups, list[Estimates]()
    for columns in families(asked.by) if asked else []:
        reference = asked.reference if asked and len(columns) == len(asked.by) else ""
        below = asked.suppress_below if asked else 0
        for estimate in requests(context, GroupsPlan(by=tuple(columns), reference=reference, suppress_below=below)):
            found += context.attempt(f"estimates by {' x '.join(columns)}", estimate)
    return found


def requests(context: StageContext, asked: GroupsPlan) -> Iterator[Callable[[], Estimates]]:
    """Yield for each kind of rater what estimates its quantities in the groups."""
    common: dict[str, Any] = {"by": asked.by, "reference": asked.reference or OVERALL}
    common |= {"suppress_below": asked.suppress_below, "level": context.plan.estimate.level}
    for ratings, trials, options in _sources(context):
        yield partial(by_group, ratings, trials, context.images(), **common, **options)


def families(by: Sequence[str]) -> list[list[str]]:
    """Return the columns to group by: each on its own, then all together.

    Examples
    --------
    >>> families(["race", "sex"])
    [['race'], ['sex'], ['race', 'sex']]
    """
    single = [[name] for name in by]
    return [*single, list(by)] if len(by) > 1 else single


def check_groups_plan(asked: GroupsPlan, images: Images) -> None:
    """Raise an error if [groups] leaves fewer than two groups, or its reference is none of them."""
    shown = Shown.of(cell_names(images, asked.by), images.identities, asked.suppress_below)
    shown.place(asked.reference or OVERALL)


def _sources(context: StageContext) -> Iterator[tuple[Ratings, Trials | None, dict[str, Any]]]:
    """Yield the ratings of recognizers, of classifiers and of people, with what by_group needs beside them."""
    plan, trials = context.plan, context.trials()
    if plan.recognizes:
        yield _about(context.ratings(), trials.keys), trials, _operating_points(context, trials)
    if classifies(plan):
        models = [make_rater(context.folder, each) for each in plan.rater if labels_images(plan, each)]
        thresholds = label_thresholds(models)
        thresholds |= precomputed_thresholds(plan, recognizes=False)
        rated = _about(context.ratings(), context.images().keys)
        given, _ = binarize(rated, thresholds, labels=plan.estimate.labels)
        if len(given):
            yield given, None, {}
    if plan.collect:
        genuine = trials.genuine()
        responses = _about(context.responses(), genuine.keys)
        if len(responses):
            yield responses, genuine, {"panel": "people"}


def _operating_points(context: StageContext, trials: Trials) -> dict[str, Any]:
    """Return the highest false match rate that the impostor trials support, and the vendors' thresholds."""
    rates, _ = supported_rates(len(trials) - len(trials.genuine()))
    shipped = own_thresholds(_recognizers(context))
    return {"rates": rates[:1], "thresholds": shipped | precomputed_thresholds(context.plan, recognizes=True)}


def _recognizers(context: StageContext) -> list[Any]:
    return [make_rater(context.folder, each) for each in context.plan.recognizers]


def _about(ratings: Ratings, units: Sequence[str]) -> Ratings:
    frame = ratings.frame
    return Ratings(frame[frame["unit"].isin(set(units))])
