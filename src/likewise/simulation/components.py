"""Components of the simulated world, of every kind: they see pixels only, and their true effects are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.runtime.registry import Array, Look, Pictures, Signals, to_pictures
from likewise.simulation.scene import FACTORS, SHAPES, SIZE, draw, see
from likewise.simulation.world import LABELS, RATER_BASE, RATER_OFFSET, RATERS, RECOGNIZER, RECOGNIZER_BASE
from likewise.tables import Ratings, Trials

_LICENSE = "Apache-2.0 (part of likewise; synthetic)"
_ROWS, _DIM = 4, 16


class WorldGenerator:
    """Synthesizes faces from W+; every factor depends on all rows, mostly on the first."""

    name, license = "world-generator", _LICENSE
    rows, dim, resolution = _ROWS, _DIM, SIZE
    mask, toy = "none", True

    def __init__(self) -> None:
        rng = np.random.default_rng(20210)  # fixes the direction of each factor in W
        self.directions = np.linalg.qr(rng.normal(size=(_DIM, len(FACTORS))))[0].T  # [F, D], orthonormal
        share = rng.dirichlet(np.ones(_ROWS) * 2, len(FACTORS))  # [F, L], sums to 1: equal rows give A w
        self._shares = np.sort(share, axis=1)[:, ::-1]

    def mean_w(self) -> Array:
        """The mean latent: every factor at zero."""
        return np.zeros(_DIM, dtype=np.float32)

    def sample_w(self, n: int, seed: int) -> Array:
        """Sample latents from the standard normal distribution."""
        return np.random.default_rng(seed).normal(size=(n, _DIM)).astype(np.float32)

    def synthesize(self, w: Array) -> Signals:
        """Synthesize the faces of ``w [n, L, D]``."""
        return draw(np.einsum("nld,fd,fl->nf", w.astype(np.float64), self.directions, self._shares))


class WorldEditor:
    """Sets the attribute's factor and draws the face again; all other factors are kept."""

    name, license, attribute = "world-editor", _LICENSE, "perceived_gender"
    held = ("perceived_age", "eyeglasses", "smiling")
    mask, toy = "none", True  # these faces are drawings, and their hair is part of the attribute

    def edit(self, pictures: Pictures, level: float) -> Pictures:
        """Return the pictures with the attribute at strength ``level``."""
        factors = see(pictures)
        factors[:, 0] = level
        return to_pictures(draw(factors))

    def redraw(self, pictures: Pictures, images: Sequence[str] | None = None) -> Pictures:
        """Return the pictures reconstructed without an edit (reconstruction control)."""
        return to_pictures(draw(see(pictures)))


class WorldRecognizer:
    """Compares the shapes of two faces; each picture adds a difficulty with known weights of the other factors."""

    name, license, family = "world-recognizer", _LICENSE, "world"
    threshold = 0.8

    def __init__(self, effect: float = 0.08) -> None:
        self._weights = np.array([RECOGNIZER.get(factor, 0.0) for factor in FACTORS])
        self._weights[0] = effect / 2  # the factor is +1 or -1, so the difference is the effect

    def embed(self, pictures: Pictures) -> Array:
        """Return ``[n, 4]``: three shapes and the difficulty of the picture."""
        factors = see(pictures)
        hard = RECOGNIZER_BASE + factors @ self._weights
        return np.column_stack([factors[:, SHAPES], hard]).astype(np.float32)

    def distance(self, a: Array, b: Array) -> Array:
        """Return half the distance of the shapes plus the mean difficulty: linear, so the ground truth is exact."""
        apart = np.linalg.norm(a[:, :3] - b[:, :3], axis=1)
        distance: Array = (apart / 2 + (a[:, 3] + b[:, 3]) / 2).astype(np.float32)
        return distance


class WorldClassifier:
    """Assigns labels; two depend on the attribute, two only on covariates that are associated with it."""

    name, license, threshold = "world-classifier", _LICENSE, 0.5

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return the confidence of each label, the logistic function of a known sum."""
        factors = see(pictures)
        scores = {}
        for label in LABELS:
            height = label.intercept + label.gender * factors[:, 0]
            for factor, weight in (label.uniform, *label.binary):
                height = height + weight * factors[:, FACTORS.index(factor)]
            scores[label.name] = (1 / (1 + np.exp(-4 * height))).astype(np.float32)
        return scores


class WorldAttributes:
    """Predicts attributes from the factors: a validator of edits that is independent of every model."""

    name, license, threshold = "world-attributes", _LICENSE, 0.5

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return the confidence of each attribute, increasing in its factor."""
        factors = see(pictures)
        labels = {"female": 0, "older": 1, "eyeglasses": 2, "smiling": 3, "light from the left": 4}
        middle = {"eyeglasses": 0.5, "smiling": 0.5}
        return {
            label: (1 / (1 + np.exp(-2 * (factors[:, k] - middle.get(label, 0.0))))).astype(np.float32)
            for label, k in labels.items()
        }


class WorldArtifacts:
    """Validates pictures of the world: a picture that the factors do not explain has an artifact."""

    name, license, threshold = "world-artifacts", _LICENSE, 0.5

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return the probability of artifacts, rising with the root mean square of unexplained pixel values."""
        explained = to_pictures(draw(see(pictures))).astype(np.float64)
        unexplained = np.sqrt(np.square(pictures - explained).mean(axis=(1, 2, 3)))
        return {"artifact": (1 / (1 + np.exp(-20 * np.clip(unexplained - 0.4, -1, 1)))).astype(np.float32)}


class WorldCrowd:
    """Simulated raters: each trial is shown to a few of them, who answer whether it shows the same person."""

    name, license = "world-crowd", _LICENSE

    def __init__(self, effect: float = -0.08, raters: int = 24, each: int = 3) -> None:
        self._effect, self._raters, self._each = effect, raters, each

    def answers(self, trials: Trials, look: Look, seed: int) -> Ratings:
        """Respond 1 (same) or 0 with known probabilities, linear in the mean factors of the two pictures."""
        if not len(trials):
            return Ratings.together([])
        rng = np.random.default_rng(seed)
        frame = trials.frame.sort_values("trial", ignore_index=True)
        chance = self._chance((_seen(look, frame["a"]) + _seen(look, frame["b"])) / 2)
        offsets = rng.uniform(-RATER_OFFSET, RATER_OFFSET, self._raters)
        who = rng.random((len(frame), self._raters)).argsort(axis=1)[:, : self._each]  # distinct raters for each trial
        says = rng.random(who.shape) < chance[:, None] + offsets[who]
        return Ratings(
            pd.DataFrame(
                {
                    "unit": np.repeat(frame["trial"].to_numpy(), self._each),
                    "rater": [f"person-{person + 1:02d}" for person in who.ravel()],
                    "question": "same",
                    "value": says.ravel().astype(float),
                }
            )
        )

    def _chance(self, factors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        weights = np.array([RATERS.get(factor, 0.0) for factor in FACTORS])
        weights[0] = self._effect / 2
        chance: npt.NDArray[np.float64] = RATER_BASE + factors @ weights
        return chance


def _seen(look: Look, images: pd.Series) -> npt.NDArray[np.float64]:
    return np.concatenate([see(look(images.iloc[i : i + 256].tolist())) for i in range(0, len(images), 256)])


class Pixels:
    """The simplest perceptual distance: the mean squared difference of the signals."""

    name, license = "pixels", _LICENSE

    def features(self, signals: Signals) -> Array:
        """Return the signals themselves, one row per image."""
        return signals.reshape(len(signals), -1)

    def distance(self, a: Signals, b: Signals) -> Array:
        """Return the mean squared difference."""
        apart: Array = np.square(self.features(a) - self.features(b)).mean(axis=1)
        return apart
