"""Planted tables: answers whose dependence and true values are known, for showing that intervals hold.

No pictures are drawn. Each function returns the tables that an analysis takes and the true values that its intervals
should hold in 95 of 100 cases. Effects of identities and raters are shared by all their rows, which is what makes
naive intervals too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import SpecError
from likewise.tables import Contrast, Faces, Pairs, Ratings

Floats = npt.NDArray[np.float64]
CONTRAST = Contrast("perceived_gender", focal="female", reference="male")
LEVELS = (-2.0, -1.0, 0.0, 1.0, 2.0)


@dataclass(frozen=True)
class Recognition:
    """Trials of one recogniser, half the identities on each side, several genuine and impostor trials each."""

    identities: int
    seed: int
    genuine: int = 4
    impostors: int = 20
    effect: float = 0.05
    """What the attribute adds to a genuine distance."""
    mixed: float = 0.06
    """What eyeglasses add, which one side wears more often (shares 0.7 and 0.3)."""
    person: float = 0.05
    """Spread of what all trials of an identity share."""
    noise: float = 0.07
    failures: float = 0.0
    """Chance that a genuine trial of the focal side has no distance, at most 0.2: all are of a fifth of its people."""

    def __post_init__(self) -> None:
        if self.identities < 2 * self.impostors or self.identities % 2:
            raise SpecError("identities are even, twice the impostors at least", got=str(self.identities))

    def tables(self) -> tuple[Ratings, Pairs, Faces, Pairs]:
        """Return ratings, trials, faces, and pairs of one focal and one reference identity with the same eyeglasses."""
        rng = np.random.default_rng(self.seed)
        n, k = self.identities, self.genuine
        focal = np.arange(n) % 2 == 0
        glasses = rng.random(n) < np.where(focal, 0.7, 0.3)
        own = rng.normal(0, self.person, n)
        person = np.repeat(np.arange(n), k + 1)
        names = np.array([f"p{i:05d}" for i in range(n)])
        images = np.char.add(names[person], np.char.add("-", np.tile(np.arange(k + 1).astype(str), n)))
        faces = pd.DataFrame({"image": images, "identity": names[person]})
        faces["perceived_gender"] = np.where(focal[person], "female", "male")
        faces["eyeglasses"] = glasses[person].astype(int)
        first = images.reshape(n, k + 1)[:, :1]
        same = pd.DataFrame({"a": images.reshape(n, k + 1)[:, 1:].ravel(), "b": np.repeat(first, k), "same": True})
        who = np.repeat(np.arange(n), k)
        d = 0.35 + self.effect * focal[who] + self.mixed * glasses[who] + own[who] + rng.normal(0, self.noise, n * k)
        lost = rng.random(n * k)
        if self.failures:
            d[(lost < 5 * self.failures) & (rng.random(n) < 0.2)[who] & focal[who]] = np.nan
        left = np.repeat(np.arange(n), self.impostors)
        right = (left + np.tile(np.arange(1, self.impostors + 1), n)) % n
        other = pd.DataFrame({"a": first.ravel()[left], "b": first.ravel()[right], "same": False})
        far = 0.7 - 0.7 * (own[left] + own[right]) + rng.normal(0, self.noise, len(left))
        trials = pd.concat([same, other], ignore_index=True)
        trials.insert(0, "pair", trials["a"] + "|" + trials["b"])
        ratings = pd.DataFrame({"unit": trials["pair"], "rater": "planted", "question": "distance"})
        ratings["value"] = np.r_[d, far]
        return (
            Ratings(ratings),
            Pairs(trials),
            Faces(faces),
            self._pairs(images.reshape(n, k + 1)[:, 1], focal, glasses),
        )

    def _pairs(
        self, image: npt.NDArray[np.str_], focal: npt.NDArray[np.bool_], glasses: npt.NDArray[np.bool_]
    ) -> Pairs:
        rows = []
        for worn in (True, False):
            sides = [image[(focal == side) & (glasses == worn)] for side in (True, False)]
            rows += list(zip(*sides, strict=False))
        frame = pd.DataFrame(rows, columns=["a", "b"])
        frame.insert(0, "pair", [f"m{i}" for i in range(len(frame))])
        return Pairs(frame)

    def limit(self, rate: float) -> float:
        """Return the threshold below which a share of all impostor trials lies."""
        spread = (2 * (0.7 * self.person) ** 2 + self.noise**2) ** 0.5
        return NormalDist(0.7, spread).inv_cdf(rate)

    def fnmr(self, rate: float) -> dict[str, float]:
        """Return the true false non-match rate of each side at a pooled false match rate."""
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
        """The true gaps of the mean distance: crude, and between look-alikes."""
        return self.effect + 0.4 * self.mixed, self.effect


@dataclass(frozen=True)
class Crowd:
    """People judge real and generated faces; each face by several people, each person many faces."""

    images: int
    raters: int
    seed: int
    each: int = 5
    passes: tuple[float, float] = (0.30, 0.40)
    """Chance that a generated face is judged real: darker, lighter."""
    misses: float = 0.25
    """Chance that a real face is judged generated."""
    image_reach: float = 0.15
    rater_reach: float = 0.10
    """How far an image or a rater moves the chance, at most; both uniform, so the chances above are true means."""

    def tables(self) -> tuple[Ratings, Faces]:
        """Return the answers (1 = judged real) and the faces."""
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
        return Ratings(answers.assign(question="judged_real", value=value.astype(float))), Faces(frame)

    @property
    def alpha(self) -> float:
        """Krippendorff's alpha of infinitely many images: the share of the answers' variance that images explain."""
        base = np.array([*self.passes, 1 - self.misses, 1 - self.misses])
        spread = base.var() + self.image_reach**2 / 3
        return float(spread / (base.mean() * (1 - base.mean())))


@dataclass(frozen=True)
class Turned:
    """Faces turned through five levels; a label's rate moves by ``slope`` a level."""

    identities: int
    seed: int
    middle: float = 0.4
    slope: float = 0.04
    reach: float = 0.3
    """How far an identity moves the rate at most."""
    bend: float = 0.0
    """Added to the rate times level squared: not a straight line."""
    faces_each: int = 2
    """Faces of one identity."""

    def tables(self) -> tuple[Ratings, Faces]:
        """Return the scores (0 or 1) and the counterfactual faces."""
        rng = np.random.default_rng(self.seed)
        face = np.arange(self.faces_each * self.identities)
        level = np.tile(LEVELS, len(face))
        parent = np.repeat(face, len(LEVELS))
        keys = [f"f{p:05d}@{at:+g}" for p, at in zip(parent, level, strict=True)]
        frame = pd.DataFrame({"image": keys, "identity": [f"i{p // self.faces_each:05d}" for p in parent]})
        frame["parent"] = [f"f{p:05d}" for p in parent]
        chance = self.middle + self.slope * level + self.bend * level**2
        chance = chance + rng.uniform(-self.reach, self.reach, self.identities)[parent // self.faces_each]
        value = (rng.random(len(level)) < chance).astype(float)
        ratings = pd.DataFrame({"unit": keys, "rater": "planted", "question": "Nurse", "value": value})
        return Ratings(ratings), Faces(frame.assign(level=level))

    @property
    def relative(self) -> float:
        """The true slope of z_k = y_k / y_c (a bend adds nothing to it: the levels are symmetric)."""
        return self.slope / self.middle

    @property
    def log_odds_slope(self) -> float:
        """The slope that a logistic regression finds in infinitely many faces."""
        x, beta = np.column_stack([np.ones(len(LEVELS)), LEVELS]), np.zeros(2)
        rates = self.middle + self.slope * np.array(LEVELS) + self.bend * np.square(LEVELS)
        for _ in range(50):
            chance = 1 / (1 + np.exp(-x @ beta))
            beta += np.linalg.solve(x.T @ (x * (chance * (1 - chance))[:, None]), x.T @ (rates - chance))
        return float(beta[1])
