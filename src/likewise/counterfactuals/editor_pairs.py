"""Pairs to distill an editor from: a drawn face, and the same face moved along a conditional direction.

Viazovetskyi, Ivashkin and Kashin 2020, "StyleGAN2 Distillation for Feed-forward Image Manipulation", arXiv:2003.03581.
The embedded generator draws a latent as it is and moved along the direction of each attribute, while the
scores of the other attributes stay. No photograph has a part in it. In half of the faces the finer rows come from
a second latent, which varies light, color and texture.

Faces come in blocks. A block depends only on the seed and its number and is written at once, so a killed run loses one
block at most, and training may begin while more are drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F  # noqa: N812

from likewise.latents.directions import Directions, shipped
from likewise.models.distilled.network import EditorShape
from likewise.models.generators.base import TorchGenerator
from likewise.models.perception.segmentation import Segmenter
from likewise.runtime.registry import Array, Pictures, create, to_pictures
from likewise.tables.io import replacing

Floats = npt.NDArray[np.float64]
BLOCK = 20
TRUNCATION = (0.6, 1.0)
"""How near to the mean latents are brought: from, to."""
SHIFT = (0.25, 1.2)
"""How far a face is moved to each side, in distances between the two ends of an attribute: from, to."""
SAME_SIDE = 0.3
"""Share of faces that are moved farther out to their own side."""
LIMIT = 1.8
"""Where a move ends at most; -1 and 1 are the ends of the attribute, beyond lies extrapolation."""


@dataclass(frozen=True)
class Attribute:
    """An attribute that is edited: its direction, what stays, and which end is +1."""

    name: str
    direction: str
    toward: str
    """What +1 looks like."""
    free: tuple[str, ...] = ()
    """Attributes that may change with it; all others are held."""
    turned: bool = False
    """Whether +1 is the lower end of the score."""
    reshapes: bool = False
    """Whether hair and outline move with it, so that the facial skin has to be found again."""


ATTRIBUTES = (
    Attribute("perceived_gender", "predicted_gender", "female", turned=True, reshapes=True),
    Attribute("skin_tone", "measured_ita", "darker", free=("measured_hue", "measured_brightness"), turned=True),
)


@dataclass(frozen=True)
class Mover:
    """Moves latents along an attribute, in units of half the distance between its ends."""

    gradient: Floats
    step: Floats
    center: float
    half: float

    @classmethod
    def of(cls, directions: Directions, attribute: Attribute) -> Mover:
        """Return the mover along the conditional direction."""
        held = [n for n in directions.names if n != attribute.direction and n not in attribute.free]
        row = directions.names.index(attribute.direction)
        assert directions.ends is not None  # shipped directions have them
        low, high = directions.ends[row][:: -1 if attribute.turned else 1]
        step = directions.step(attribute.direction, hold=held)
        return cls(directions.gradients[row], step, float(low + high) / 2, float(high - low) / 2)

    def place(self, w: Array) -> Floats:
        """Return where latents ``[n, L, D]`` stand: -1 and 1 are the ends."""
        return np.asarray((w.mean(axis=1) @ self.gradient - self.center) / self.half, dtype=np.float64)

    def moved(self, w: Array, to: Floats) -> Array:
        """Return the latents at other places ``[n]``."""
        amount = (to - self.place(w)) * self.half
        return np.asarray(w + (amount[:, None, None] * self.step), dtype=np.float32)


def latents(generator: TorchGenerator, n: int, rng: np.random.Generator) -> Array:
    """Draw ``[n, L, D]``; in half of the faces the finer rows come from a second latent."""
    faces = generator.sample_w(2 * n, int(rng.integers(2**31))).reshape(n, 2, 1, -1)
    rows = generator.rows
    cut = np.where(rng.random(n) < 0.5, rng.integers(rows // 3, rows - 4, n), rows)
    second = (np.arange(rows) >= cut[:, None])[..., None]
    mixed = np.where(second, faces[:, 1], faces[:, 0])
    near = rng.uniform(*TRUNCATION, (n, 1, 1))
    mean = generator.mean_w()
    return np.asarray(mean + near * (mixed - mean), dtype=np.float32)


def targets(place: Floats, rng: np.random.Generator) -> Floats:
    """Return where faces ``[n]`` are moved to: mostly toward and beyond the middle, a third of them farther out."""
    inward = np.where(rng.random(len(place)) < SAME_SIDE, 1, -1) * np.where(place > 0, 1, -1)
    there = place + inward * 2 * rng.uniform(*SHIFT, len(place))
    return np.asarray(np.clip(there, np.minimum(place, -LIMIT), np.maximum(place, LIMIT)))


def draw_block(
    generator: TorchGenerator, segmenter: Segmenter, movers: list[Mover], *, size: int, way: int, seed: list[int]
) -> dict[str, npt.NDArray[np.generic]]:
    """Draw a block: pictures ``[n, v, s, s, 3]``, facial skin ``[n, v, s, s]`` and places ``[n, v, k]``.

    Of the ``v = 1 + k`` versions the first is the face itself; the others are its moves, one for each attribute.
    """
    rng = np.random.default_rng(seed)
    own = latents(generator, BLOCK, rng)
    versions = [own]
    for mover in movers:
        versions.append(mover.moved(own, targets(mover.place(own), rng)))
    pictures = np.stack([_drawn(generator, w, size, way) for w in versions], axis=1)
    places = np.stack([np.stack([mover.place(w) for mover in movers], axis=1) for w in versions], axis=1)
    skin = _skin(segmenter, pictures)
    return {"pictures": pictures, "skin": skin, "places": places.astype(np.float32)}


def _skin(segmenter: Segmenter, pictures: Pictures) -> npt.NDArray[np.bool_]:
    """Return the facial skin of all versions; where nothing is reshaped it is that of the face itself."""
    seen = [0, *(k for k, each in enumerate(ATTRIBUTES, start=1) if each.reshapes)]
    masks = [segmenter.masks(pictures[:, version], "face skin").astype(np.float32) for version in seen]
    small = [F.adaptive_avg_pool2d(torch.from_numpy(mask[:, None]), pictures.shape[2])[:, 0] for mask in masks]
    found = dict(zip(seen, (mask.numpy() >= 0.5 for mask in small), strict=True))
    return np.stack([found.get(version, found[0]) for version in range(pictures.shape[1])], axis=1)


def _drawn(generator: TorchGenerator, w: Array, size: int, way: int) -> Pictures:
    """Draw by the exit of ``way`` pixels, averaged down to ``size``; an exit of that very size is smoothed a little.

    The exits leave a faint checkerboard, which averaging or the binomial filter takes away.
    """
    signals = torch.from_numpy(generator.synthesize(w, way))
    if way > size:
        return to_pictures(F.adaptive_avg_pool2d(signals, size).numpy())
    line = torch.tensor([0.25, 0.5, 0.25]).expand(3, 1, 1, 3)
    rows = F.conv2d(F.pad(signals, (1, 1, 0, 0), mode="replicate"), line, groups=3)
    return to_pictures(F.conv2d(F.pad(rows, (0, 0, 1, 1), mode="replicate"), line.mT, groups=3).numpy())


def shape_and_held() -> tuple[EditorShape, dict[str, list[str]]]:
    """Return the shape of an editor of these attributes, and what is held for each."""
    names = shipped("mobilestylegan").names
    held = {a.name: [n for n in names if n != a.direction and n not in a.free] for a in ATTRIBUTES}
    toward = tuple(attribute.toward for attribute in ATTRIBUTES)
    return EditorShape(attributes=tuple(a.name for a in ATTRIBUTES), toward=toward), held


def draw_pairs(
    folder: Path, *, blocks: int, size: int = 128, seed: int = 0, fine: bool = True,
    log: Callable[[str], object] = lambda _: None,
) -> None:  # fmt: skip
    """Draw blocks that are not there yet; every fourth one, or none, by the sharper exit of twice the size."""
    generator = create("generator", "mobilestylegan", {})
    movers = [Mover.of(shipped("mobilestylegan"), attribute) for attribute in ATTRIBUTES]
    segmenter = Segmenter()
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(blocks):
        path = folder / f"{number:05d}.npz"
        if path.is_file():
            continue
        way = 2 * size if fine and number % 4 == 1 else size
        block = draw_block(generator, segmenter, movers, size=size, way=way, seed=[seed, number])
        with replacing(path) as temporary, temporary.open("wb") as handle:
            np.savez(handle, **block)  # type: ignore[arg-type]
        log(f"{path.name}: {BLOCK} faces")
