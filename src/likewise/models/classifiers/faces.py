"""Face classifiers: gender, age, race and emotion as predicted by published networks.

Each is an object of audits. It predicts an appearance, not a property of a person; an image without a detected face
gets NaN.

- ``gender``, ``age``: residual networks on dlib's chips of 32 and 64 px, with dlib's five points (Cydral, CC0).
- ``gear``: race, gender and age of a 198 px crop, trained on UTKFace.
- ``emotion``: a small Xception on gray crops of 64 px, trained on FER-2013. Arriaga, Valdenegro-Toro and Plöger,
  "Real-time convolutional neural networks for emotion and gender classification", 2017.
- ``faceres-gender``, ``faceres-age``: the other two heads of the recognizer FaceRes. Savchenko, "Efficient facial
  representations for age, gender and identity recognition in organizing photo albums", PeerJ CS 2019.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from likewise.errors import InputError, SpecError
from likewise.models.detectors.detected_faces import DetectedFaces, detect_faces
from likewise.models.preprocessing import Preprocessing
from likewise.models.recognizers.onnx import session
from likewise.models.recognizers.pretrained import FACERES_PREPROCESSING
from likewise.runtime.registry import Array, Pictures
from likewise.runtime.threads import in_batches
from likewise.weights import where
from likewise.weights.licenses import license_of

_BATCH = 8
_DLIB_MEAN = (122.782, 117.001, 104.298)
BANDS = ((0, 2), (3, 9), (10, 19), (20, 29), (30, 39), (40, 49), (50, 59), (60, 69), (70, 120))
"""Ages in years, both ends included, as FairFace groups them."""


class FaceClassifier:
    """A network for the central face of an image; a subclass defines its crop and its labels."""

    network: str
    preprocessing: Preprocessing
    threshold = 0.5

    def __init__(self, *, weights: str = "", device: str = "cpu", detector: str = "dlib", batch: int = _BATCH) -> None:
        if batch < 1:
            raise SpecError(f"batch is {batch}; it must be at least 1")
        self.name = self.network
        self._session = session(str(where(weights or self.network)), device)
        self._batch, self.detector = batch, detector
        """The detector, whose license is recorded, too."""
        self.license = license_of(weights or self.network)
        self._check_network(weights or self.network)

    def _check_network(self, weights: str) -> None:
        """Run on no face, so that the wrong file is noticed before the work and not in the middle of it."""
        try:
            self.labeled(DetectedFaces(np.zeros((0, 8, 8, 3), np.uint8), [], "dlib"))
        except Exception as error:  # the runtime has an exception of its own for every wrong shape
            got = f"{weights!r} ({type(error).__name__}: {str(error).splitlines()[0][:160]})"
            raise InputError(
                f"These are not the weights of {self.name}: {got}", fix="Fetch them again: likewise weights fetch."
            ) from error

    def outputs(self, seen: DetectedFaces) -> dict[str, Array]:
        """Return the network's outputs ``[n, k]`` by name; NaN where no face was found."""
        crops = seen.crops(self.preprocessing.template, self.preprocessing.size)
        blank = np.zeros((1, *crops.shape[1:]), np.uint8)  # so that no face at all has the network's width, too
        parts = [self._run(blank), *in_batches(self._run, crops, self._batch)]
        names = [output.name for output in self._session.get_outputs()]
        together = [np.concatenate([part[k].reshape(len(part[k]), -1) for part in parts]) for k in range(len(names))]
        return {name: seen.spread(values[1:]) for name, values in zip(names, together, strict=True)}

    def prepared(self, crops: Pictures) -> Array:
        """Return the network's input from crops."""
        return self.preprocessing.prepared(crops)

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return each label's probability."""
        return self.labeled(detect_faces(pictures, self.detector))

    def labeled(self, seen: DetectedFaces) -> dict[str, Array]:
        """Return each label's probability for faces that were found already."""
        raise NotImplementedError

    def _run(self, crops: Pictures) -> list[Array]:
        answer: list[Array] = self._session.run(None, {self._session.get_inputs()[0].name: self.prepared(crops)})
        return answer


class Gender(FaceClassifier):
    """Two labels: ``female`` and ``male``."""

    network = "gender-v1"
    preprocessing = Preprocessing(
        size=32, template="face-20", detector="dlib", mean=_DLIB_MEAN, scale=(256.0, 256.0, 256.0)
    )

    def labeled(self, seen: DetectedFaces) -> dict[str, Array]:
        """Return the probabilities of both."""
        return named(self.outputs(seen)["probabilities"], ("female", "male"))


class Age(FaceClassifier):
    """Nine bands of age, summed from 81 classes of a year each; ``years`` gives the expected age."""

    network = "age-v1"
    preprocessing = Preprocessing(
        size=64, template="face-20", detector="dlib", mean=_DLIB_MEAN, scale=(256.0, 256.0, 256.0)
    )
    years_of_classes = np.array([0.25, *range(1, 81)], dtype=np.float32)

    def labeled(self, seen: DetectedFaces) -> dict[str, Array]:
        """Return the probability of each band."""
        return banded(self.outputs(seen)["probabilities"], np.arange(81))

    def years(self, seen: DetectedFaces) -> Array:
        """Return the expected age ``[n]``; the class of the newborn counts as a quarter of a year."""
        expected: Array = self.outputs(seen)["probabilities"] @ self.years_of_classes
        return expected


class FaceResGender(FaceClassifier):
    """FaceRes's gender: ``female`` and ``male``."""

    network = "faceres"
    preprocessing = FACERES_PREPROCESSING

    def __init__(self, *, weights: str = "", device: str = "cpu", detector: str = "dlib", batch: int = _BATCH) -> None:
        super().__init__(weights=weights, device=device, detector=detector, batch=batch)
        self.name = "faceres-gender"

    def labeled(self, seen: DetectedFaces) -> dict[str, Array]:
        """Return the probabilities of both."""
        male = self.outputs(seen)["male"]
        both = np.concatenate([1 - male, male], axis=1).astype(np.float32)
        return named(both, ("female", "male"))


class FaceResAge(FaceClassifier):
    """FaceRes's age, in nine bands; ``years`` gives the expected age."""

    network, preprocessing = FaceResGender.network, FaceResGender.preprocessing

    def __init__(self, *, weights: str = "", device: str = "cpu", detector: str = "dlib", batch: int = _BATCH) -> None:
        super().__init__(weights=weights, device=device, detector=detector, batch=batch)
        self.name = "faceres-age"

    def labeled(self, seen: DetectedFaces) -> dict[str, Array]:
        """Return the probability of each band."""
        return banded(self.outputs(seen)["age"], np.arange(1, 101))

    def years(self, seen: DetectedFaces) -> Array:
        """Return the expected age ``[n]``."""
        expected = self.outputs(seen)["age"] @ np.arange(1, 101, dtype=np.float32)
        return expected.astype(np.float32)


class Gear(FaceClassifier):
    """Race (5 labels), gender (2) and age (7 bands): weak: an object of audits, not a source of labels."""

    network = "gear"
    preprocessing = Preprocessing(
        size=198, template="chip", detector="dlib", layout="NHWC", mean=(0, 0, 0), scale=(255, 255, 255)
    )
    answers: Mapping[str, Sequence[str]] = {
        "race": ("white", "black", "asian", "indian", "another race"),
        "gender": ("male", "female"),
        "age": ("20 or less", "21-25", "26-30", "31-40", "41-50", "51-60", "more than 60"),
    }

    def labeled(self, seen: DetectedFaces) -> dict[str, Array]:
        """Return the probability of each label within its question."""
        given = self.outputs(seen)
        return {k: v for question, labels in self.answers.items() for k, v in named(given[question], labels).items()}


class Emotion(FaceClassifier):
    """Seven emotions."""

    network = "emotion"
    preprocessing = Preprocessing(size=64, template="face-20", detector="dlib", layout="NHWC")

    def prepared(self, crops: Pictures) -> Array:
        """Return gray crops in [-1, 1]."""
        gray = crops.astype(np.float32) @ np.array([0.2989, 0.587, 0.114], np.float32)
        return np.asarray(gray / 127.5 - 1, dtype=np.float32)[..., None]

    def labeled(self, seen: DetectedFaces) -> dict[str, Array]:
        """Return the probability of each emotion."""
        return named(self.outputs(seen)["emotion"], ("angry", "disgust", "fear", "happy", "sad", "surprise", "neutral"))


def named(values: npt.NDArray[np.float32], labels: Sequence[str]) -> dict[str, Array]:
    """Return the columns of ``values [n, k]`` by label."""
    return {label: np.ascontiguousarray(values[:, k]) for k, label in enumerate(labels)}


def banded(values: npt.NDArray[np.float32], years: npt.NDArray[np.int64]) -> dict[str, Array]:
    """Sum the probabilities of single years ``[n, k]`` into the bands."""
    sums = {f"{low}-{high}": values[:, (years >= low) & (years <= high)].sum(axis=1) for low, high in BANDS[:-1]}
    return {**sums, "70 or more": values[:, years >= BANDS[-1][0]].sum(axis=1)}
