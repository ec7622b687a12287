"""Measure the edits of a chunk of originals: every validator, at every strength, beside the placebo arms."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
from PIL import Image
from scipy import ndimage

from likewise.counterfactuals.foreign.within_face import edited_whole, whole_edit_artifacts
from likewise.counterfactuals.placebo import MASK, RANDOM, RECONSTRUCT
from likewise.counterfactuals.validation.artifacts import artifact_scores, changed_region
from likewise.counterfactuals.validation.validators import Validators, distances_to
from likewise.counterfactuals.validation.validity import (
    ARTIFACT,
    CONTROL,
    DRIFT,
    NETWORK,
    NOISE,
    OWN,
    PERSON,
    RATER,
    SKIN_TONE,
    TARGET,
    ValiditySpec,
    classifier_and_label,
    target_scale,
)  # fmt: skip
from likewise.data.keys import key_of
from likewise.data.pictures import PictureSource
from likewise.runtime.executor import Result
from likewise.runtime.registry import Pictures
from likewise.tables import Ratings

Floats = npt.NDArray[np.float64]
LARGEST = 1024  # pixels of a side: validators see larger photographs at this size
REDRAWN = 0.5  # probability of artifacts from which on a reconstruction is not a picture to compare with
_JPEG, _SHIFT, _BRIGHTER = 90, 0.005, 1.02  # what a score's measurement noise is taken from


@dataclass(frozen=True)
class MeasureEdits:
    """The work of one chunk of originals: what the validators measure at every strength."""

    spec: ValiditySpec
    levels: tuple[float, ...]
    originals: PictureSource
    made: PictureSource
    arms: tuple[str, ...] = ()
    """The placebo arms that ``made`` has."""

    def __call__(self, images: list[str]) -> Result:
        """Return by question ``[n, K]``; NaN where no face is detected."""
        rows = [self._one(image) for image in images]
        return {question: np.stack([row[question] for row in rows]) for question in rows[0]}

    def _one(self, image: str) -> dict[str, Floats]:
        """Measure one original: all its pictures are scored together."""
        original, edits = self._shown(image)
        shown = _Shown(original, edits, self._control(image), self._random(image), perturbed(original))
        inner = changed_region(original, edits)
        said = self._validators.scores(shown.together, inner if inner.any() else None)
        answers: dict[str, Floats] = {}
        for validator in dict.fromkeys(self.spec.classifiers):
            answers |= self._moved(validator, shown.parted(said[validator].astype(float)))
        if self.spec.artifacts == NETWORK:
            answers[ARTIFACT] = edit_artifacts(self.spec, original, edits, shown.control)
            answers[CONTROL + ARTIFACT] = self._each(control_artifacts(original, edits, shown.control))
        elif self.spec.artifacts:
            answers[ARTIFACT] = shown.parted(said[self.spec.artifacts].astype(float))["edits"]
        if self._validators.recognizer is not None:
            answers[PERSON] = self._distances(shown)
        return answers

    def _moved(self, validator: str, scores: dict[str, Floats]) -> dict[str, Floats]:
        """Return what one score does over the strengths, what the controls do to it, and how noisy it is."""
        found: dict[str, Floats] = {}
        own, edits = self._each(float(scores["original"][0])), scores["edits"]
        if validator == self.spec.target:
            scaled = {name: target_scale(values, self.spec) for name, values in scores.items()}
            found |= {TARGET: edits, OWN + TARGET: own} | self._yardsticks(TARGET, scaled)
        if validator in (self.spec.held or ()):
            drift = edits - edits[int(np.argmin(np.abs(self.levels)))]
            found |= {DRIFT + validator: drift, OWN + validator: own} | self._yardsticks(validator, scores)
        return found

    def _yardsticks(self, name: str, scores: dict[str, Floats]) -> dict[str, Floats]:
        """Return how noisy a score is and how far reconstruction, or a random direction, moves it."""
        own = float(scores["original"][0])
        noise = float(np.sqrt(np.nanmean(np.square(scores["perturbed"] - own))))
        controls = [abs(float(score) - own) for score in scores["control"]]
        if len(scores["random"]) == 2:
            controls.append(float(np.abs(np.diff(scores["random"])).max()))
        found = {NOISE + name: self._each(noise)}
        return found | ({CONTROL + name: self._each(float(np.nanmax(controls)))} if controls else {})

    def _each(self, value: float) -> Floats:
        return np.full(len(self.levels), value)

    def _distances(self, shown: _Shown) -> Floats:
        """Return how far each edit is from the original, directly or by way of the reconstruction."""
        recognizer = self._validators.recognizer
        assert recognizer is not None  # only called with one
        found = np.asarray(recognizer.embed(shown.people), dtype=np.float32)
        direct = distances_to(recognizer, found[:1], found[1 : 1 + len(shown.edits)])
        if not len(shown.control):
            return direct
        drawn = found[-1:]
        detour = np.fmax(distances_to(recognizer, found[:1], drawn), distances_to(recognizer, drawn, found[1:-1]))
        return np.fmin(direct, detour) if np.isfinite(detour).all() else direct

    def _shown(self, image: str) -> tuple[Pictures, Pictures]:
        edits = self.made([key_of(image, level) for level in self.levels])
        return smaller(self.originals([image]))[0], smaller(edits)

    def _control(self, image: str) -> Pictures:
        """Return the reconstruction: inside the mask where there is that arm, or else whole; none without one."""
        arm = next((arm for arm in (MASK, RECONSTRUCT) if arm in self.arms), "")
        return smaller(self.made([key_of(image, 0.0, arm)])) if arm else np.zeros((0, 1, 1, 3), np.uint8)

    def _random(self, image: str) -> Pictures:
        """Return the random direction at the outermost strengths."""
        if RANDOM not in self.arms:
            return np.zeros((0, 1, 1, 3), np.uint8)
        return smaller(self.made([key_of(image, level, RANDOM) for level in (self.levels[0], self.levels[-1])]))

    @cached_property
    def _validators(self) -> Validators:
        return Validators(self.spec)


@dataclass(frozen=True)
class _Shown:
    """The pictures of one original that validators score."""

    original: Pictures
    edits: Pictures
    control: Pictures
    random: Pictures
    perturbed: Pictures

    @property
    def together(self) -> Pictures:
        """All of them, ``[n, H, W, 3]``."""
        parts = (self.original[None], self.edits, self.control, self.random, self.perturbed)
        return np.concatenate([part for part in parts if len(part)])

    @property
    def people(self) -> Pictures:
        """Those that a recognizer compares: the original, the edits, the reconstruction."""
        return np.concatenate([part for part in (self.original[None], self.edits, self.control) if len(part)])

    def parted(self, scores: Floats) -> dict[str, Floats]:
        """Return scores of all pictures by what they are of."""
        counts = [1, len(self.edits), len(self.control), len(self.random), len(self.perturbed)]
        names = ("original", "edits", "control", "random", "perturbed")
        return dict(zip(names, np.split(scores, np.cumsum(counts)[:-1]), strict=True))


def edit_artifacts(spec: ValiditySpec, original: Pictures, edits: Pictures, control: Pictures) -> Floats:
    """Return the probability of artifacts of each edit: beside the original or the reconstruction, if that is nearer.

    An editor that draws the face again is nearer to its reconstruction; one that adds to the picture, to the original.
    """
    recolored = classifier_and_label(spec.target or "")[0] == SKIN_TONE
    if edited_whole(changed_region(original, edits)):
        return whole_edit_artifacts(original, edits, recolored=recolored).astype(float)
    if _drawn_again(original, edits, control):
        return by_way(original, edits, control[0], recolored=recolored)
    return artifact_scores(original, edits, recolored=recolored).astype(float)


def control_artifacts(original: Pictures, edits: Pictures, control: Pictures) -> float:
    """Return the probability of artifacts of the reconstruction, if edits are compared with it; otherwise NaN."""
    if edited_whole(changed_region(original, edits)) or not _drawn_again(original, edits, control):
        return float("nan")
    return float(artifact_scores(original, control[:1], redrawn=True)[0])


def _drawn_again(original: Pictures, edits: Pictures, control: Pictures) -> bool:
    """Return whether edits are nearer to the reconstruction than to the original."""
    return bool(len(control)) and _apart(control[0], edits) < _apart(original, edits)


def _apart(picture: Pictures, edits: Pictures) -> float:
    """Return how far the nearest of the edits is from a picture, in bytes."""
    return float(np.abs(edits.astype(np.float32) - picture).mean(axis=(1, 2, 3)).min())


def by_way(original: Pictures, edits: Pictures, control: Pictures, *, recolored: bool) -> Floats:
    """Return the probability of artifacts between the reconstruction and each edit.

    An editor that draws the face again at every strength differs from the original by how well it draws, and that is no
    artifact of an edit. The reconstruction itself must not look like a broken picture: then it is no yardstick.
    """
    drawn = float(artifact_scores(original, control[None], redrawn=True)[0])
    if drawn > REDRAWN:
        return np.full(len(edits), drawn)
    return artifact_scores(control, edits, recolored=recolored).astype(float)


def smaller(pictures: Pictures) -> Pictures:
    """Return pictures with at most ``LARGEST`` pixels a side."""
    height, width = pictures.shape[1:3]
    scale = LARGEST / max(height, width)
    if scale >= 1:
        return pictures
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.stack([np.asarray(Image.fromarray(one).resize(size, Image.Resampling.BOX)) for one in pictures])


def perturbed(picture: Pictures) -> Pictures:
    """Return the picture compressed, shifted and brightened a little: its scores show their measurement noise."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, format="JPEG", quality=_JPEG, subsampling=0)
    compressed = np.asarray(Image.open(buffer).convert("RGB"))
    move = _SHIFT * max(picture.shape[:2])
    shifted = ndimage.shift(picture.astype(np.float32), (move, move, 0), order=1, mode="nearest")
    brighter = np.clip(picture * _BRIGHTER, 0, 255)
    return np.stack([compressed, np.rint(shifted).astype(np.uint8), np.rint(brighter).astype(np.uint8)])


def ratings_of(images: list[str], levels: tuple[float, ...], answers: dict[str, Floats]) -> Ratings:
    """Return measurements ``[n, K]`` by question as ratings of the edits."""
    units = [key_of(image, level) for image in images for level in levels]
    parts = [
        pd.DataFrame({"unit": units, "rater": RATER, "question": question, "value": values.ravel()})
        for question, values in answers.items()
    ]
    return Ratings(pd.concat(parts, ignore_index=True))
