"""The stages rate and ask: models under audit and people answer what the design asks them."""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.cli.answered import answered
from likewise.cli.asking import Looked, bills, rated_album, rater_options, services_of, sweep_album
from likewise.cli.making import ANSWERS, RATINGS, SWEEP, TRIALS, TURNED, Job
from likewise.cli.plan import Rater
from likewise.engine import Engine, Result
from likewise.errors import ImageError, TableError
from likewise.images import Album
from likewise.make.rate import (
    Embedding,
    Scoring,
    columns,
    rate_images,
    rate_trials,
    said_foreign,
    said_nothing,
    side_by_side,
)
from likewise.plugins import Classifier, Pictures, create
from likewise.services.reading import Reading, in_rows
from likewise.services.service import Service
from likewise.store import Folder
from likewise.tables import Pairs, Ratings


def rating(job: Job) -> None:
    """Have every rater of the plan look at what it is asked about."""
    services = services_of(job.folder, job.plan, job.purse)
    job.purse.settle(bills(job.folder, job.plan, services, _labelled(job) if services else None))
    parts = [
        _rate_trials(job, rater) if rater.slot == "recogniser" else _rate_labels(job, rater, services.get(number))
        for number, rater in enumerate(job.plan.rater)
    ]
    if any(entry.recognises for entry in job.plan.answered):
        _asked(job)
    ratings = Ratings.together([*parts, *answered(job, job.path(TRIALS))])
    job.notes += _several_languages(job)
    job.summary = {"ratings": len(ratings), "no answer": int(ratings.frame["value"].isna().sum())}
    job.summary["raters"] = list(job.raters)
    ratings.write(job.path(RATINGS))


def _several_languages(job: Job) -> list[str]:
    """Say when labels are in several languages: a word that two of them share is still two labels."""
    spoken = {rater["name"]: rater["language"] for rater in job.raters if rater["language"]}
    if len({language.lower() for language in spoken.values()}) < 2:
        return []
    who = ", ".join(f"{name} ({language})" for name, language in sorted(spoken.items()))
    return [f"Labels are in several languages: {who}. Each is compared with labels of the same rater only."]


def _rate_trials(job: Job, rater: Rater) -> Ratings:
    asked = _asked(job)
    recogniser = job.audited("recogniser", create("recogniser", rater.name, rater.options))
    work = Embedding(rater.name, rater.options, job.album(job.faces()))
    parts = [result["e"] for result in job.chunks(recogniser.name, work, asked.images)]
    answers = rate_trials(asked, np.concatenate(parts), asked.images, recogniser)
    turned = _turned(job)
    if turned is None:
        return answers
    asked, album = turned
    work = Embedding(rater.name, rater.options, album)
    parts = [result["e"] for result in job.chunks(f"{recogniser.name}, edited", work, asked.images)]
    return Ratings.together([answers, rate_trials(asked, np.concatenate(parts), asked.images, recogniser)])


def _turned(job: Job) -> tuple[Pairs, Album] | None:
    """Return the trials of edited pictures, where the plan has a sweep and somebody has two pictures in it."""
    path = job.path(SWEEP) / TURNED
    if job.plan.counterfactual is None or not path.is_file():
        return None
    asked = Pairs.read(path)
    return (asked, sweep_album(job.folder)[1]) if len(asked) else None


def _asked(job: Job) -> Pairs:
    asked = Pairs.read(job.path(TRIALS))
    if len(asked.genuine()) == 0:
        fix = "Check the identity column, or leave recognisers and people out of the plan."
        raise TableError("raters are asked about two images of a person", got="nobody with two images", fix=fix)
    return asked


def _labelled(job: Job) -> Looked:
    """Return what classifiers look at first: the counterfactuals where the plan makes them, else the images."""
    if job.plan.counterfactual is not None:
        return rated_album(job.folder)
    faces = job.faces()
    return faces.images, job.album(faces)


def _rate_labels(job: Job, rater: Rater, service: Service | None) -> Ratings:
    images, album = _labelled(job)
    if service is not None:
        return _rate_by_service(job, service, images, album)
    classifier = job.audited("classifier", create("classifier", rater.name, rater_options(job.folder, rater)))
    answers = _scored(job, rater, classifier, images, album)
    if job.plan.counterfactual is None:
        return answers
    faces = job.faces()  # also the images as they are: the same labels, as they come and between look-alikes
    return Ratings.together([answers, _scored(job, rater, classifier, faces.images, job.album(faces), "as they are")])


def _scored(
    job: Job, rater: Rater, classifier: Classifier, images: list[str], album: Album, which: str = ""
) -> Ratings:
    work, name = Scoring(rater.name, rater_options(job.folder, rater), album), classifier.name
    found = list(job.chunks(f"{name}, {which}" if which else name, work, images))
    labels, scores = side_by_side(found, name)
    job.notes += said_nothing(name, scores, classifier.threshold) + said_foreign(name, labels, None)
    return rate_images(images, labels, scores, classifier)


def _rate_by_service(job: Job, service: Service, images: list[str], album: Album) -> Ratings:
    """Ask a service from here, whatever the engine: its cassette is what a stopped run goes on from."""
    here = Engine(chunk=job.plan.engine.chunk, retries=0)
    heard: list[Reading | None] = []

    def ask(keys: list[str]) -> Result:
        for _, pictures in album.stacks(keys):
            heard.extend(service.look(pictures))
        return {}

    with job.voice.task(service.name, len(images)) as progress:
        for _ in here.map(ask, images, progress=progress):
            pass
    job.notes += service.remarks()
    labels, scores = side_by_side([columns(in_rows(heard), len(images))], service.name)
    job.notes += said_nothing(service.name, scores, service.threshold)
    job.notes += said_foreign(service.name, labels, service.language)
    return rate_images(images, labels, scores, job.audited("classifier", service))


def asking(job: Job) -> None:
    """Collect what people answered about the trials, or about single images."""
    given = job.plan.ask
    assert given is not None  # the stage is only planned with the section
    options = {key: _resolved(job.folder, key, value) for key, value in given.options.items()}
    crowd = job.used(create("crowd", given.crowd, options))
    asked = Pairs.read(job.path(TRIALS)).genuine()
    faces, album = job.faces(), job.album(job.faces()) if job.plan.faces.images else None
    with job.voice.task("ask", 2 * len(asked)) as progress:

        def look(images: list[str]) -> Pictures:
            progress.advance(len(images))
            if album is None:
                raise ImageError(f"the crowd {given.crowd!r} looks at pictures", got="no images in [faces]")
            return album(images)

        answers = crowd.answers(asked, look, job.plan.seed)
    answers.check_units([*asked.frame["pair"], *faces.images])
    if not len(answers):
        raise TableError("people answered something", got="no answers", fix="Check the identity column, or the file.")
    job.summary = {"answers": len(answers), "people": int(answers.frame["rater"].nunique())}
    answers.write(job.path(ANSWERS))


def _resolved(folder: Folder, key: str, value: Any) -> Any:
    return str(folder.root / value) if key == "path" else value
