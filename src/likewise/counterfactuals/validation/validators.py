"""The validators of a spec: a recognizer, and classifiers that see only where edits may show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from likewise.counterfactuals.validation.validity import NETWORK, ValiditySpec, classifier_and_label
from likewise.errors import SpecError, nearest, some
from likewise.runtime.registry import Array, Classifier, Pictures, Recognizer, create

Floats = npt.NDArray[np.float64]
_DETECTOR = "dlib"  # finds the faces for classifiers of faces, unless their options name another


class Validators:
    """The recognizer and the classifiers of a spec, each created once."""

    def __init__(self, spec: ValiditySpec) -> None:
        self.spec = spec
        self.recognizer: Recognizer | None = (
            create("recognizer", spec.recognizer, spec.options.get(spec.recognizer, {})) if spec.recognizer else None
        )
        self._asked = (*spec.classifiers, *((spec.artifacts,) if spec.artifacts and spec.artifacts != NETWORK else ()))
        names = dict.fromkeys(classifier_and_label(validator)[0] for validator in self._asked)
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
                if classifier_and_label(validator)[0] == name:
                    said[validator] = _named(given, *classifier_and_label(validator))
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


def distances_to(recognizer: Recognizer, one: Array, others: Array) -> Floats:
    """Return the distances ``[n]`` of one embedding to others; NaN where no face was detected."""
    first = np.repeat(one, len(others), axis=0)
    there = np.isfinite(others).all(axis=1) & np.isfinite(first).all(axis=1)
    far = np.full(len(others), np.nan)
    if there.any():
        far[there] = recognizer.distance(first[there], others[there])
    return far
