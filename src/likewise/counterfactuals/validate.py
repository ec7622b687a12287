"""validate-edits: the validators measure every edit beside its original and beside the placebo arms."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from PIL import Image
from scipy import ndimage

from likewise.counterfactuals.artifacts import artifact_scores, changed_region
from likewise.counterfactuals.edit import placebo_images
from likewise.counterfactuals.placebo import MASK, ORIGINAL, RANDOM, RECONSTRUCT
from likewise.counterfactuals.validity import (
    ARTIFACT,
    CONTROL,
    DRIFT,
    NETWORK,
    NOISE,
    OWN,
    PERSON,
    RATER,
    TARGET,
    ValiditySpec,
    judge_of,
    judged,
    verdicts,
)  # fmt: skip
from likewise.data.keys import file_of, key_of
from likewise.data.pictures import PictureSource, picture_source
from likewise.errors import ImageError, SpecError, nearest, some
from likewise.runtime.executor import Executor, Progress, Result
from likewise.runtime.pixels import ImageFolder
from likewise.runtime.registry import Array, Classifier, Pictures, Recognizer, create
from likewise.tables import Contrast, Images, Ratings

Floats = npt.NDArray[np.float64]
LARGEST = 1024  # pixels of a side: validators see larger photographs at this size
_DETECTOR = "dlib"  # finds the faces for classifiers of faces, unless their options name another
_JPEG, _SHIFT, _BRIGHTER = 90, 0.005, 1.02  # what a score's measurement noise is taken from


def validate_edits(
    edits: Images,
    pictures: PictureSource | Pictures | str | Path,
    *,
    spec: ValiditySpec,
    originals: PictureSource | str | Path | None = None,
    contrast: Contrast | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Ratings:
    """Measure whether edits moved the target attribute and nothing else.

    Parameters
    ----------
    edits : Images
        Counterfactuals, as ``counterfactual`` returns them.
    pictures : ImageFolder or path
        Where the edited pictures, and those of the placebo arms, are.
    spec : ValiditySpec
        The validators and their tolerances. A rule without a validator is broken for all edits.
    originals : ImageFolder or path, optional
        Where the originals are; by default the placebo arm ``original`` in the same folder.
    contrast : Contrast, optional
        The groups whose distance the movement of the target is compared with; by default the whole range of the score.
    executor : Executor, optional
        Where the work is done; by default in this process.
    progress : Progress, optional
        Is called as images are done.

    Returns
    -------
    Ratings
        What every validator measured of each edit, and the verdict (``valid``, ``extrapolation``).

    Examples
    --------
    >>> import tempfile
    >>> import likewise as lw
    >>> from likewise.counterfactuals.edit import counterfactual
    >>> from likewise.counterfactuals.validity import valid_edits
    >>> from likewise.runtime.registry import to_pictures
    >>> from likewise.simulation.scene import draw
    >>> faces, factors = lw.World(identities=8, images_each=2).draw()
    >>> spec = ValiditySpec(
    ...     target="world-attributes: female", held=("world-attributes: smiling",), recognizer="world",
    ...     artifacts="world-artifacts: artifact",
    ... )
    >>> contrast = lw.Contrast("perceived_gender", "female", "male")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     edits = counterfactual(faces, to_pictures(draw(factors)), editor="world", folder=folder)
    ...     validity = validate_edits(edits, folder, spec=spec, contrast=contrast)
    >>> len(valid_edits(validity, edits)) == len(edits)
    True
    """
    validators = Validators(spec)
    frame = edits.frame
    parents, strengths = sorted(frame["parent"].unique()), tuple(sorted(frame["level"].unique()))
    made, arms = _sources(edits, pictures)
    work = ValidatingEdits(spec, strengths, _originals(parents, originals, pictures), made, arms)
    parts = list((executor or Executor()).map(work, parents, progress=progress))
    answers = {question: np.concatenate([part[question] for part in parts]) for question in parts[0]}
    measured = ratings_of(parents, strengths, answers)
    groups = None if contrast is None else groups_of(edits, contrast)
    verdict = judged(measured, edits, replace(spec, person=validators.person), groups=groups)
    return Ratings.together([measured, verdicts(verdict, edits)])


def groups_of(edits: Images, contrast: Contrast) -> dict[str, int]:
    """Return the group of each original: 1 focal, -1 reference. Edits keep the attributes of their original."""
    side = contrast.side(edits)
    return {parent: int(side[image]) for image, parent in zip(edits.keys, edits.frame["parent"], strict=True)}


def _sources(edits: Images, pictures: Any) -> tuple[PictureSource, tuple[str, ...]]:
    """Return the source of edits and placebo arms, and which arms there are."""
    if not isinstance(pictures, str | Path):
        return picture_source(edits, pictures), ()
    placebo = placebo_images(edits, pictures)
    keys = [*edits.keys, *placebo.keys]
    arms = tuple(dict.fromkeys(placebo.frame["source"]))
    return ImageFolder(Path(pictures).resolve(), {key: file_of(key) for key in keys}), arms


def _originals(parents: list[str], originals: Any, pictures: Any) -> PictureSource:
    if originals is not None:
        return picture_source(parents, originals)
    if not isinstance(pictures, str | Path):
        raise SpecError("No pictures of the originals were given", fix="Give originals=folder.")
    files = {parent: file_of(key_of(parent, 0.0, ORIGINAL)) for parent in parents}
    missing = [parent for parent, name in files.items() if not Path(pictures, name).is_file()]
    if missing:
        problem = f"{len(missing)} originals are not in {pictures}: {some(missing)}"
        raise ImageError(problem, fix="Give originals=folder.")
    return ImageFolder(Path(pictures).resolve(), files)


class Validators:
    """The recognizer and the classifiers of a spec, each created once."""

    def __init__(self, spec: ValiditySpec) -> None:
        self.spec = spec
        self.recognizer: Recognizer | None = (
            create("recognizer", spec.recognizer, spec.options.get(spec.recognizer, {})) if spec.recognizer else None
        )
        self._asked = (*spec.judges, *((spec.artifacts,) if spec.artifacts and spec.artifacts != NETWORK else ()))
        names = dict.fromkeys(judge_of(validator)[0] for validator in self._asked)
        self.classifiers: dict[str, Classifier] = {
            name: create("classifier", name, spec.options.get(name, {})) for name in names
        }
        known = {*([spec.recognizer] if spec.recognizer else []), *names}
        unknown = set(spec.options) - known
        if unknown:
            problem = f"[validity] has options for {some(sorted(unknown))}, which is not one of its validators"
            raise SpecError(problem, fix=f"Its validators: {some(sorted(known), 12)}." if known else "")

    @property
    def person(self) -> float | None:
        """The distance from which on it is another person."""
        if self.recognizer is None:
            return None
        return self.spec.person if self.spec.person is not None else float(self.recognizer.threshold)

    def scores(self, pictures: Pictures, inner: npt.NDArray[np.bool_] | None = None) -> dict[str, Array]:
        """Return the score of every validator, by ``classifier: label``; faces are detected once for all of them.

        ``inner [H, W]`` is where edits may show. Classifiers of faces then see nothing else: hair, clothes and
        background are blurred, because a validator that reads the hair says nothing about an edit of the skin.
        """
        said: dict[str, Array] = {}
        seen: dict[str, Any] = {}  # detected faces, by detector
        for name, classifier in self.classifiers.items():
            given = self._given(name, classifier, pictures, seen, inner)
            for validator in self._asked:
                if judge_of(validator)[0] == name:
                    said[validator] = _named(given, *judge_of(validator))
        return said

    def _given(
        self, name: str, classifier: Classifier, pictures: Pictures, seen: dict[str, Any],
        inner: npt.NDArray[np.bool_] | None,
    ) -> dict[str, Array]:  # fmt: skip
        """Score with one classifier; networks of faces share the detection."""
        labeled = getattr(classifier, "labeled", None)
        if labeled is None:
            return classifier.score(pictures)
        from likewise.models.detectors import detected_faces  # noqa: PLC0415  # networks load late

        detector = str(self.spec.options.get(name, {}).get("detector", _DETECTOR))
        if detector not in seen:
            found = detected_faces.detect_faces(pictures, detector)
            seen[detector] = found if inner is None else replace(found, pictures=inner_only(pictures, inner))
        answer: dict[str, Array] = labeled(seen[detector])
        return answer


def inner_only(pictures: Pictures, inner: npt.NDArray[np.bool_]) -> Pictures:
    """Return pictures in which everything outside a region is blurred beyond recognition, with a soft edge."""
    side = max(pictures.shape[1:3])
    weight = ndimage.gaussian_filter(
        ndimage.binary_dilation(inner, iterations=max(1, side // 64)).astype(np.float32), side / 128
    )
    blurred = ndimage.gaussian_filter(pictures[0].astype(np.float32), (side / 12, side / 12, 0))
    mixed = pictures * weight[..., None] + blurred * (1 - weight[..., None])
    return np.rint(mixed).astype(np.uint8)


def _named(given: dict[str, Array], name: str, wanted: str) -> Array:
    """Return the score of a label, or of several together: ``40-49 + 50-59`` is the probability of either."""
    labels = [wanted] if wanted in given else [label.strip() for label in wanted.split(" + ")]
    for label in labels:
        if label not in given:
            fix = nearest(label, given) or f"Its labels: {some(list(given), 8)}."
            raise SpecError(f"The classifier {name!r} has no label {label!r}", fix=fix)
    return np.asarray(np.sum([given[label] for label in labels], axis=0), dtype=np.float32)


@dataclass(frozen=True)
class ValidatingEdits:
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
        for validator in dict.fromkeys(self.spec.judges):
            answers |= self._moved(validator, shown.parted(said[validator].astype(float)))
        if self.spec.artifacts == NETWORK:
            answers[ARTIFACT] = artifact_scores(original, edits).astype(float)
        elif self.spec.artifacts:
            answers[ARTIFACT] = shown.parted(said[self.spec.artifacts].astype(float))["edits"]
        if self._validators.recognizer is not None:
            answers[PERSON] = self._distances(shown)
        return answers

    def _moved(self, validator: str, scores: dict[str, Floats]) -> dict[str, Floats]:
        """Return what one score does over the strengths, what the controls do to it, and how noisy it is."""
        own, edits = float(scores["original"][0]), scores["edits"]
        apart = [abs(float(score) - own) for score in scores["control"]]
        spread = [float(np.abs(np.diff(scores["random"])).max())] if len(scores["random"]) == 2 else []
        noise = float(np.sqrt(np.nanmean(np.square(scores["perturbed"] - own))))
        found: dict[str, Floats] = {}
        for name, wanted in ((TARGET, validator == self.spec.target), (validator, validator in (self.spec.held or ()))):
            if wanted:
                found[TARGET if name == TARGET else DRIFT + name] = (
                    edits if name == TARGET else edits - edits[int(np.argmin(np.abs(self.levels)))]
                )
                found[OWN + name] = self._each(own)
                found[NOISE + name] = self._each(noise)
                if apart or spread:
                    found[CONTROL + name] = self._each(float(np.nanmax([*apart, *(spread if name == TARGET else [])])))
        return found

    def _each(self, value: float) -> Floats:
        return np.full(len(self.levels), value)

    def _distances(self, shown: _Shown) -> Floats:
        """Return how far each edit is from the original, directly or by way of the reconstruction."""
        recognizer = self._validators.recognizer
        assert recognizer is not None  # only called with one
        found = np.asarray(recognizer.embed(shown.people), dtype=np.float32)
        direct = _between(recognizer, found[:1], found[1 : 1 + len(shown.edits)])
        if not len(shown.control):
            return direct
        drawn = found[-1:]
        detour = np.fmax(_between(recognizer, found[:1], drawn), _between(recognizer, drawn, found[1:-1]))
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


def _between(recognizer: Recognizer, one: Array, others: Array) -> Floats:
    """Return the distances ``[n]`` of one embedding to others; NaN where no face was detected."""
    first = np.repeat(one, len(others), axis=0)
    there = np.isfinite(others).all(axis=1) & np.isfinite(first).all(axis=1)
    far = np.full(len(others), np.nan)
    if there.any():
        far[there] = recognizer.distance(first[there], others[there])
    return far


def ratings_of(images: list[str], levels: tuple[float, ...], answers: dict[str, Floats]) -> Ratings:
    """Return measurements ``[n, K]`` by question as ratings of the edits."""
    units = [key_of(image, level) for image in images for level in levels]
    parts = [
        pd.DataFrame({"unit": units, "rater": RATER, "question": question, "value": values.ravel()})
        for question, values in answers.items()
    ]
    return Ratings(pd.concat(parts, ignore_index=True))
