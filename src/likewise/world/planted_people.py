"""More planted tables: people who lean, answer in steps or judge a tone, and features of pictures.

As in ``planted``, no pictures are drawn, and the true values are known. Images and raters have effects of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.tables import Contrast, Faces, Ratings, Vectors

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
TONE = Contrast("perceived_skin_tone", focal="darker", reference="lighter")


def asked(images: int, raters: int, each: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """Return which image and which rater every answer is of: each image is shown to so many raters."""
    shown = rng.random((images, raters)).argpartition(each - 1, axis=1)[:, :each]
    return np.repeat(np.arange(images), each), shown.ravel()


def _ratings(image: Codes, rater: Codes, question: str, value: Floats) -> Ratings:
    units, people = [f"g{i:05d}" for i in image], [f"r{r:04d}" for r in rater]
    return Ratings(pd.DataFrame({"unit": units, "rater": people, "question": question, "value": value}))


def _faces(images: int, **columns: object) -> Faces:
    names = [f"g{i:05d}" for i in range(images)]
    tone = np.where(np.arange(images) % 2 == 0, "darker", "lighter")
    return Faces(pd.DataFrame({"image": names, "identity": names, "perceived_skin_tone": tone, **columns}))


@dataclass(frozen=True)
class Leaning:
    """Yes or no in log odds: every image and every rater leans by a normal draw."""

    images: int
    raters: int
    seed: int
    each: int = 8
    gap: float = 0.7
    spreads: tuple[float, float] = (0.6, 0.6)

    def tables(self) -> tuple[Ratings, Faces]:
        """Return the answers (1 = judged real); the last tenth of the images are real ones."""
        rng = np.random.default_rng(self.seed)
        image, rater = asked(self.images, self.raters, self.each, rng)
        odds = np.where(np.arange(self.images) % 2 == 0, self.gap, 0.0) - 0.3
        odds = odds + rng.normal(0, self.spreads[0], self.images)
        logit = odds[image] + rng.normal(0, self.spreads[1], self.raters)[rater]
        value = (rng.random(len(image)) < 1 / (1 + np.exp(-logit))).astype(float)
        kind = np.where(np.arange(self.images) < 0.9 * self.images, "generator", "camera")
        return _ratings(image, rater, "judged_real", value), _faces(self.images, made_by=kind)


@dataclass(frozen=True)
class Steps:
    """Answers in four steps: a normal leaning of image, rater and moment, cut at three places."""

    images: int
    raters: int
    seed: int
    each: int = 8
    shift: float = 0.4
    """How much further up a darker face's answers lie."""
    spreads: tuple[float, float, float] = (0.5, 0.5, 0.7)
    cuts: tuple[float, float, float] = (-0.5, 0.4, 1.0)

    def tables(self) -> tuple[Ratings, Faces]:
        """Return the answers, 1 to 4."""
        rng = np.random.default_rng(self.seed)
        image, rater = asked(self.images, self.raters, self.each, rng)
        where = np.where(np.arange(self.images) % 2 == 0, self.shift, 0.0) + rng.normal(0, self.spreads[0], self.images)
        feeling = where[image] + rng.normal(0, self.spreads[1], self.raters)[rater]
        feeling = feeling + rng.normal(0, self.spreads[2], len(image))
        step = 1 + np.searchsorted(self.cuts, feeling)
        return _ratings(image, rater, "how_sure", step.astype(np.float64)), _faces(self.images)

    @property
    def shares(self) -> tuple[Floats, Floats]:
        """The true share of each step: darker, lighter."""
        spread = float(np.square(self.spreads).sum()) ** 0.5
        ends = [[0.0, *(NormalDist(at, spread).cdf(cut) for cut in self.cuts), 1.0] for at in (self.shift, 0.0)]
        return np.diff(ends[0]), np.diff(ends[1])

    @property
    def superiority(self) -> float:
        """The true chance that a darker face's answer is higher, ties split."""
        focal, reference = self.shares
        return float(focal @ (np.cumsum(reference) - reference / 2))


@dataclass(frozen=True)
class Tones:
    """A measured tone, and answers about it in six steps."""

    images: int
    raters: int
    seed: int
    each: int = 8

    def tables(self) -> tuple[Ratings, Faces]:
        """Return the answers and the faces with ``measured_ita``."""
        rng = np.random.default_rng(self.seed)
        image, rater = asked(self.images, self.raters, self.each, rng)
        tone = rng.normal(size=self.images)
        answers = _tone_answers(tone, rng.normal(0, 0.5, self.raters)[rater].reshape(self.images, -1), rng)
        measured = tone + rng.normal(0, 0.8, self.images)
        return _ratings(image, rater, "tone", answers.ravel()), _faces(self.images, measured_ita=measured)

    @property
    def correlation(self) -> float:
        """The true rank correlation, from a million images each with raters of its own (known to 0.001)."""
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
class Features:
    """Features of real and generated pictures, two of each identity, in two groups of ``identities / 2``."""

    identities: int
    seed: int
    shift: float = 0.8
    """How far the darker group's generated pictures lie from its real ones, in each of three features."""
    person: float = 0.7

    def tables(self) -> tuple[Vectors, Faces]:
        """Return features ``[n, 3]`` and faces; no identity is both real and generated."""
        rng = np.random.default_rng(self.seed)
        who = np.repeat(np.arange(2 * self.identities), 2)  # first the generated ones, then the real
        fake, darker = who < self.identities, who % 2 == 0
        values = rng.normal(0, self.person, (2 * self.identities, 3))[who]
        values = values + rng.normal(0, (1 - self.person**2) ** 0.5, values.shape)
        values[fake & darker] += self.shift
        frame = pd.DataFrame({"image": [f"f{k:05d}" for k in range(len(who))], "identity": [f"p{k:05d}" for k in who]})
        frame["perceived_skin_tone"] = np.where(darker, "darker", "lighter")
        frame["made_by"] = np.where(fake, "generator", "camera")
        return Vectors(frame["image"].tolist(), values.astype(np.float32), source="planted"), Faces(frame)

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
class Classes:
    """Class scores of real and generated pictures, two of each identity: types of person plus types of picture."""

    identities: int
    seed: int

    def tables(self) -> tuple[Vectors, Faces]:
        """Return scores ``[n, 4]`` and faces."""
        vectors, faces = Features(self.identities, self.seed).tables()
        rng = np.random.default_rng([self.seed, 1])
        people, pictures = self._types()
        who = np.repeat(rng.integers(0, len(people), len(vectors) // 2), 2)
        scores = people[who] + pictures[rng.integers(0, len(pictures), len(who))]
        return Vectors(vectors.images, scores.astype(np.float32), source="planted"), faces

    @staticmethod
    def _types() -> tuple[Floats, Floats]:
        return np.vstack([3 * np.eye(4), np.ones(4)]), np.array(
            [[0, 0, 0, 0], [1, 0, -1, 0], [0, 2, 0, 0]], dtype=float
        )

    @property
    def score(self) -> float:
        """The true Inception Score: all fifteen kinds of picture are equally common."""
        people, pictures = self._types()
        scores = (people[:, None] + pictures).reshape(-1, 4)
        chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        mean = chances.mean(axis=0)
        return float(np.exp((chances * np.log(chances / mean)).sum(axis=1).mean()))
