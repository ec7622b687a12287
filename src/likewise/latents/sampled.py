"""Sampled faces: synthetic identities drawn by a generator and described by networks, to fit directions on.

A latent of W is drawn by the seed, its face at a low-resolution exit where the generator has one, and the networks of
describe label it. Only the first few pictures are kept, for inspection: the seed draws the others again.
Images come in blocks of a hundred. A block depends only on the seed and its number, so more can be added later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.data.describe import describer
from likewise.data.describe_spec import DescribeSpec
from likewise.errors import SpecError
from likewise.runtime.executor import Executor, Progress, Result
from likewise.runtime.registry import Generator, Pictures, create, to_pictures
from likewise.tables import Images, Vectors

BLOCK = 100
SHOWN = 40
"""Pictures of the first block that are kept for inspection."""


@dataclass(frozen=True, kw_only=True)
class SampleSpec:
    """Which faces are drawn, and what is asked about them."""

    generator: str = "mobilestylegan"
    """The generator component."""
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
            raise SpecError(f"faces is {self.faces}", fix=f"Give a multiple of {BLOCK}.")
        if self.seed < 0:
            raise SpecError(f"seed is {self.seed}", fix="Give 0 or more.")

    @property
    def images(self) -> list[str]:
        """The keys of the faces."""
        return [f"{self.seed}-{number:06d}" for number in range(self.faces)]


@dataclass(frozen=True)
class Drawing:
    """The work of one block: latents, their pictures and their labels."""

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
        return to_pictures(generator.synthesize(rows))
    return to_pictures(generator.synthesize(rows, size))  # type: ignore[call-arg]  # exits are torch generators'


@dataclass(frozen=True)
class Sampled:
    """Images that were drawn, their latents, and who said what about them."""

    faces: Images
    vectors: Vectors
    made_by: Mapping[str, str]
    licenses: Mapping[str, str]
    pictures: Pictures
    """The first few, for inspection."""


def sample(
    spec: SampleSpec, *, engine: Executor | None = None, folder: Path | None = None, progress: Progress | None = None
) -> Sampled:
    """Draw faces and have them described; with a ``folder`` a killed run goes on where it was."""
    generator: Generator = create("generator", spec.generator, spec.options)
    networks = describer(spec.describe)  # a missing weight is reported before any work is done
    blocks = replace(engine or Executor(), chunk=BLOCK)
    parts = list(blocks.map(Drawing(spec), spec.images, folder=folder, progress=progress))
    columns = {name: np.concatenate([part[name] for part in parts]) for name in spec.describe.columns}
    frame = pd.DataFrame({"image": spec.images, "identity": spec.images, **columns}).replace({"": None})
    return Sampled(
        Images(frame.assign(source=f"drawn by {generator.name}")),
        Vectors(spec.images, np.concatenate([part["w"] for part in parts]), source=f"{generator.name}, W, sampled"),
        networks.made_by(),
        {generator.name: generator.license, **networks.licenses()},
        np.concatenate([part["shown"] for part in parts]),
    )
