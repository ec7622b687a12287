"""fidelity: is the reconstruction still the same face?

A projection that is worse for one group is a confounder of its own, and one that turns out another person says nothing
about the first. So every image is reconstructed from its latent and compared with the original: by a perceptual
distance, by a recognizer (is it still the same person?) and by a classifier (does it still give the same answer, for
instance about perceived gender?). What they say are Ratings, the unit is the image.

The *gate* leaves out images whose reconstruction is another person, or another group, before anything is matched.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from PIL import Image

from likewise.errors import ImageError, PluginError, SpecError, some
from likewise.runtime.executor import Result
from likewise.runtime.pixels import ImageFolder
from likewise.runtime.registry import (
    Classifier,
    Generator,
    Perceptual,
    Pictures,
    Recognizer,
    create,
    to_pictures,
    to_signals,
)
from likewise.tables import Ratings, Vectors

DISTANCE, AGREES = "distance to the reconstruction", "same answer about the reconstruction"
GATE, PASSES = "gate", "same person and same group"
Floats = npt.NDArray[np.float64]
DetectedFaces = dict[tuple[str, str], Floats]
_AT_ONCE = 4  # images drawn together: at 1024 px a whole chunk would not fit into memory


@dataclass(frozen=True, kw_only=True)
class FidelitySpec:
    """How reconstructions are measured, and which of them are excluded from matching."""

    recognizer: str = ""
    """The recognizer that compares original and reconstruction; it should not be under audit."""
    recognizer_options: dict[str, Any] = field(default_factory=dict)
    classifier: str = ""
    """The classifier whose labels should agree between both."""
    classifier_options: dict[str, Any] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    """The classifier's labels that count at the gate, e.g. those of the contrast; none named means all."""
    limit: float | None = None
    """The recognizer's largest distance that passes the gate; None is its own threshold."""
    size: int = 256
    """Pixels at which both are compared, unless the generator draws smaller."""
    gate: bool = True
    """Whether images that are not drawn faithfully are left out of the matching."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        if not (self.recognizer or self.classifier):
            raise SpecError("[fidelity] has neither a recognizer nor a classifier", fix="Set one of them, or both.")
        if self.limit is not None and not (self.recognizer and self.gate and self.limit > 0):
            raise SpecError(
                f"limit is {self.limit}", fix="Give a distance above 0, together with a recognizer and gate = true."
            )
        if self.labels and not (self.classifier and self.gate):
            raise SpecError("labels have no effect without a classifier and gate = true", fix="Leave labels out.")
        if self.size < 16:
            raise SpecError(f"size is {self.size} pixels", fix="Give 16 or more.")


@dataclass(frozen=True)
class MeasureFidelity:
    """The work of one chunk: reconstruct, and measure both."""

    spec: FidelitySpec
    generator: str
    generator_options: Mapping[str, Any]
    perceptual: str
    album: ImageFolder
    latents: Path
    """The folder of the latents; every worker maps it."""
    version: str = ""
    """Of the latents: a folder may be replaced under the same name."""

    def __call__(self, images: list[str]) -> Result:
        """Return the distances and agreements of these images, one column a question; NaN is no answer."""
        parts = [self._seen(images[start : start + _AT_ONCE]) for start in range(0, len(images), _AT_ONCE)]
        asked = list(dict.fromkeys(key for part in parts for key in part))
        return {
            "rater": np.array([rater for rater, _ in asked], dtype=str),
            "question": np.array([question for _, question in asked], dtype=str),
            "value": np.concatenate([_columns(part, asked) for part in parts]),
        }

    def _seen(self, images: list[str]) -> DetectedFaces:
        generator: Generator = create("generator", self.generator, self.generator_options)
        w = _latents(str(self.latents), self.version).take(images)
        check_latents(generator, w)
        size = min(self.spec.size, generator.resolution)
        shown, originals = _shown(self.album, images, size)
        again = shrunk(to_pictures(generator.synthesize(w[shown])), size) if shown.any() else originals
        return {key: _spread(values, shown) for key, values in self._measured(originals, again).items()}

    def _measured(self, originals: Pictures, again: Pictures) -> DetectedFaces:
        perceptual: Perceptual = create("perceptual", self.perceptual)
        seen: DetectedFaces = {(perceptual.name, DISTANCE): np.zeros(0)}
        if len(originals):
            far = perceptual.distance(to_signals(originals), to_signals(again))
            seen[perceptual.name, DISTANCE] = np.asarray(far, np.float64)
        if self.spec.recognizer:
            recognizer: Recognizer = create("recognizer", self.spec.recognizer, self.spec.recognizer_options)
            seen[recognizer.name, DISTANCE] = _distances(recognizer, originals, again)
        if self.spec.classifier and len(originals):
            classifier: Classifier = create("classifier", self.spec.classifier, self.spec.classifier_options)
            for label, same in _agree(classifier, originals, again):
                seen[classifier.name, f"{AGREES}: {label}"] = same
        return seen


@lru_cache(maxsize=1)
def _latents(folder: str, version: str) -> Vectors:
    return Vectors.read(folder)


def check_latents(generator: Generator, w: npt.NDArray[np.float32]) -> None:
    """Latents belong to a generator of their own shape."""
    if w.shape[1:] != (generator.rows, generator.dim):
        fix = "They come from another generator: project again, or name that generator."
        shape, own = " x ".join(map(str, w.shape[1:])), f"{generator.rows} x {generator.dim}"
        raise PluginError(f"Latents of {shape} do not fit {generator.name}, which takes {own}", fix=fix)


def _shown(album: ImageFolder, images: list[str], size: int) -> tuple[npt.NDArray[np.bool_], Pictures]:
    """Show what can be shown; a file that is gone or broken by now is no answer, not the end of the run."""
    shown, pictures = np.zeros(len(images), bool), [np.zeros((0, size, size, 3), np.uint8)]
    for row, image in enumerate(images):
        with contextlib.suppress(ImageError):
            pictures.append(album([image], size=size))
            shown[row] = True
    return shown, np.concatenate(pictures)


def shrunk(pictures: Pictures, size: int) -> Pictures:
    """Bring pictures to ``size`` px in the way in which originals are brought there."""
    if pictures.shape[1:3] == (size, size):
        return pictures
    small = [Image.fromarray(picture).resize((size, size), Image.Resampling.LANCZOS) for picture in pictures]
    return np.stack([np.asarray(picture) for picture in small])


def _spread(values: Floats, shown: npt.NDArray[np.bool_]) -> Floats:
    wide = np.full(len(shown), np.nan)
    wide[shown] = values
    return wide


def _columns(part: DetectedFaces, asked: list[tuple[str, str]]) -> Floats:
    length = len(next(iter(part.values())))
    return np.stack([part.get(key, np.full(length, np.nan)) for key in asked], axis=1)


def _distances(recognizer: Recognizer, originals: Pictures, again: Pictures) -> Floats:
    """Return the distance of each original to its reconstruction; no face found in one of them is no answer."""
    distance = np.full(len(originals), np.nan)
    if not len(originals):
        return distance
    a, b = recognizer.embed(originals), recognizer.embed(again)
    found = np.isfinite(a).all(axis=1) & np.isfinite(b).all(axis=1)
    if found.any():
        distance[found] = recognizer.distance(a[found], b[found])
    return distance


def _agree(classifier: Classifier, originals: Pictures, again: Pictures) -> list[tuple[str, Floats]]:
    """Say of each label whether it is present in both or in neither; no face found in one of them is no answer."""
    before, after = classifier.score(originals), classifier.score(again)
    found = []
    for label in before:
        if label in after:
            a, b = np.asarray(before[label], np.float64), np.asarray(after[label], np.float64)
            same = ((a >= classifier.threshold) == (b >= classifier.threshold)).astype(np.float64)
            found.append((label, np.where(np.isfinite(a) & np.isfinite(b), same, np.nan)))
    return found


def fidelity_ratings(images: list[str], results: list[Result]) -> Ratings:
    """Put the chunks' answers together; a question that was not asked in a chunk has no answer there."""
    parts, start = [], 0
    for result in results:
        units = images[start : start + len(result["value"])]
        start += len(units)
        for column, (rater, question) in enumerate(zip(result["rater"], result["question"], strict=True)):
            message = {
                "unit": units,
                "rater": str(rater),
                "question": str(question),
                "value": result["value"][:, column],
            }
            parts.append(pd.DataFrame(message))
    return Ratings(pd.concat(parts, ignore_index=True))


def passed(
    ratings: Ratings, *, recognizer: str = "", limit: float = np.inf, classifier: str = "", labels: tuple[str, ...] = ()
) -> list[str]:
    """Return the images that pass the gate: near enough to their reconstruction, and answered about alike.

    A reconstruction in which no face is found does not pass: it cannot be shown to be the same person.
    """
    frame = ratings.frame
    images = frame["unit"].drop_duplicates().tolist()
    out: set[str] = set()
    if recognizer:
        person = frame[(frame["rater"] == recognizer) & (frame["question"] == DISTANCE)]
        out |= set(images) - set(person["unit"][person["value"] <= limit])
    if classifier:
        asked = frame[(frame["rater"] == classifier) & frame["question"].str.startswith(AGREES)]
        if labels:
            asked = asked[asked["question"].isin([f"{AGREES}: {label}" for label in labels])]
        if asked.empty:
            raise PluginError(f"{classifier} has none of the labels {some(labels)}", fix="Change labels in [fidelity].")
        same = asked.groupby("unit")["value"].agg(lambda message: bool((message == 1).all()))
        out |= set(images) - set(same.index[same])
    return [image for image in images if image not in out]


def at_the_gate(ratings: Ratings, kept: list[str]) -> Ratings:
    """Return the ratings with the gate's own answer about each image: 1 passes, 0 does not."""
    units = ratings.frame["unit"].drop_duplicates()
    answer = pd.DataFrame({"unit": units, "rater": GATE, "question": PASSES, "value": units.isin(kept).astype(float)})
    return Ratings(pd.concat([ratings.frame, answer], ignore_index=True))
