"""Simulated ratings with known ground truth, for the coverage of intervals.

No images are drawn. Each class returns the tables that an analysis needs, and the true values that its intervals should
cover in 95 of 100 cases. Effects of identities and raters are shared by all their rows, so that naive intervals are too
narrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import SpecError
from likewise.tables import Contrast, Images, Matches, Ratings, Trials

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int64]
CONTRAST = Contrast("perceived_gender", focal="female", reference="male")
STRENGTHS = (-2.0, -1.0, 0.0, 1.0, 2.0)


@dataclass(frozen=True)
class VerificationTrials:
    """Distances of a simulated recognizer: genuine and impostor trials, half of the identities in each group."""

    identities: int
    seed: int
    genuine: int = 4
    impostors: int = 20
    effect: float = 0.05
    """What the attribute adds to a genuine distance."""
    mixed: float = 0.06
    """What eyeglasses add, which are more frequent in the focal group (shares 0.7 and 0.3): the confounding."""
    person: float = 0.05
    """Standard deviation of the effect that all trials of an identity share."""
    noise: float = 0.07
    failures: float = 0.0
    """Probability that a genuine trial of the focal group has no distance, at most 0.2; in a fifth of the group."""

    def __post_init__(self) -> None:
        if self.identities < 2 * self.impostors or self.identities % 2:
            problem = f"{self.identities} identities with {self.impostors} impostor trials each"
            raise SpecError(problem, fix="Use an even number of identities, at least twice the impostors.")

    def tables(self) -> tuple[Ratings, Trials, Images, Matches]:
        """Return ratings, trials, images, and matches of a focal and a reference identity with equal eyeglasses."""
        rng = np.random.default_rng(self.seed)
        n = self.identities
        focal = np.arange(n) % 2 == 0
        glasses = rng.random(n) < np.where(focal, 0.7, 0.3)
        own = rng.normal(0, self.person, n)
        names = np.array([f"p{i:05d}" for i in range(n)])
        keys = np.array([[f"{name}-{j}" for j in range(self.genuine + 1)] for name in names])  # [n, genuine + 1]
        near = self._genuine_distances(focal, glasses, own, rng)
        left = np.repeat(np.arange(n), self.impostors)
        right = (left + np.tile(np.arange(1, self.impostors + 1), n)) % n
        far = 0.7 - 0.7 * (own[left] + own[right]) + rng.normal(0, self.noise, len(left))
        trials = _trials(keys, left, right)
        ratings = pd.DataFrame({"unit": trials["trial"], "rater": "simulated", "question": "distance"})
        ratings["value"] = np.r_[near, far]
        person = np.repeat(np.arange(n), self.genuine + 1)
        table = pd.DataFrame({"image": keys.ravel(), "identity": names[person]})
        table["perceived_gender"] = np.where(focal[person], "female", "male")
        table["eyeglasses"] = glasses[person].astype(int)
        return Ratings(ratings), Trials(trials), Images(table), self._pairs(keys[:, 1], focal, glasses)

    def _genuine_distances(self, focal: Flags, glasses: Flags, own: Floats, rng: np.random.Generator) -> Floats:
        """Return the distances of the genuine trials, all of one identity after another; NaN where there is none."""
        who = np.repeat(np.arange(self.identities), self.genuine)
        distance = 0.35 + self.effect * focal[who] + self.mixed * glasses[who] + own[who]
        distance = distance + rng.normal(0, self.noise, len(who))
        lost = rng.random(len(who))
        if self.failures:
            prone = rng.random(self.identities) < 0.2
            distance[(lost < 5 * self.failures) & prone[who] & focal[who]] = np.nan
        return distance

    def _pairs(self, image: npt.NDArray[np.str_], focal: Flags, glasses: Flags) -> Matches:
        rows = []
        for worn in (True, False):
            sides = [image[(focal == side) & (glasses == worn)] for side in (True, False)]
            rows += list(zip(*sides, strict=False))
        frame = pd.DataFrame(rows, columns=["a", "b"])
        frame.insert(0, "pair", [f"m{i}" for i in range(len(frame))])
        return Matches(frame)

    def limit(self, rate: float) -> float:
        """Return the threshold at which the pooled false match rate is ``rate``."""
        spread = (2 * (0.7 * self.person) ** 2 + self.noise**2) ** 0.5
        return NormalDist(0.7, spread).inv_cdf(rate)

    def fnmr(self, rate: float) -> dict[str, float]:
        """Return the true false non-match rate of each group at a pooled false match rate."""
        limit, found = self.limit(rate), {}
        for name, shift, worn in (("female", self.effect, 0.7), ("male", 0.0, 0.3)):
            parts = [
                share * (1 - NormalDist(0.35 + shift + add, (self.person**2 + self.noise**2) ** 0.5).cdf(limit))
                for share, add in ((worn, self.mixed), (1 - worn, 0.0))
            ]
            lost = self.failures if name == "female" else 0.0
            found[name] = lost + (1 - lost) * sum(parts)
        return found

    @property
    def gaps(self) -> tuple[float, float]:
        """The true gaps of the mean genuine distance: unmatched and matched."""
        return self.effect + 0.4 * self.mixed, self.effect


def _trials(keys: npt.NDArray[np.str_], left: Codes, right: Codes) -> pd.DataFrame:
    """Return genuine trials (every image with the first of its identity) and impostor trials of first images."""
    first, others = keys[:, 0], keys[:, 1:]
    genuine = pd.DataFrame({"a": others.ravel(), "b": np.repeat(first, others.shape[1]), "same": True})
    impostor = pd.DataFrame({"a": first[left], "b": first[right], "same": False})
    trials = pd.concat([genuine, impostor], ignore_index=True)
    trials.insert(0, "trial", trials["a"] + "|" + trials["b"])
    return trials


@dataclass(frozen=True)
class RealOrGenerated:
    """Raters judge whether images are real or generated; several raters an image, many images a rater."""

    images: int
    raters: int
    seed: int
    each: int = 5
    passes: tuple[float, float] = (0.30, 0.40)
    """Probability that a generated image is judged real: darker, lighter skin tone."""
    misses: float = 0.25
    """Probability that a real image is judged generated."""
    image_reach: float = 0.15
    rater_reach: float = 0.10
    """Half-widths of the uniform effects of images and raters; the probabilities above are the true means."""

    def tables(self) -> tuple[Ratings, Images]:
        """Return the responses (1 = judged real) and the images."""
        rng = np.random.default_rng(self.seed)
        n = self.images
        generated, darker = np.arange(n) % 2 == 0, np.arange(n) // 2 % 2 == 0
        names = [f"g{i:05d}" for i in range(n)]
        frame = pd.DataFrame({"image": names, "identity": names})
        frame["made_by"] = np.where(generated, "generator", "camera")
        frame["perceived_skin_tone"] = np.where(darker, "darker", "lighter")
        base = np.where(generated, np.where(darker, *self.passes), 1 - self.misses)
        image = np.repeat(np.arange(n), self.each)
        rater = np.concatenate([rng.choice(self.raters, self.each, replace=False) for _ in range(n)])
        lift = rng.uniform(-self.image_reach, self.image_reach, n)[image]
        lift += rng.uniform(-self.rater_reach, self.rater_reach, self.raters)[rater]
        value = rng.random(len(image)) < base[image] + lift
        answers = pd.DataFrame({"unit": np.array(names)[image], "rater": [f"r{r:04d}" for r in rater]})
        return Ratings(answers.assign(question="judged_real", value=value.astype(float))), Images(frame)

    @property
    def alpha(self) -> float:
        """Krippendorff's alpha for infinitely many images: the share of the variance that images explain."""
        base = np.array([*self.passes, 1 - self.misses, 1 - self.misses])
        spread = base.var() + self.image_reach**2 / 3
        return float(spread / (base.mean() * (1 - base.mean())))


@dataclass(frozen=True)
class EditedLabels:
    """Labels of counterfactual edits at five strengths; the rate changes by ``slope`` for each unit of strength."""

    identities: int
    seed: int
    middle: float = 0.4
    slope: float = 0.04
    reach: float = 0.3
    """Half-width of the uniform effect of an identity."""
    bend: float = 0.0
    """Coefficient of the squared strength: a response that is not linear."""
    images_each: int = 2
    """Images of one identity."""

    def tables(self) -> tuple[Ratings, Images]:
        """Return the labels (0 or 1) and the counterfactual images."""
        rng = np.random.default_rng(self.seed)
        image = np.arange(self.images_each * self.identities)
        level = np.tile(STRENGTHS, len(image))
        parent = np.repeat(image, len(STRENGTHS))
        names = np.array([f"f{p:05d}" for p in image])
        people = np.array([f"i{k:05d}" for k in range(self.identities)])
        keys = [f"{name}@{at:+g}" for name in names.tolist() for at in STRENGTHS]
        frame = pd.DataFrame({"image": keys, "identity": people[parent // self.images_each], "parent": names[parent]})
        chance = self.middle + self.slope * level + self.bend * level**2
        chance = chance + rng.uniform(-self.reach, self.reach, self.identities)[parent // self.images_each]
        value = (rng.random(len(level)) < chance).astype(float)
        ratings = pd.DataFrame({"unit": keys, "rater": "simulated", "question": "Nurse", "value": value})
        return Ratings(ratings), Images(frame.assign(level=level))

    @property
    def relative(self) -> float:
        """The true slope of z_k = y_k / y_c (a quadratic term does not change it: the strengths are symmetric)."""
        return self.slope / self.middle

    @property
    def log_odds_slope(self) -> float:
        """The slope of a logistic regression on infinitely many images."""
        x, beta = np.column_stack([np.ones(len(STRENGTHS)), STRENGTHS]), np.zeros(2)
        rates = self.middle + self.slope * np.array(STRENGTHS) + self.bend * np.square(STRENGTHS)
        for _ in range(50):
            chance = 1 / (1 + np.exp(-x @ beta))
            beta += np.linalg.solve(x.T @ (x * (chance * (1 - chance))[:, None]), x.T @ (rates - chance))
        return float(beta[1])
