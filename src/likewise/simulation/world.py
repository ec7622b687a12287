"""A simulated population with known ground truth: how attributes are distributed and how raters respond."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import SpecError
from likewise.runtime.executor import Progress, Silent
from likewise.runtime.pixels import save
from likewise.runtime.registry import to_pictures
from likewise.simulation.scene import FACTORS, SHAPES, draw
from likewise.tables import Contrast, Estimates, Images
from likewise.tables.estimates import row

Floats = npt.NDArray[np.float64]
CONTRAST = Contrast("perceived_gender", focal="female", reference="male")
PERSON_SPREAD = 0.7  # standard deviation of the shapes between identities
CAPTURE_SPREAD = 0.15  # standard deviation of a shape between two images of one identity


@dataclass(frozen=True)
class Covariate:
    """A factor that may be associated with the attribute: uniform with half-width ``half``, or binary (``half`` 0)."""

    column: str
    factor: str
    center: float
    half: float
    shift: float
    """Focal mean - reference mean when confounding is 1, in units of the factor."""
    per_identity: bool = False
    origin: float = 0.0
    unit: float = 1.0
    """The table has origin + unit x factor, e.g. in years."""

    def mean(self, side: int, confounding: float) -> float:
        """Return the mean in the focal (+1) or the reference (-1) group."""
        return self.center + side * confounding * self.shift / 2

    def sample(self, side: Floats, confounding: float, rng: np.random.Generator) -> Floats:
        """Sample the factor for rows of these groups."""
        mean = self.center + side * confounding * self.shift / 2
        if self.half:
            return mean + rng.uniform(-self.half, self.half, len(side))
        return (rng.random(len(side)) < mean).astype(np.float64)


COVARIATES = (
    Covariate("perceived_age", "age", 0.0, 1.7, -1.0, per_identity=True, origin=40, unit=10),
    Covariate("eyeglasses", "eyeglasses", 0.25, 0.0, -0.30),
    Covariate("smiling", "smiling", 0.50, 0.0, 0.30),
    Covariate("light", "light", 0.0, 1.0, -0.60),
    Covariate("yaw", "yaw", 0.0, 1.0, 0.0),
)
TEXTURE = 1.0  # half-width of an unmeasured factor: images of one identity are clustered by it

# What one unit of a factor (mean over the two images of a trial) adds, besides the effect of the attribute.
RECOGNIZER_BASE = 0.15
RECOGNIZER = {"age": -0.03, "eyeglasses": 0.05, "smiling": 0.04, "light": -0.04, "yaw": 0.02, "texture": 0.05}
RATER_BASE, RATER_OFFSET = 0.70, 0.06
RATERS = {"age": 0.03, "eyeglasses": -0.06, "smiling": -0.04, "light": 0.05, "texture": -0.05}


@dataclass(frozen=True)
class Label:
    """A label that is present where intercept + gender x attribute + terms >= 0; one term is uniform, others binary."""

    name: str
    intercept: float
    gender: float
    uniform: tuple[str, float]
    binary: tuple[tuple[str, float], ...] = ()


LABELS = (
    Label("Lipstick", -0.2, 0.30, ("age", -0.4)),
    Label("Necktie", 0.0, -0.25, ("age", 0.4)),
    Label("Spectacles", -0.5, 0.0, ("light", 0.5), (("eyeglasses", 1.2),)),
    Label("Grin", -0.5, 0.0, ("light", -0.5), (("smiling", 1.2),)),
)


@dataclass(frozen=True, kw_only=True)
class World:
    """A simulated population whose true effects are computed from its model, not estimated.

    Parameters
    ----------
    identities, images_each
        Number of synthetic identities (half in each group) and of images of each.
    confounding
        Strength of the association between the covariates and the attribute; 0 is none.
    effect
        What the attribute itself adds to the recognizer's genuine distance.
    people_effect
        What the attribute itself adds to the probability that raters answer "same person".
    seed
        The same seed gives the same images.

    Examples
    --------
    >>> world = World(identities=20, confounding=0.0, seed=1)
    >>> images, factors = world.draw()
    >>> len(images), factors.shape
    (60, (60, 10))
    >>> truth = world.truth().where(quantity="world-recognizer: distance").frame
    >>> truth["estimate"].round(3).tolist()  # without confounding both gaps are the effect
    [0.08, 0.08]
    """

    identities: int = 400
    images_each: int = 3
    confounding: float = 1.0
    effect: float = 0.08
    people_effect: float = -0.08
    seed: int = 0

    def __post_init__(self) -> None:
        if self.identities < 8 or self.images_each < 2:
            problem = f"A world of {self.identities} identities with {self.images_each} images each is too small"
            raise SpecError(problem, fix="Use at least 8 identities and 2 images each.")
        for covariate in COVARIATES:
            means = [covariate.mean(side, self.confounding) for side in (1, -1)]
            if not covariate.half and not all(0 <= mean <= 1 for mean in means):
                problem = f"Confounding {self.confounding:g} gives shares of {covariate.column!r} outside 0 to 1: "
                raise SpecError(problem + ", ".join(f"{mean:.3g}" for mean in means), fix="Lower confounding.")
        if not all(0 <= chance <= 1 for chance in self._chances()):
            low, high = self._chances()
            problem = f"Raters' probabilities reach from {low:.3g} to {high:.3g}, outside 0 to 1"
            raise SpecError(problem, fix="Lower confounding or people_effect.")

    def _chances(self) -> tuple[float, float]:
        """Return the lowest and the highest probability that a rater answers "same" to a genuine trial."""
        reach = abs(self.people_effect) / 2 + RATER_OFFSET + abs(RATERS["texture"]) * TEXTURE
        low, high = RATER_BASE - reach, RATER_BASE + reach
        for covariate in COVARIATES:
            weight, far = (
                RATERS.get(covariate.factor, 0.0),
                covariate.half + abs(self.confounding * covariate.shift) / 2,
            )
            ends = (-weight * far, weight * far) if covariate.half else (0.0, weight)
            low, high = low + min(ends), high + max(ends)
        return low, high

    def draw(self) -> tuple[Images, npt.NDArray[np.float64]]:
        """Draw the images and, row by row, their factors ``[n, F]``; half of the identities are in each group."""
        rng = np.random.default_rng(self.seed)
        side = np.where(np.arange(self.identities) % 2 == 0, 1.0, -1.0)
        person = np.repeat(np.arange(self.identities), self.images_each)
        factors = np.zeros((len(person), len(FACTORS)))
        factors[:, 0] = side[person]
        table = {"image": [f"w{p:04d}-{i % self.images_each + 1}" for i, p in enumerate(person)]}
        table |= {"identity": [f"w{p:04d}" for p in person]}
        frame = pd.DataFrame(table).assign(perceived_gender=np.where(side[person] > 0, "female", "male"))
        for covariate in COVARIATES:
            rows = side if covariate.per_identity else side[person]
            values = covariate.sample(rows, self.confounding, rng)
            values = values[person] if covariate.per_identity else values
            factors[:, FACTORS.index(covariate.factor)] = values
            shown = covariate.origin + covariate.unit * values
            frame[covariate.column] = np.round(shown, 3) if covariate.half else shown.astype(int)
        factors[:, FACTORS.index("texture")] = rng.uniform(-TEXTURE, TEXTURE, self.identities)[person]
        shapes = rng.normal(0, PERSON_SPREAD, (self.identities, 3))[person]
        factors[:, SHAPES] = shapes + rng.normal(0, CAPTURE_SPREAD, shapes.shape)
        return Images(frame), factors

    def write(self, folder: str | Path, *, progress: Progress | None = None) -> tuple[Path, Path]:
        """Write the image files and their table, as input of an audit; return both paths."""
        folder = Path(folder)
        images, factors = self.draw()
        for key, picture in zip(images.keys, to_pictures(draw(factors)), strict=True):
            save(folder / "images" / f"{key}.png", picture)
            (progress or Silent()).advance(1)
        return folder / "images", images.write(folder / "faces.csv")

    def truth(self, levels: Sequence[float] = (-2, -1, 0, 1, 2)) -> Estimates:
        """Return the ground truth: unmatched and matched gaps of distance and responses, and slopes of the labels."""
        rows = []
        for quantity, effect, weights in (
            ("world-recognizer: distance", self.effect, RECOGNIZER),
            ("people: same", self.people_effect, RATERS),
        ):
            mixed = sum(weights.get(c.factor, 0.0) * self.confounding * c.shift for c in COVARIATES)
            rows.append(ground_truth_row(quantity, "gap", "truth: all", CONTRAST.label, effect + mixed))
            rows.append(ground_truth_row(quantity, "gap", "truth: matched", CONTRAST.label, effect))
        for label in LABELS:
            rates = np.array([self.rate(label, level) for level in levels])
            middle = int(np.argmin(np.abs(np.asarray(levels))))
            centered = np.asarray(levels) - np.mean(levels)
            slope = float(rates / rates[middle] @ centered / (centered @ centered))
            rows.append(
                ground_truth_row(f"world-classifier: {label.name}", "slope", "truth: matched", "attribute", slope)
            )
        return Estimates.of(rows)

    def rate(self, label: Label, level: float) -> float:
        """Return the share of all images with the label when the attribute is edited to strength ``level``."""
        return float(np.mean([self._rate_on(side, label, level) for side in (1, -1)]))

    def _rate_on(self, side: int, label: Label, level: float) -> float:
        by_factor = {covariate.factor: covariate for covariate in COVARIATES}
        factor, weight = label.uniform
        mean, half = by_factor[factor].mean(side, self.confounding), by_factor[factor].half
        total = 0.0
        for values in product((0, 1), repeat=len(label.binary)):
            chance, height = 1.0, label.intercept + label.gender * level + weight * mean
            for value, (name, term) in zip(values, label.binary, strict=True):
                share = by_factor[name].mean(side, self.confounding)
                chance *= share if value else 1 - share
                height += term * value
            # height + weight x U >= 0 with U uniform in (-half, half)
            total += chance * float(np.clip((height / (abs(weight) * half) + 1) / 2, 0, 1))
        return total


def ground_truth_row(quantity: str, stat: str, sample: str, group: str, value: float) -> dict[str, object]:
    """Return a known value as a row of Estimates, without an interval."""
    return row(quantity, stat, sample, group, value, n=0, method="ground truth (simulation)")
