"""Portraits of synthetic identities, synthesized by a real generator, with known confounding.

An identity is a latent of the generator with the components along all attribute axes removed. Images of the identity
are that latent plus a small perturbation, moved along each axis: the attribute by group, age by identity, glasses,
smile and light by image. The association with the attribute is therefore known; everything else (shape, hair,
background, pose, skin) is independent of it.

The *counterfactual twin* of an identity has the same latents with only the attribute at the other level. The difference
between a rater's answers about identities and about their twins is the true effect that an audit should find.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import SpecError
from likewise.runtime.executor import Result
from likewise.runtime.pixels import save
from likewise.runtime.registry import Array, Generator, Pictures, create, to_pictures
from likewise.simulation.world import Covariate, ground_truth_row
from likewise.tables import Contrast, Estimates, Images

Floats = npt.NDArray[np.float64]
CONTRAST = Contrast("drawn_gender", focal="female", reference="male")
COVARIATES = (
    Covariate("drawn_age", "age", 0.0, 1.0, -0.5, per_identity=True),
    Covariate("drawn_eyeglasses", "eyeglasses", 0.30, 0.0, -0.30),
    Covariate("drawn_smile", "smile", 0.50, 0.0, 0.25),
    Covariate("drawn_light", "light", 0.0, 1.0, -0.5),
)
"""Confounders. Units are standard deviations over the generator's own faces; light is the exposure, in quarters."""
AXIS_RANGE: Mapping[str, tuple[float, float]] = {"age": (-1.0, 1.0), "eyeglasses": (-0.7, 2.0), "smile": (-1.1, 1.1)}
"""Positions along an axis for the values -1 (or no) and 1 (or yes), in standard deviations."""
GROUP_SHIFT = 1.5  # position of the two groups along the attribute's axis: + and - this
TRUNCATION = 0.6  # truncation toward the mean latent: fewer artifacts, less variety
CAPTURE = 0.2  # variation between images of one identity, relative to that between identities
EXPOSURE = 0.25
RATER_BASE = 0.70
RATERS = {"age": 0.04, "eyeglasses": -0.10, "smile": -0.05, "light": 0.06}
"""What one unit of a covariate adds to the probability that simulated raters answer "same person"."""


@dataclass(frozen=True)
class AttributeAxes:
    """Axes of a generator's latent space: how attributes are measured and changed, one at a time."""

    mean: Floats
    """``[D]``: the mean latent."""
    scores: Floats
    """``[k, D]``: gradients of the attributes' scores, which have standard deviation one."""
    steps: Floats
    """``[k, D]``: each step raises its own score by one and keeps the others."""
    names: tuple[str, ...]
    """``gender`` and the covariates."""

    def centered(self, w: Array) -> Floats:
        """Return deviations from the mean ``[n, D]`` with every score at zero."""
        away: Floats = w.astype(np.float64) - self.mean
        return away - (away @ self.scores.T) @ self.steps

    def at(self, base: Floats, levels: Mapping[str, Floats]) -> Array:
        """Return latents ``[n, D]``: the mean, the base, and every axis at its position ``[n]``."""
        moved = self.mean + base
        for name, level in levels.items():
            moved = moved + level[:, None] * self.steps[self.names.index(name)]
        return moved.astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class Portraits:
    """A population of synthetic identities.

    Parameters
    ----------
    identities, images_each
        Number of identities (half in each group) and of images of each.
    confounding
        Strength of the association between the covariates and the attribute, from 0 (none) to 1.
    people_effect
        What the attribute itself adds to the probability that simulated raters answer "same person".
    seed
        The same seed gives the same portraits.
    """

    identities: int = 120
    images_each: int = 3
    confounding: float = 1.0
    people_effect: float = -0.08
    seed: int = 0

    def __post_init__(self) -> None:
        if self.identities < 8 or self.images_each < 2:
            problem = f"{self.identities} identities with {self.images_each} images each are too few"
            raise SpecError(problem, fix="Use at least 8 identities and 2 images each.")
        if not 0 <= self.confounding <= 1:
            raise SpecError(f"Confounding is {self.confounding:g}", fix="Use a number from 0 to 1.")

    @cached_property
    def _side(self) -> Floats:
        return np.where(np.arange(self.identities) % 2 == 0, 1.0, -1.0)

    @cached_property
    def _person(self) -> npt.NDArray[np.int64]:
        return np.repeat(np.arange(self.identities), self.images_each)

    @cached_property
    def _values(self) -> dict[str, Floats]:
        """Return the values of the covariates, one per image."""
        rng = np.random.default_rng([self.seed, 1])
        values = {}
        for covariate in COVARIATES:
            rows = self._side if covariate.per_identity else self._side[self._person]
            sampled = covariate.sample(rows, self.confounding, rng)
            values[covariate.factor] = sampled[self._person] if covariate.per_identity else sampled
        return values

    @property
    def images(self) -> list[str]:
        """The image keys."""
        return [f"p{p:04d}-{k % self.images_each + 1}" for k, p in enumerate(self._person)]

    def table(self) -> Images:
        """Return the table that is the input of an audit."""
        frame = pd.DataFrame({"image": self.images, "identity": [f"p{p:04d}" for p in self._person]})
        frame[CONTRAST.column] = np.where(self._side[self._person] > 0, CONTRAST.focal, CONTRAST.reference)
        for covariate in COVARIATES:
            values = self._values[covariate.factor]
            frame[covariate.column] = np.round(values, 3) if covariate.half else values.astype(int)
        return Images(frame)

    def latents(self, generator: Generator, axes: AttributeAxes, *, twins: bool = False) -> Array:
        """Return the latents ``[n, D]`` of the images, or of their counterfactual twins."""
        state = np.random.SeedSequence([self.seed, 2]).generate_state(2)
        person = axes.centered(generator.sample_w(self.identities, int(state[0])))
        picture = axes.centered(generator.sample_w(len(self._person), int(state[1])))
        base = TRUNCATION * person[self._person] + CAPTURE * picture
        side = (-1 if twins else 1) * self._side[self._person]
        return axes.at(base, {"gender": GROUP_SHIFT * side, **self._levels()})

    def _levels(self) -> dict[str, Floats]:
        """Return the positions along the axes: a binary value takes either end, a number lies between them."""
        binary = {covariate.factor for covariate in COVARIATES if not covariate.half}
        levels = {}
        for name, (low, high) in AXIS_RANGE.items():
            value = self._values[name]
            share = value if name in binary else (value + 1) / 2
            levels[name] = low + (high - low) * share
        return levels

    def work(self, folder: Path, w: Array, generator: str) -> Rendering:
        """Return the work that renders the images of these latents into a folder."""
        return Rendering(
            folder, dict(zip(self.images, zip(w, self._values["light"], strict=True), strict=True)), generator
        )

    def chances(self) -> pd.DataFrame:
        """Return the probability that simulated raters answer "same person": ``image``, ``chance``."""
        chance = RATER_BASE + self.people_effect / 2 * self._side[self._person]
        chance = chance + sum(RATERS[name] * values for name, values in self._values.items())
        return pd.DataFrame({"image": self.images, "chance": np.round(chance, 6)})

    def truth(self) -> Estimates:
        """Return the ground truth of the simulated raters: the unmatched and the matched gap."""
        mixed = sum(RATERS[c.factor] * self.confounding * c.shift for c in COVARIATES)
        effects = {"truth: all": self.people_effect + mixed, "truth: matched": self.people_effect}
        return Estimates.of(
            ground_truth_row("people: same", "gap", name, CONTRAST.label, v) for name, v in effects.items()
        )


@dataclass(frozen=True)
class Rendering:
    """The work of one chunk: renders images and writes them; existing files are kept."""

    folder: Path
    plan: Mapping[str, tuple[Array, float]]
    """The latent and the light of each image."""
    generator: str
    size: int = 256

    def __call__(self, images: list[str]) -> Result:
        """Render these images and return how many were new."""
        wanted = [image for image in images if not self.path(image).is_file()]
        if wanted:
            for image, picture in zip(wanted, self.pictures(wanted), strict=True):
                save(self.path(image), picture)
        return {"drawn": np.array(len(wanted))}

    def path(self, image: str) -> Path:
        """Return the file of an image."""
        return self.folder / f"{image}.png"

    def pictures(self, images: list[str]) -> Pictures:
        """Render these images, ``[n, H, W, 3]``."""
        w = np.stack([self.plan[image][0] for image in images])
        light = np.array([self.plan[image][1] for image in images])
        generator = create("generator", self.generator)
        signals = generator.synthesize(np.repeat(w[:, None], generator.rows, axis=1), self.size)
        exposed = (signals + 1) * (1 + EXPOSURE * light[:, None, None, None]) - 1
        return to_pictures(np.clip(exposed, -1, 1).astype(np.float32))
