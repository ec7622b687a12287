"""sampled: faces that nobody has, drawn from a generator and described by networks, for directions to be fitted on.

A latent of W is drawn by the seed, its face at a low-resolution exit where the generator has one, and the networks of
describe say what they see. Nothing is kept of the faces but the first few, to be looked at: the seed draws them again.
Faces come in blocks of a hundred. A block depends only on the seed and its number, so more can be added later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.engine import Engine, Progress, Result
from likewise.errors import SpecError
from likewise.make.attributes import describer
from likewise.make.describe_spec import DescribeSpec
from likewise.plugins import Generator, Pictures, create, to_pictures
from likewise.tables import Faces, Vectors

BLOCK = 100
SHOWN = 40
"""Faces of the first block that are kept, to be looked at."""


@dataclass(frozen=True, kw_only=True)
class SampleSpec:
    """Which faces are drawn, and what is asked about them."""

    generator: str = "mobilestylegan"
    """The slot's occupant that draws."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The generator's own options."""
    faces: int = 4000
    """How many; a multiple of a hundred."""
    size: int = 256
    """Pixels they are drawn at; a generator without that exit draws at its own resolution."""
    seed: int = 0
    describe: DescribeSpec = field(default_factory=DescribeSpec)
    """What the networks are asked."""

    def __post_init__(self) -> None:
        if self.faces < BLOCK or self.faces % BLOCK:
            raise SpecError(f"faces come in blocks of {BLOCK}", got=str(self.faces))
        if self.seed < 0:
            raise SpecError("a seed is 0 or more", got=str(self.seed))

    @property
    def images(self) -> list[str]:
        """The keys of the faces."""
        return [f"{self.seed}-{number:06d}" for number in range(self.faces)]


@dataclass(frozen=True)
class Drawing:
    """The work of one block: latents, their faces, and what is said of them."""

    spec: SampleSpec

    def __call__(self, images: list[str]) -> Result:
        """Draw and describe these faces."""
        generator: Generator = create("generator", self.spec.generator, self.spec.options)
        w = latents(generator, self.spec, images)
        pictures = drawn(generator, w, self.spec.size)
        kept = pictures[: SHOWN if images[0] == self.spec.images[0] else 0]
        return {"w": w, "shown": kept, **describer(self.spec.describe)(pictures)}


def latents(generator: Generator, spec: SampleSpec, images: list[str]) -> npt.NDArray[np.float32]:
    """Return the latents ``[n, dim]`` of a whole block; every block has a seed of its own."""
    block = int(images[0].split("-")[1]) // BLOCK
    return generator.sample_w(len(images), int(np.random.SeedSequence([spec.seed, block]).generate_state(1)[0]))


def drawn(generator: Generator, w: npt.NDArray[np.float32], size: int) -> Pictures:
    """Draw latents ``[n, dim]`` or ``[n, rows, dim]`` at this size, or at the generator's own resolution."""
    rows = w if w.ndim == 3 else np.repeat(w[:, None], generator.rows, axis=1)
    exits = getattr(generator, "sizes", (generator.resolution,))
    if size == generator.resolution or size not in exits:
        return to_pictures(generator.synthesise(rows))
    return to_pictures(generator.synthesise(rows, size))  # type: ignore[call-arg]  # exits are torch generators'


@dataclass(frozen=True)
class Sampled:
    """Faces that were drawn, their latents, and who said what about them."""

    faces: Faces
    vectors: Vectors
    made_by: Mapping[str, str]
    licences: Mapping[str, str]
    pictures: Pictures
    """The first few, to be looked at."""


def sample(
    spec: SampleSpec, *, engine: Engine | None = None, folder: Path | None = None, progress: Progress | None = None
) -> Sampled:
    """Draw faces and have them described; with a ``folder`` a killed run goes on where it was."""
    generator: Generator = create("generator", spec.generator, spec.options)
    networks = describer(spec.describe)  # a weight that is not there is said before any work is done
    blocks = replace(engine or Engine(), chunk=BLOCK)
    parts = list(blocks.map(Drawing(spec), spec.images, folder=folder, progress=progress))
    columns = {name: np.concatenate([part[name] for part in parts]) for name in spec.describe.columns}
    frame = pd.DataFrame({"image": spec.images, "identity": spec.images, **columns}).replace({"": None})
    return Sampled(
        Faces(frame.assign(source=f"drawn by {generator.name}")),
        Vectors(spec.images, np.concatenate([part["w"] for part in parts]), source=f"{generator.name}, W, sampled"),
        networks.made_by(),
        {generator.name: generator.licence, **networks.licences()},
        np.concatenate([part["shown"] for part in parts]),
    )
