"""certify: the judges of a certificate look at every counterfactual beside its original."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.engine import Result
from likewise.errors import SpecError, nearest, some
from likewise.images import Album
from likewise.make.certificate import DRIFT, PERSON, RATER, TARGET, CertificateSpec, judge_of
from likewise.make.counterfactual import key_of
from likewise.plugins import Array, Classifier, Pictures, Recogniser, create
from likewise.tables import Ratings

Floats = npt.NDArray[np.float64]
_FINDER = "dlib"  # who finds the faces for the classifiers of faces


class Judges:
    """The recogniser and the classifiers of a certificate, each made once."""

    def __init__(self, spec: CertificateSpec) -> None:
        self.spec = spec
        self.recogniser: Recogniser | None = (
            create("recogniser", spec.recogniser, spec.options.get(spec.recogniser, {})) if spec.recogniser else None
        )
        names = dict.fromkeys(judge_of(judge)[0] for judge in spec.judges)
        self.classifiers: dict[str, Classifier] = {
            name: create("classifier", name, spec.options.get(name, {})) for name in names
        }
        unknown = set(spec.options) - {spec.recogniser, *names}
        if unknown:
            raise SpecError("options belong to a judge of the certificate", got=some(sorted(unknown)))

    @property
    def person(self) -> float | None:
        """From which distance on it is another person."""
        if self.recogniser is None:
            return None
        return self.spec.person if self.spec.person is not None else float(self.recogniser.threshold)

    def scores(self, pictures: Pictures) -> dict[str, Array]:
        """Return what each judge says of pictures, by ``classifier: label``; faces are found once for all of them."""
        said: dict[str, Array] = {}
        seen: dict[str, Any] = {}  # faces, by who found them
        for name, classifier in self.classifiers.items():
            given = self._given(name, classifier, pictures, seen)
            for judge in self.spec.judges:
                if judge_of(judge)[0] == name:
                    said[judge] = _named(given, *judge_of(judge))
        return said

    def _given(self, name: str, classifier: Classifier, pictures: Pictures, seen: dict[str, Any]) -> dict[str, Array]:
        """Ask one classifier; networks that look at a found face share the finding."""
        labelled = getattr(classifier, "labelled", None)
        if labelled is None:
            return classifier.score(pictures)
        from likewise.models.seen import look_for_faces  # noqa: PLC0415  # networks load late

        finder = str(self.spec.options.get(name, {}).get("finder", _FINDER))
        if finder not in seen:
            seen[finder] = look_for_faces(pictures, finder)
        answer: dict[str, Array] = labelled(seen[finder])
        return answer


def _named(given: dict[str, Array], name: str, wanted: str) -> Array:
    """Return the score of a label, or of several together: ``40-49 + 50-59`` says how likely either is."""
    labels = [wanted] if wanted in given else [label.strip() for label in wanted.split(" + ")]
    for label in labels:
        if label not in given:
            fix = nearest(label, given) or f"It gives {some(list(given), 8)}."
            raise SpecError(f"the classifier {name!r} gives a label {label!r}", got="none of that name", fix=fix)
    return np.asarray(np.sum([given[label] for label in labels], axis=0), dtype=np.float32)


@dataclass(frozen=True)
class Certifying:
    """The work of one chunk of originals: what the judges say of every level."""

    spec: CertificateSpec
    levels: tuple[float, ...]
    originals: Album
    made: Album

    def __call__(self, images: list[str]) -> Result:
        """Return by question ``[n, K]``; a face that is not found is NaN."""
        rows = [self._one(image) for image in images]
        return {question: np.stack([row[question] for row in rows]) for question in rows[0]}

    def _one(self, image: str) -> dict[str, Floats]:
        """Judge one face: the original and all its levels are looked at together."""
        keys = [key_of(image, level) for level in self.levels]
        pictures = np.concatenate([self._original(image), self.made(keys)])
        said = self._judges.scores(pictures)
        middle = 1 + int(np.argmin(np.abs(self.levels)))
        held = {judge: said[judge].astype(float) for judge in self.spec.held or ()}
        answers = {DRIFT + judge: score[1:] - score[middle] for judge, score in held.items()}
        if self.spec.target:
            answers[TARGET] = said[self.spec.target][1:].astype(float)
        if self._judges.recogniser is not None:
            answers[PERSON] = _distances(self._judges.recogniser, pictures)
        return answers

    def _original(self, image: str) -> Pictures:
        return self.originals([image])

    @cached_property
    def _judges(self) -> Judges:
        return Judges(self.spec)


def _distances(recogniser: Recogniser, pictures: Pictures) -> Floats:
    embedded = np.asarray(recogniser.embed(pictures), dtype=np.float32)
    first = np.repeat(embedded[:1], len(embedded) - 1, axis=0)
    there = np.isfinite(embedded[1:]).all(axis=1) & np.isfinite(first).all(axis=1)
    far = np.full(len(first), np.nan)
    if there.any():
        far[there] = recogniser.distance(first[there], embedded[1:][there])
    return far


def ratings_of(images: list[str], levels: tuple[float, ...], answers: dict[str, Floats]) -> Ratings:
    """Lay out answers ``[n, K]`` by question as ratings of the counterfactuals."""
    units = [key_of(image, level) for image in images for level in levels]
    parts = [
        pd.DataFrame({"unit": units, "rater": RATER, "question": question, "value": values.ravel()})
        for question, values in answers.items()
    ]
    return Ratings(pd.concat(parts, ignore_index=True))
