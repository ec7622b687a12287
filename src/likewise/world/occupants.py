"""The world's own occupant of every slot: each sees pixels only, and its dependence on the attribute is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.plugins import Array, Look, Pictures, Signals, to_pictures
from likewise.tables import Pairs, Ratings
from likewise.world.model import (
    LABELS,
    PEOPLE,
    PEOPLE_BASE,
    PEOPLE_OFFSET,
    RECOGNISER,
    RECOGNISER_BASE,
)  # fmt: skip
from likewise.world.scene import FACTORS, SHAPES, SIZE, draw, see

_LICENCE = "Apache-2.0 (part of likewise; synthetic)"
_ROWS, _DIM = 4, 16


class WorldGenerator:
    """Draws the world's faces from W+: each factor hangs on every row, coarse factors mostly on the first."""

    name, licence = "world-generator", _LICENCE
    rows, dim, resolution = _ROWS, _DIM, SIZE
    mask, toy = "none", True

    def __init__(self) -> None:
        rng = np.random.default_rng(20210)  # fixes which direction of W is which factor
        self.directions = np.linalg.qr(rng.normal(size=(_DIM, len(FACTORS))))[0].T  # [F, D], orthonormal
        share = rng.dirichlet(np.ones(_ROWS) * 2, len(FACTORS))  # [F, L], sums to 1: equal rows give A w
        self._shares = np.sort(share, axis=1)[:, ::-1]

    def mean_w(self) -> Array:
        """The mean latent: every factor at zero."""
        return np.zeros(_DIM, dtype=np.float32)

    def sample_w(self, n: int, seed: int) -> Array:
        """Draw latents from the standard normal."""
        return np.random.default_rng(seed).normal(size=(n, _DIM)).astype(np.float32)

    def synthesise(self, w: Array) -> Signals:
        """Draw the faces of ``w [n, L, D]``."""
        return draw(np.einsum("nld,fd,fl->nf", w.astype(np.float64), self.directions, self._shares))


class WorldEditor:
    """Overwrites the attribute's factor and draws the face anew; every other pixel pattern stays."""

    name, licence, attribute = "world-editor", _LICENCE, "perceived_gender"
    held = ("perceived_age", "eyeglasses", "smiling")
    mask, toy = "none", True  # these faces are drawings: nobody is in them, and their hair is part of the attribute

    def edit(self, pictures: Pictures, level: float) -> Pictures:
        """Return the pictures with the attribute at ``level``."""
        factors = see(pictures)
        factors[:, 0] = level
        return to_pictures(draw(factors))

    def redraw(self, pictures: Pictures, images: Sequence[str] | None = None) -> Pictures:
        """Return the pictures drawn anew with the attribute where they have it."""
        return to_pictures(draw(see(pictures)))


class WorldRecogniser:
    """Compares a person's shapes; how hard a picture is depends, by known weights, on what else is in it."""

    name, licence, family = "world-recogniser", _LICENCE, "world"
    threshold = 0.8

    def __init__(self, effect: float = 0.08) -> None:
        self._weights = np.array([RECOGNISER.get(factor, 0.0) for factor in FACTORS])
        self._weights[0] = effect / 2  # the factor is +1 or -1

    def embed(self, pictures: Pictures) -> Array:
        """Return three shapes and the picture's difficulty."""
        factors = see(pictures)
        hard = RECOGNISER_BASE + factors @ self._weights
        return np.column_stack([factors[:, SHAPES], hard]).astype(np.float32)

    def distance(self, a: Array, b: Array) -> Array:
        """Return half the distance of the shapes plus the mean difficulty: linear, so its truth is exact."""
        apart = np.linalg.norm(a[:, :3] - b[:, :3], axis=1)
        distance: Array = (apart / 2 + (a[:, 3] + b[:, 3]) / 2).astype(np.float32)
        return distance


class WorldClassifier:
    """Tags faces; two labels depend on the attribute, two only on what goes together with it."""

    name, licence, threshold = "world-classifier", _LICENCE, 0.5

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return each label's confidence, the logistic of a known sum."""
        factors = see(pictures)
        scores = {}
        for label in LABELS:
            height = label.intercept + label.gender * factors[:, 0]
            for factor, weight in (label.uniform, *label.coins):
                height = height + weight * factors[:, FACTORS.index(factor)]
            scores[label.name] = (1 / (1 + np.exp(-4 * height))).astype(np.float32)
        return scores


class WorldAttributes:
    """Says what a face shows, by the factors themselves: a judge of edits that nobody was trained with."""

    name, licence, threshold = "world-attributes", _LICENCE, 0.5

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return a confidence for each attribute, rising with its factor."""
        factors = see(pictures)
        labels = {"female": 0, "older": 1, "eyeglasses": 2, "smiling": 3, "light from the left": 4}
        middle = {"eyeglasses": 0.5, "smiling": 0.5}
        return {
            label: (1 / (1 + np.exp(-2 * (factors[:, k] - middle.get(label, 0.0))))).astype(np.float32)
            for label, k in labels.items()
        }


class WorldCrowd:
    """Simulated people: each trial is shown to a few of them, who say whether it is the same person."""

    name, licence = "world-crowd", _LICENCE

    def __init__(self, effect: float = -0.08, raters: int = 24, each: int = 3) -> None:
        self._effect, self._raters, self._each = effect, raters, each

    def answers(self, trials: Pairs, look: Look, seed: int) -> Ratings:
        """Answer 1 (same) or 0 with known chances, linear in what the two pictures show."""
        if not len(trials):
            return Ratings.together([])
        rng = np.random.default_rng(seed)
        frame = trials.frame.sort_values("pair", ignore_index=True)
        chance = self._chance((_seen(look, frame["a"]) + _seen(look, frame["b"])) / 2)
        offsets = rng.uniform(-PEOPLE_OFFSET, PEOPLE_OFFSET, self._raters)
        who = rng.random((len(frame), self._raters)).argsort(axis=1)[:, : self._each]  # different people a trial
        says = rng.random(who.shape) < chance[:, None] + offsets[who]
        return Ratings(
            pd.DataFrame(
                {
                    "unit": np.repeat(frame["pair"].to_numpy(), self._each),
                    "rater": [f"person-{person + 1:02d}" for person in who.ravel()],
                    "question": "same",
                    "value": says.ravel().astype(float),
                }
            )
        )

    def _chance(self, factors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        weights = np.array([PEOPLE.get(factor, 0.0) for factor in FACTORS])
        weights[0] = self._effect / 2
        chance: npt.NDArray[np.float64] = PEOPLE_BASE + factors @ weights
        return chance


def _seen(look: Look, images: pd.Series) -> npt.NDArray[np.float64]:
    return np.concatenate([see(look(images.iloc[i : i + 256].tolist())) for i in range(0, len(images), 256)])


class Pixels:
    """The plainest perceptual distance: the mean squared difference of the signals."""

    name, licence = "pixels", _LICENCE

    def features(self, signals: Signals) -> Array:
        """Return the signals themselves, one row an image."""
        return signals.reshape(len(signals), -1)

    def distance(self, a: Signals, b: Signals) -> Array:
        """Return the mean squared difference."""
        apart: Array = np.square(self.features(a) - self.features(b)).mean(axis=1)
        return apart
