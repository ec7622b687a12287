"""The planted model: who is drawn, what goes together with the attribute, and what the raters make of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.engine import Progress, Silent
from likewise.errors import SpecError
from likewise.images import save
from likewise.plugins import to_pictures
from likewise.tables import Contrast, Estimates, Faces
from likewise.world.scene import FACTORS, SHAPES, draw

Floats = npt.NDArray[np.float64]
CONTRAST = Contrast("perceived_gender", focal="female", reference="male")
PERSON_SPREAD = 0.7  # of a person's shapes
CAPTURE_SPREAD = 0.15  # of one shape between two pictures of the same person


@dataclass(frozen=True)
class Covariate:
    """A factor that may go together with the attribute: uniform (``half`` wide each way), or a coin (``half`` 0)."""

    column: str
    factor: str
    centre: float
    half: float
    shift: float
    """How far the focal mean lies from the reference mean when confounding is 1, in factor units."""
    per_identity: bool = False
    origin: float = 0.0
    unit: float = 1.0
    """The table shows origin + unit x factor (years, say)."""

    def mean(self, side: int, confounding: float) -> float:
        """Return the mean on the focal (+1) or the reference (-1) side."""
        return self.centre + side * confounding * self.shift / 2

    def drawn(self, side: Floats, confounding: float, rng: np.random.Generator) -> Floats:
        """Draw the factor for rows on these sides."""
        mean = self.centre + side * confounding * self.shift / 2
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
TEXTURE = 1.0  # half-width of what no column names: it makes the images of one person go together

# What one unit of a factor (mean over a trial's two pictures) adds, besides the attribute's own effect.
RECOGNISER_BASE = 0.15
RECOGNISER = {"age": -0.03, "eyeglasses": 0.05, "smiling": 0.04, "light": -0.04, "yaw": 0.02, "texture": 0.05}
PEOPLE_BASE, PEOPLE_OFFSET = 0.70, 0.06
PEOPLE = {"age": 0.03, "eyeglasses": -0.06, "smiling": -0.04, "light": 0.05, "texture": -0.05}


@dataclass(frozen=True)
class Label:
    """A tag that is present where intercept + gender x attribute + terms >= 0; one term is uniform, others coins."""

    name: str
    intercept: float
    gender: float
    uniform: tuple[str, float]
    coins: tuple[tuple[str, float], ...] = ()


LABELS = (
    Label("Lipstick", -0.2, 0.30, ("age", -0.4)),
    Label("Necktie", 0.0, -0.25, ("age", 0.4)),
    Label("Spectacles", -0.5, 0.0, ("light", 0.5), (("eyeglasses", 1.2),)),
    Label("Grin", -0.5, 0.0, ("light", -0.5), (("smiling", 1.2),)),
)


@dataclass(frozen=True, kw_only=True)
class World:
    """Faces drawn from a known model. Its true effects are computed from the model, not estimated."""

    identities: int = 400
    images_each: int = 3
    confounding: float = 1.0
    """How strongly the covariates go together with the attribute; 0 is not at all."""
    effect: float = 0.08
    """What the attribute itself adds to the recogniser's distance between two pictures of one person."""
    people_effect: float = -0.08
    """What the attribute itself adds to the chance that people call them the same person."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.identities < 8 or self.images_each < 2:
            raise SpecError(
                "a world has at least 8 identities with 2 images",
                got=f"{self.identities}, {self.images_each}",
            )
        for covariate in COVARIATES:
            means = [covariate.mean(side, self.confounding) for side in (1, -1)]
            if not covariate.half and not all(0 <= mean <= 1 for mean in means):
                raise SpecError(
                    f"the share of {covariate.column!r} lies in 0 to 1",
                    got=str(means),
                    fix="Lower confounding.",
                )
        if not all(0 <= chance <= 1 for chance in self._chances()):
            raise SpecError(
                "people's chances lie in 0 to 1", got=str(self._chances()), fix="Lower confounding or effect."
            )

    def _chances(self) -> tuple[float, float]:
        """Return the least and the greatest chance that anybody calls a genuine pair the same."""
        reach = abs(self.people_effect) / 2 + PEOPLE_OFFSET + abs(PEOPLE["texture"]) * TEXTURE
        low, high = PEOPLE_BASE - reach, PEOPLE_BASE + reach
        for covariate in COVARIATES:
            weight, far = (
                PEOPLE.get(covariate.factor, 0.0),
                covariate.half + abs(self.confounding * covariate.shift) / 2,
            )
            ends = (-weight * far, weight * far) if covariate.half else (0.0, weight)
            low, high = low + min(ends), high + max(ends)
        return low, high

    def draw(self) -> tuple[Faces, npt.NDArray[np.float64]]:
        """Draw the faces and, row by row, their factors ``[n, F]``; half the identities are on each side."""
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
            values = covariate.drawn(rows, self.confounding, rng)
            values = values[person] if covariate.per_identity else values
            factors[:, FACTORS.index(covariate.factor)] = values
            shown = covariate.origin + covariate.unit * values
            frame[covariate.column] = np.round(shown, 3) if covariate.half else shown.astype(int)
        factors[:, FACTORS.index("texture")] = rng.uniform(-TEXTURE, TEXTURE, self.identities)[person]
        shapes = rng.normal(0, PERSON_SPREAD, (self.identities, 3))[person]
        factors[:, SHAPES] = shapes + rng.normal(0, CAPTURE_SPREAD, shapes.shape)
        return Faces(frame), factors

    def write(self, folder: Path, *, progress: Progress | None = None) -> tuple[Path, Path]:
        """Write the images and their table as an auditor would have them; return (images, table)."""
        faces, factors = self.draw()
        for key, picture in zip(faces.images, to_pictures(draw(factors)), strict=True):
            save(folder / "images" / f"{key}.png", picture)
            (progress or Silent()).advance(1)
        return folder / "images", faces.write(folder / "faces.csv")

    def truth(self, levels: Sequence[float] = (-2, -1, 0, 1, 2)) -> Estimates:
        """Return the true gaps (as the faces come, and all else alike) and the true slopes of the labels."""
        rows = []
        for quantity, effect, weights in (
            ("world-recogniser: distance", self.effect, RECOGNISER),
            ("people: same", self.people_effect, PEOPLE),
        ):
            mixed = sum(weights.get(c.factor, 0.0) * self.confounding * c.shift for c in COVARIATES)
            rows.append(planted_row(quantity, "gap", "truth: all", CONTRAST.label, effect + mixed))
            rows.append(planted_row(quantity, "gap", "truth: alike", CONTRAST.label, effect))
        for label in LABELS:
            rates = np.array([self.rate(label, level) for level in levels])
            middle = int(np.argmin(np.abs(np.asarray(levels))))
            centred = np.asarray(levels) - np.mean(levels)
            slope = float(rates / rates[middle] @ centred / (centred @ centred))
            rows.append(planted_row(f"world-classifier: {label.name}", "slope", "truth: alike", "attribute", slope))
        return Estimates.of(rows)

    def rate(self, label: Label, level: float) -> float:
        """Return the share of all faces that carry the label when the attribute stands at ``level``."""
        return float(np.mean([self._rate_on(side, label, level) for side in (1, -1)]))

    def _rate_on(self, side: int, label: Label, level: float) -> float:
        by_factor = {covariate.factor: covariate for covariate in COVARIATES}
        factor, weight = label.uniform
        mean, half = by_factor[factor].mean(side, self.confounding), by_factor[factor].half
        total = 0.0
        for tosses in product((0, 1), repeat=len(label.coins)):
            chance, height = 1.0, label.intercept + label.gender * level + weight * mean
            for toss, (coin, term) in zip(tosses, label.coins, strict=True):
                share = by_factor[coin].mean(side, self.confounding)
                chance *= share if toss else 1 - share
                height += term * toss
            # height + weight x U >= 0 with U uniform in (-half, half)
            total += chance * float(np.clip((height / (abs(weight) * half) + 1) / 2, 0, 1))
        return total


def planted_row(quantity: str, stat: str, sample: str, group: str, value: float) -> dict[str, object]:
    """Return a known value as a row for Estimates; it has no interval."""
    return {
        "quantity": quantity, "stat": stat, "sample": sample, "group": group, "estimate": value, "low": np.nan,
        "high": np.nan, "level": np.nan, "n": 0, "clusters": 0, "method": "from the planted model",
    }  # fmt: skip
