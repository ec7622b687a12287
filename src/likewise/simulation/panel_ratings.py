"""Simulated responses of rater panels, and features of images, with known ground truth.

As in ``system_ratings``, no images are drawn. Images and raters have random effects.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.tables import Contrast, Images, Ratings, Vectors

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
TONE = Contrast("perceived_skin_tone", focal="darker", reference="lighter")


def assigned(images: int, raters: int, each: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Return image and rater of every response; each image is assigned to ``each`` distinct raters."""
    shown = rng.random((images, raters)).argpartition(each - 1, axis=1)[:, :each]
    return np.repeat(np.arange(images), each), shown.ravel()


def _ratings(image: Codes, rater: Codes, question: str, value: Floats) -> Ratings:
    units, people = [f"g{i:05d}" for i in image], [f"r{r:04d}" for r in rater]
    return Ratings(pd.DataFrame({"unit": units, "rater": people, "question": question, "value": value}))


def _images(images: int, **columns: object) -> Images:
    names = [f"g{i:05d}" for i in range(images)]
    tone = np.where(np.arange(images) % 2 == 0, "darker", "lighter")
    return Images(pd.DataFrame({"image": names, "identity": names, "perceived_skin_tone": tone, **columns}))


@dataclass(frozen=True)
class BinaryResponses:
    """Binary responses from a logistic model with normal random effects of images and raters."""

    images: int
    raters: int
    seed: int
    each: int = 8
    gap: float = 0.7
    spreads: tuple[float, float] = (0.6, 0.6)

    def tables(self) -> tuple[Ratings, Images]:
        """Return the responses (1 = judged real); the last tenth of the images is real."""
        rng = np.random.default_rng(self.seed)
        image, rater = assigned(self.images, self.raters, self.each, rng)
        odds = np.where(np.arange(self.images) % 2 == 0, self.gap, 0.0) - 0.3
        odds = odds + rng.normal(0, self.spreads[0], self.images)
        logit = odds[image] + rng.normal(0, self.spreads[1], self.raters)[rater]
        value = (rng.random(len(image)) < 1 / (1 + np.exp(-logit))).astype(float)
        kind = np.where(np.arange(self.images) < 0.9 * self.images, "generator", "camera")
        return _ratings(image, rater, "judged_real", value), _images(self.images, made_by=kind)


@dataclass(frozen=True)
class OrdinalResponses:
    """Responses on a four-point scale: a normal latent variable of image, rater and residual, cut at thresholds."""

    images: int
    raters: int
    seed: int
    each: int = 8
    shift: float = 0.4
    """Shift of the latent variable for images with darker skin tone."""
    spreads: tuple[float, float, float] = (0.5, 0.5, 0.7)
    cuts: tuple[float, float, float] = (-0.5, 0.4, 1.0)

    def tables(self) -> tuple[Ratings, Images]:
        """Return the responses, 1 to 4."""
        rng = np.random.default_rng(self.seed)
        image, rater = assigned(self.images, self.raters, self.each, rng)
        where = np.where(np.arange(self.images) % 2 == 0, self.shift, 0.0) + rng.normal(0, self.spreads[0], self.images)
        feeling = where[image] + rng.normal(0, self.spreads[1], self.raters)[rater]
        feeling = feeling + rng.normal(0, self.spreads[2], len(image))
        step = 1 + np.searchsorted(self.cuts, feeling)
        return _ratings(image, rater, "how_sure", step.astype(np.float64)), _images(self.images)

    @property
    def shares(self) -> tuple[Floats, Floats]:
        """The true share of each category: darker, lighter."""
        spread = float(np.square(self.spreads).sum()) ** 0.5
        ends = [[0.0, *(NormalDist(at, spread).cdf(cut) for cut in self.cuts), 1.0] for at in (self.shift, 0.0)]
        return np.diff(ends[0]), np.diff(ends[1])

    @property
    def superiority(self) -> float:
        """The true probability of superiority of the darker group, ties split."""
        focal, reference = self.shares
        return float(focal @ (np.cumsum(reference) - reference / 2))


@dataclass(frozen=True)
class ToneResponses:
    """Measured skin tone, and responses about it on a six-point scale."""

    images: int
    raters: int
    seed: int
    each: int = 8

    def tables(self) -> tuple[Ratings, Images]:
        """Return the responses and the images with ``measured_ita``."""
        rng = np.random.default_rng(self.seed)
        image, rater = assigned(self.images, self.raters, self.each, rng)
        tone = rng.normal(size=self.images)
        answers = _tone_answers(tone, rng.normal(0, 0.5, self.raters)[rater].reshape(self.images, -1), rng)
        measured = tone + rng.normal(0, 0.8, self.images)
        return _ratings(image, rater, "tone", answers.ravel()), _images(self.images, measured_ita=measured)

    @property
    def correlation(self) -> float:
        """The true rank correlation, from a million images with raters of their own (accurate to 0.001)."""
        return _tone_truth(self.each)


def _tone_answers(tone: Floats, lean: Floats, rng: np.random.Generator) -> Floats:
    answers: Floats = np.clip(np.round(3.5 + 1.2 * (tone[:, None] + lean + rng.normal(0, 0.7, lean.shape))), 1, 6)
    return answers


@cache
def _tone_truth(each: int, images: int = 1_000_000) -> float:
    rng = np.random.default_rng(0)
    tone = rng.normal(size=images)
    answers = _tone_answers(tone, rng.normal(0, 0.5, (images, each)), rng).mean(axis=1)
    ranks = pd.DataFrame({"answer": answers.round(9), "measured": tone + rng.normal(0, 0.8, images)}).rank()
    return float(np.corrcoef(ranks["answer"], ranks["measured"])[0, 1])


@dataclass(frozen=True)
class ImageFeatures:
    """Features of real and generated images, two of each identity, in two groups of ``identities / 2``."""

    identities: int
    seed: int
    shift: float = 0.8
    """Shift of the darker group's generated images against its real ones, in each of three features."""
    person: float = 0.7

    def tables(self) -> tuple[Vectors, Images]:
        """Return features ``[n, 3]`` and images; no identity is both real and generated."""
        rng = np.random.default_rng(self.seed)
        who = np.repeat(np.arange(2 * self.identities), 2)  # first the generated ones, then the real
        fake, darker = who < self.identities, who % 2 == 0
        values = rng.normal(0, self.person, (2 * self.identities, 3))[who]
        values = values + rng.normal(0, (1 - self.person**2) ** 0.5, values.shape)
        values[fake & darker] += self.shift
        frame = pd.DataFrame({"image": [f"f{k:05d}" for k in range(len(who))], "identity": [f"p{k:05d}" for k in who]})
        frame["perceived_skin_tone"] = np.where(darker, "darker", "lighter")
        frame["made_by"] = np.where(fake, "generator", "camera")
        return Vectors(frame["image"].tolist(), values.astype(np.float32), source="simulated"), Images(frame)

    @property
    def kid(self) -> float:
        """The true KID of the darker group: (x'y / d + 1)^3 compares moments of the first three orders."""
        mu, eye = np.full(3, self.shift), np.eye(3)
        third = np.einsum("i,j,k->ijk", mu, mu, mu)
        for at in ("i,jk->ijk", "j,ik->ijk", "k,ij->ijk"):
            third = third + np.einsum(at, mu, eye)
        moments = (mu, np.outer(mu, mu), third)
        return float(sum(times / 3**order * np.square(part).sum()
                         for order, times, part in zip((1, 2, 3), (3, 3, 1), moments, strict=True)))  # fmt: skip


@dataclass(frozen=True)
class ClassScores:
    """Class scores of real and generated images, two of each identity: an identity effect plus an image effect."""

    identities: int
    seed: int

    def tables(self) -> tuple[Vectors, Images]:
        """Return scores ``[n, 4]`` and images."""
        vectors, images = ImageFeatures(self.identities, self.seed).tables()
        rng = np.random.default_rng([self.seed, 1])
        people, pictures = self._types()
        who = np.repeat(rng.integers(0, len(people), len(vectors) // 2), 2)
        scores = people[who] + pictures[rng.integers(0, len(pictures), len(who))]
        return Vectors(vectors.keys, scores.astype(np.float32), source="simulated"), images

    @staticmethod
    def _types() -> tuple[Floats, Floats]:
        return np.vstack([3 * np.eye(4), np.ones(4)]), np.array(
            [[0, 0, 0, 0], [1, 0, -1, 0], [0, 2, 0, 0]], dtype=float
        )

    @property
    def score(self) -> float:
        """The true Inception Score: all fifteen kinds of image are equally frequent."""
        people, pictures = self._types()
        scores = (people[:, None] + pictures).reshape(-1, 4)
        chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        mean = chances.mean(axis=0)
        return float(np.exp((chances * np.log(chances / mean)).sum(axis=1).mean()))
