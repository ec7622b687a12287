"""fidelity: is the reconstruction still the same face?

A projection that is worse for one group is a confounder of its own, and one that turns out another person tells nothing
about the first. So every image is drawn again from its latent and judged beside the original: by a perceptual distance,
by a recogniser (is it still the same person?) and by a classifier (does it still give the same answer, for instance
about perceived gender?). What they say are Ratings, the unit is the image.

The *gate* leaves out images whose reconstruction is another person, or another group, before anything is matched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.engine import Result
from likewise.errors import SpecError
from likewise.images import Album
from likewise.plugins import Classifier, Generator, Perceptual, Pictures, Recogniser, create, to_pictures, to_signals
from likewise.tables import Ratings, Vectors

DISTANCE, AGREES = "distance to the reconstruction", "same answer about the reconstruction"
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class FidelitySpec:
    """Who judges the reconstructions, and which of them may not go on to the matching."""

    recogniser: str = ""
    """The slot's occupant that says whether it is still the same person; better one that is not under audit."""
    recogniser_options: dict[str, Any] = field(default_factory=dict)
    classifier: str = ""
    """The slot's occupant that should give the same answer about both."""
    classifier_options: dict[str, Any] = field(default_factory=dict)
    limit: float | None = None
    """The recogniser's largest distance that passes the gate; None is its own threshold."""
    gate: bool = True
    """Whether images that are not drawn faithfully are left out of the matching."""

    def __post_init__(self) -> None:
        if not (self.recogniser or self.classifier):
            raise SpecError("fidelity is judged by a recogniser, a classifier or both", got="neither")
        if self.limit is not None and not (self.recogniser and self.gate and self.limit > 0):
            raise SpecError("limit is a distance above 0, for a recogniser at the gate", got=str(self.limit))


@dataclass(frozen=True)
class Judgement:
    """The work of one chunk: draw again, and have everybody look at both."""

    spec: FidelitySpec
    generator: str
    generator_options: Mapping[str, Any]
    perceptual: str
    album: Album
    vectors: Vectors

    def __call__(self, images: list[str]) -> Result:
        """Return the distances and agreements of these images, one column a question."""
        generator: Generator = create("generator", self.generator, self.generator_options)
        drawn = generator.synthesise(self.vectors.take(images))
        originals = self.album(images, size=generator.resolution)
        perceptual: Perceptual = create("perceptual", self.perceptual)
        seen: dict[tuple[str, str], Floats] = {
            (perceptual.name, DISTANCE): np.asarray(perceptual.distance(to_signals(originals), drawn), np.float64)
        }
        again = to_pictures(drawn)
        if self.spec.recogniser:
            recogniser: Recogniser = create("recogniser", self.spec.recogniser, self.spec.recogniser_options)
            seen[recogniser.name, DISTANCE] = _distances(recogniser, originals, again)
        if self.spec.classifier:
            classifier: Classifier = create("classifier", self.spec.classifier, self.spec.classifier_options)
            seen |= {
                (classifier.name, f"{AGREES}: {label}"): same for label, same in _agree(classifier, originals, again)
            }
        return {
            "rater": np.array([rater for rater, _ in seen], dtype=str),
            "question": np.array([question for _, question in seen], dtype=str),
            "value": np.stack(list(seen.values()), axis=1),
        }


def _distances(recogniser: Recogniser, originals: Pictures, again: Pictures) -> Floats:
    """Return the distance of each original to its reconstruction; no face found in one of them is no answer."""
    a, b = recogniser.embed(originals), recogniser.embed(again)
    found = np.isfinite(a).all(axis=1) & np.isfinite(b).all(axis=1)
    distance = np.full(len(a), np.nan)
    if found.any():
        distance[found] = recogniser.distance(a[found], b[found])
    return distance


def _agree(classifier: Classifier, originals: Pictures, again: Pictures) -> list[tuple[str, Floats]]:
    """Say of each label whether it is present in both or in neither."""
    before, after = classifier.score(originals), classifier.score(again)
    return [
        (label, ((before[label] >= classifier.threshold) == (after[label] >= classifier.threshold)).astype(np.float64))
        for label in before
        if label in after
    ]


def judged(images: list[str], results: list[Result]) -> Ratings:
    """Put the chunks' answers together."""
    first = results[0]
    wide = np.concatenate([result["value"] for result in results])
    parts = [
        pd.DataFrame({"unit": images, "rater": rater, "question": question, "value": wide[:, column]})
        for column, (rater, question) in enumerate(zip(first["rater"], first["question"], strict=True))
    ]
    return Ratings(pd.concat(parts, ignore_index=True))


def passed(ratings: Ratings, *, recogniser: str = "", limit: float = np.inf, classifier: str = "") -> list[str]:
    """Return the images that pass the gate: near enough to their reconstruction, and answered about alike.

    A reconstruction in which no face is found does not pass: it cannot be shown to be the same person.
    """
    frame = ratings.frame
    person = frame[(frame["rater"] == recogniser) & (frame["question"] == DISTANCE)]
    far = set(person["unit"][~(person["value"] <= limit)])
    label = frame[(frame["rater"] == classifier) & frame["question"].str.startswith(AGREES)]
    other = set(label["unit"][label["value"] == 0])
    return [image for image in frame["unit"].drop_duplicates() if image not in far | other]
