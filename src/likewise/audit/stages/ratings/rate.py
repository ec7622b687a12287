"""rate: the models under audit answer the design's questions."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import COUNTERFACTUALS, DESCRIBED, IMAGES, RATINGS, TRIALS
from likewise.audit.folder.cached_work import cached
from likewise.audit.folder.store import Folder
from likewise.audit.plan.model import Plan
from likewise.audit.plan.sections import RaterPlan
from likewise.audit.raters.pair_questions import ShownPairs, pair_artifacts, pairs_asked, preferences_of
from likewise.audit.raters.planned import (
    Shown,
    exact_costs,
    is_service,
    labels_images,
    make_rater,
    rater_files,
    rater_name,
    rater_options_plain,
    resolved,
    services_of,
)
from likewise.audit.raters.precomputed import precomputed_ratings
from likewise.audit.stage import ComponentUse, Stage, named_weights
from likewise.errors import TableError
from likewise.rating.rate import (
    Embedding,
    Scoring,
    columns,
    rate_images,
    rate_trials,
    said_foreign,
    said_nothing,
    side_by_side,
)
from likewise.runtime.executor import Executor, Progress, Result
from likewise.runtime.pixels import ImageFolder
from likewise.runtime.registry import Classifier
from likewise.services.base import Service
from likewise.services.labels import LabelResponse, scores_by_label
from likewise.tables import Ratings, Trials


class Rate(Stage):
    """Have every rater of the plan rate its units."""

    name, artifact, section, version, paid = "rate", RATINGS, "rater", 3, True
    help = "Run the models under audit."

    def enabled(self, plan: Plan) -> bool:
        """Whether the plan has raters."""
        return bool(plan.rater or plan.precomputed)

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return the images, the trials and the counterfactuals."""
        return (IMAGES if plan.describe is None else DESCRIBED, TRIALS, COUNTERFACTUALS, *pair_artifacts(plan))

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the raters."""
        return rater_options_plain(plan)

    def components(self, folder: Folder, plan: Plan) -> list[ComponentUse]:
        """Return the raters; services are listed by their keys and costs instead."""
        return [
            ComponentUse(rater.kind, rater_name(folder, rater), resolved(folder, rater.options))
            for rater in plan.rater
            if not is_service(rater.name)
        ]

    def weights(self, plan: Plan) -> tuple[str, ...]:
        """Return the raters' weights."""
        return named_weights(*(rater.options for rater in plan.rater))

    def files(self, plan: Plan) -> tuple[str, ...]:
        """Return the raters' files and the precomputed answers."""
        return rater_files(plan)

    def run(self, context: StageContext) -> None:
        """Write the ratings."""
        plan = context.plan
        services = services_of(context.folder, plan, context.budget)
        asked = {number: _asked(context, plan.rater[number], service) for number, service in services.items()}
        context.budget.approve([exact_costs(service, *asked[number]) for number, service in services.items()])
        parts = [
            _rate_trials(context, rater)
            if rater.kind == "recognizer"
            else _rate_by_service(context, services[number], *asked[number])
            if number in services
            else _rate_labels(context, rater)
            for number, rater in enumerate(plan.rater)
        ]
        if any(entry.recognizes for entry in plan.precomputed):
            _trials(context)
        ratings = Ratings.together([*parts, *precomputed_ratings(context)])
        context.notes += _languages(context)
        context.summary = {"ratings": len(ratings), "unanswered": int(ratings.frame["value"].isna().sum())}
        context.summary["raters"] = list(context.raters)
        ratings.write(context.path(RATINGS))


def _languages(context: StageContext) -> list[str]:
    """Note labels in several languages: the same word in two of them is still two labels."""
    spoken = {rater["name"]: rater["language"] for rater in context.raters if rater["language"]}
    if len({language.lower() for language in spoken.values()}) < 2:
        return []
    who = ", ".join(f"{name} ({language})" for name, language in sorted(spoken.items()))
    return [f"Labels are in several languages: {who}. Each is compared with labels of the same rater only."]


def _rate_trials(context: StageContext, rater: RaterPlan) -> Ratings:
    trials, images = _trials(context), context.images()
    recognizer = context.register_rater("recognizer", make_rater(context.folder, rater))
    name, options = rater_name(context.folder, rater), resolved(context.folder, rater.options)

    def rated(what: str, trials: Trials, album: ImageFolder) -> Ratings:
        work = cached(context, Embedding(name, options, album), album, [ComponentUse("recognizer", name, options)])
        parts = [result["e"] for result in context.map_chunks(what, work, trials.images)]
        return rate_trials(trials, np.concatenate(parts), trials.images, recognizer)

    found = rated(recognizer.name, trials, context.album(images))
    edited = context.edited_trials()
    if edited is None or not len(edited):
        return found
    album = context.counterfactuals()[1]
    return Ratings.together([found, rated(f"{recognizer.name}, edited", edited, album)])


def _trials(context: StageContext) -> Trials:
    trials = context.trials()
    if len(trials.genuine()) == 0:
        fix = "Check the identity column, or remove recognizers and people from the plan."
        raise TableError("No identity has two images, so there are no genuine trials", fix=fix)
    return trials


def _labeled(context: StageContext) -> Shown:
    """Return what classifiers rate first: the counterfactuals where the plan makes them, else the images."""
    if context.plan.counterfactual is not None:
        arms = context.placebo()
        keys = [*context.counterfactuals()[0].keys, *(arms.keys if arms else [])]
        return keys, context.edited_album(keys)
    images = context.images()
    return images.keys, context.album(images)


def _asked(context: StageContext, rater: RaterPlan, service: Service) -> tuple[list[Shown], list[ShownPairs]]:
    """Return what a service is asked about: single images, and pairs of them."""
    shown = [_labeled(context)] if service.calls_a_picture else []
    if shown and context.plan.counterfactual is not None and labels_images(context.plan, rater):
        shown.append((context.images().keys, context.album(context.images())))
    return shown, pairs_asked(context, service)


def _rate_labels(context: StageContext, rater: RaterPlan) -> Ratings:
    keys, album = _labeled(context)
    classifier = context.register_rater("classifier", make_rater(context.folder, rater))
    found = _scored(context, rater, classifier, keys, album)
    if context.plan.counterfactual is None or not labels_images(context.plan, rater):
        return found
    images = context.images()  # the unedited images too: the same labels, unmatched and matched
    unedited = _scored(context, rater, classifier, images.keys, context.album(images), "unedited")
    return Ratings.together([found, unedited])


def _scored(
    context: StageContext,
    rater: RaterPlan,
    classifier: Classifier,
    keys: list[str],
    album: ImageFolder,
    which: str = "",
) -> Ratings:
    work = Scoring(rater_name(context.folder, rater), resolved(context.folder, rater.options), album)
    name = classifier.name
    found = list(context.map_chunks(f"{name}, {which}" if which else name, work, keys))
    labels, scores = side_by_side(found, name)
    context.notes += said_nothing(name, scores, classifier.threshold) + said_foreign(name, labels, None)
    return rate_images(keys, labels, scores, classifier)


def _rate_by_service(context: StageContext, service: Service, shown: list[Shown], pairs: list[ShownPairs]) -> Ratings:
    """Call a service from this process, whatever the executor: a stopped run resumes from its recorded responses."""
    context.register_rater("classifier", service)
    keys = [key for part, _ in shown for key in part]
    responses: list[LabelResponse | None] = []
    with context.reporter.task(service.name, len(keys)) as progress:
        for part, album in shown:
            responses += _responses(context, service, part, album, progress)
    found = [preferences_of(context, service, each) for each in pairs]
    context.notes += service.remarks()
    if not keys:
        return Ratings.together(found)
    labels, scores = side_by_side([columns(scores_by_label(responses), len(keys))], service.name)
    context.notes += said_nothing(service.name, scores, service.threshold)
    context.notes += said_foreign(service.name, labels, service.language)
    return Ratings.together([rate_images(keys, labels, scores, service), *found])


def _responses(
    context: StageContext, service: Service, keys: list[str], album: ImageFolder, progress: Progress
) -> list[LabelResponse | None]:
    here, found = Executor(chunk=context.plan.executor.chunk, retries=0), list[LabelResponse | None]()

    def call(chunk: list[str]) -> Result:
        for _, pictures in album.stacks(chunk):
            found.extend(service.responses(pictures))
        return {}

    for _ in here.map(call, keys, progress=progress):
        pass
    return found
