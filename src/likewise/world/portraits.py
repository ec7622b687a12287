"""Portraits: people who exist nowhere, drawn by a real generator, whose attributes go together as planted.

A person is a latent of the generator that has been moved to the middle of every dial. Pictures of the person are that
latent, a little disturbed, with each dial where the plan says: the attribute on the person's side, age for the person,
glasses, smile and light for the picture. What goes together with the attribute is therefore known, and so is what does
not: everything else in a face (shape, hair, background, pose, skin) is drawn without regard to it.

A person's *twin* is the same latents with only the attribute on the other side. Nobody can photograph a twin; a
generator can draw one. What a rater says about people and their twins is the true effect that an audit should find.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.engine import Result
from likewise.errors import SpecError
from likewise.images import save
from likewise.plugins import Array, Generator, Pictures, create, to_pictures
from likewise.tables import Contrast, Estimates, Faces
from likewise.world.model import Covariate, planted_row

Floats = npt.NDArray[np.float64]
CONTRAST = Contrast("drawn_gender", focal="female", reference="male")
COVARIATES = (
    Covariate("drawn_age", "age", 0.0, 1.0, -0.8, per_identity=True),
    Covariate("drawn_eyeglasses", "eyeglasses", 0.30, 0.0, -0.50),
    Covariate("drawn_smile", "smile", 0.50, 0.0, 0.40),
    Covariate("drawn_light", "light", 0.0, 1.0, -0.8),
)
"""What goes together with the attribute. Numbers are in standard deviations of the generator's own faces; light is the
exposure, in quarters of the picture's own."""
DIALS: Mapping[str, tuple[float, float]] = {"age": (-1.0, 1.0), "eyeglasses": (-0.7, 2.0), "smile": (-1.1, 1.1)}
"""Where a dial stands for the values -1 (or no) and 1 (or yes), in standard deviations."""
SIDE = 1.5  # how far the attribute's two sides lie from the middle
NEARNESS = 0.6  # how near to the mean people are brought: fewer failures, less variety
CAPTURE = 0.2  # of how far two random faces differ, how much two pictures of a person do besides the dials
EXPOSURE = 0.25
PEOPLE_BASE = 0.70
PEOPLE = {"age": 0.04, "eyeglasses": -0.10, "smile": -0.05, "light": 0.06}
"""What one unit of a covariate adds to the chance that simulated people call two pictures the same person."""


@dataclass(frozen=True)
class Dials:
    """How a generator's latents are read and moved, one attribute at a time."""

    mean: Floats
    """``[D]``: the mean latent."""
    scores: Floats
    """``[k, D]``: gradients of the attributes' scores, which have standard deviation one."""
    steps: Floats
    """``[k, D]``: each raises its own score by one and leaves the others."""
    names: tuple[str, ...]
    """``gender`` and the dials."""

    def middled(self, w: Array) -> Floats:
        """Return deviations from the mean ``[n, D]`` without any part along the dials."""
        away: Floats = w.astype(np.float64) - self.mean
        return away - (away @ self.scores.T) @ self.steps

    def at(self, base: Floats, levels: Mapping[str, Floats]) -> Array:
        """Return latents: the mean, the base, and every dial at its level ``[n]``."""
        moved = self.mean + base
        for name, level in levels.items():
            moved = moved + level[:, None] * self.steps[self.names.index(name)]
        return moved.astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class Portraits:
    """A planted population."""

    identities: int = 120
    images_each: int = 3
    confounding: float = 1.0
    """How strongly the covariates go together with the attribute; 0 is not at all."""
    people_effect: float = -0.08
    """What the attribute itself adds to the chance that simulated people call two pictures the same person."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.identities < 8 or self.images_each < 2:
            got = f"{self.identities}, {self.images_each}"
            raise SpecError("there are at least 8 people with 2 pictures", got=got)
        if not 0 <= self.confounding <= 1:
            raise SpecError("confounding lies between 0 and 1", got=str(self.confounding))

    @cached_property
    def _side(self) -> Floats:
        return np.where(np.arange(self.identities) % 2 == 0, 1.0, -1.0)

    @cached_property
    def _person(self) -> npt.NDArray[np.int64]:
        return np.repeat(np.arange(self.identities), self.images_each)

    @cached_property
    def _values(self) -> dict[str, Floats]:
        """Return the covariates' values, one a picture."""
        rng = np.random.default_rng([self.seed, 1])
        values = {}
        for covariate in COVARIATES:
            rows = self._side if covariate.per_identity else self._side[self._person]
            drawn = covariate.drawn(rows, self.confounding, rng)
            values[covariate.factor] = drawn[self._person] if covariate.per_identity else drawn
        return values

    @property
    def images(self) -> list[str]:
        """The pictures' keys."""
        return [f"p{p:04d}-{k % self.images_each + 1}" for k, p in enumerate(self._person)]

    def faces(self) -> Faces:
        """Return the table that an auditor would have."""
        frame = pd.DataFrame({"image": self.images, "identity": [f"p{p:04d}" for p in self._person]})
        frame[CONTRAST.column] = np.where(self._side[self._person] > 0, CONTRAST.focal, CONTRAST.reference)
        for covariate in COVARIATES:
            values = self._values[covariate.factor]
            frame[covariate.column] = np.round(values, 3) if covariate.half else values.astype(int)
        return Faces(frame)

    def latents(self, generator: Generator, dials: Dials, *, twins: bool = False) -> Array:
        """Return the pictures' latents ``[n, D]``, or their twins'."""
        state = np.random.SeedSequence([self.seed, 2]).generate_state(2)
        person = dials.middled(generator.sample_w(self.identities, int(state[0])))
        picture = dials.middled(generator.sample_w(len(self._person), int(state[1])))
        base = NEARNESS * person[self._person] + CAPTURE * picture
        side = (-1 if twins else 1) * self._side[self._person]
        return dials.at(base, {"gender": SIDE * side, **self._levels()})

    def _levels(self) -> dict[str, Floats]:
        """Return where the dials stand: a coin takes one end or the other, a number lies between them."""
        coins = {covariate.factor for covariate in COVARIATES if not covariate.half}
        levels = {}
        for name, (low, high) in DIALS.items():
            value = self._values[name]
            share = value if name in coins else (value + 1) / 2
            levels[name] = low + (high - low) * share
        return levels

    def work(self, folder: Path, w: Array, generator: str) -> Drawing:
        """Return what draws the pictures of these latents into a folder."""
        return Drawing(
            folder, dict(zip(self.images, zip(w, self._values["light"], strict=True), strict=True)), generator
        )

    def chances(self) -> pd.DataFrame:
        """Return with which chance simulated people recognise a picture's person: ``image``, ``chance``."""
        chance = PEOPLE_BASE + self.people_effect / 2 * self._side[self._person]
        chance = chance + sum(PEOPLE[name] * values for name, values in self._values.items())
        return pd.DataFrame({"image": self.images, "chance": np.round(chance, 6)})

    def truth(self) -> Estimates:
        """Return the true gaps of the simulated people: as the faces come, and all else alike."""
        mixed = sum(PEOPLE[c.factor] * self.confounding * c.shift for c in COVARIATES)
        effects = {"truth: all": self.people_effect + mixed, "truth: alike": self.people_effect}
        return Estimates.of(planted_row("people: same", "gap", name, CONTRAST.label, v) for name, v in effects.items())


@dataclass(frozen=True)
class Drawing:
    """The work of one chunk: draws pictures and writes them; those that are there are not drawn again."""

    folder: Path
    plan: Mapping[str, tuple[Array, float]]
    """By picture: its latent and its light."""
    generator: str
    size: int = 256

    def __call__(self, images: list[str]) -> Result:
        """Draw these pictures."""
        wanted = [image for image in images if not self.path(image).is_file()]
        if wanted:
            w = np.stack([self.plan[image][0] for image in wanted])
            light = np.array([self.plan[image][1] for image in wanted])
            for image, picture in zip(wanted, self._lit(w, light), strict=True):
                save(self.path(image), picture)
        return {"drawn": np.array(len(wanted))}

    def path(self, image: str) -> Path:
        """Say where a picture lies."""
        return self.folder / f"{image}.png"

    def _lit(self, w: Array, light: Floats) -> Pictures:
        generator = create("generator", self.generator)
        signals = generator.synthesise(np.repeat(w[:, None], generator.rows, axis=1), self.size)
        exposed = (signals + 1) * (1 + EXPOSURE * light[:, None, None, None]) - 1
        return to_pictures(np.clip(exposed, -1, 1).astype(np.float32))
