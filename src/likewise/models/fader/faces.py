"""Images to train a fader network on, drawn by the embedded generator: ``python -m likewise.models.fader.faces OUT``.

They show no real person. Latents are drawn, brought nearer to the mean, and then moved along the attributes' directions
until each attribute stands at random, on one side or the other, independently of all others: so the labels are
known, every attribute is balanced, and none is associated with another. Every face is drawn twice: the first attribute
on its two sides, the others by coins of their own, so that training knows which two show one face.

The directions are those of Singh et al. 2021, "Matched sample selection with GANs for mitigating attribute confounding"
(arXiv:2103.13455), found in StyleGAN2's W; they work in MobileStyleGAN's, too. They overlap, so what is moved along is
their dual basis: one score changes, the others stay.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
import torch.nn.functional as F  # noqa: N812

from likewise.models.generators.mobilestylegan import MobileStyleGAN
from likewise.runtime.pixels import save
from likewise.runtime.registry import Array, Pictures, to_pictures
from likewise.tables.io import write_frame

Floats = npt.NDArray[np.float64]
Sides = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Attribute:
    """An attribute: its direction, its sign there, and how far its two sides lie from the mean, in spreads of W."""

    column: str
    direction: str
    sign: float
    low: float
    high: float


ATTRIBUTES = (
    Attribute("perceived_gender", "perceived_gender", -1.0, -1.2, 1.2),  # +1 is perceived as female
    Attribute("smiling", "smiling", 1.0, -1.8, 1.8),
    Attribute("young", "age", -1.0, -1.2, 1.2),
    Attribute("eyeglasses", "eyeglasses", 1.0, -0.7, 2.2),
)
TWINS = 2  # drawings of one face: they share the latent but for the directions
SPREAD = 0.3  # of the sides themselves, so that they are not two points
NEARNESS = 0.65  # how near to the mean the latents are brought: fewer failures, less variety


def directions(path: Path) -> Floats:
    """Return the unit directions ``[k, dim]`` of the attributes."""
    with np.load(path, allow_pickle=False) as kept:
        rows = np.stack([attribute.sign * kept[attribute.direction].astype(np.float64) for attribute in ATTRIBUTES])
    unit: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def latents(generator: MobileStyleGAN, n: int, unit: Floats, *, seed: int) -> tuple[Array, Sides]:
    """Return latents ``[n, dim]``, two by two of one face, and the sides their attributes stand on, ``[n, k]``.

    What a latent itself says along the directions is taken out before the sides are set, so the sides say nothing
    of the rest: a code that keeps the face and forgets the sides exists.
    """
    mean = generator.mean_w()
    spread = ((generator.sample_w(4000, 0) - mean) @ unit.T).std(axis=0)
    faces = generator.sample_w(-(-n // TWINS), seed).astype(np.float64)
    w = mean + NEARNESS * (np.repeat(faces, TWINS, axis=0)[:n] - mean)
    side, within = _coins(n, seed)
    center = np.where(
        side > 0, [attribute.high for attribute in ATTRIBUTES], [attribute.low for attribute in ATTRIBUTES]
    )
    goal = (center + SPREAD * within) * spread
    moved = w + (goal - (w - mean) @ unit.T) @ np.linalg.pinv(unit).T
    return moved.astype(np.float32), side


def _coins(n: int, seed: int) -> tuple[Sides, Floats]:
    """Return the sides and where in them, in [-1, 1]; the second of two twins has the first attribute's other side."""
    chance = np.random.default_rng([seed, 1]).random(
        (n + n % 2, 2, len(ATTRIBUTES))
    )  # more faces leave the first alone
    side = np.where(chance[:, 0] < 0.5, -1, 1)
    side[1::TWINS, 0] = -side[::TWINS, 0]
    return side[:n], 2 * chance[:n, 1] - 1


def drawn(generator: MobileStyleGAN, w: Array, size: int) -> Pictures:
    """Draw latents ``[n, dim]`` by the generator's way out at twice the size or more, averaged down: no dither left."""
    large = generator.synthesize(w, min(way for way in generator.sizes if way >= 2 * size))
    return to_pictures(F.adaptive_avg_pool2d(torch.from_numpy(large), size).numpy())


def write_faces(
    out: Path,
    generator: MobileStyleGAN,
    unit: Floats,
    *,
    n: int,
    held: int,
    size: int,
    seed: int,
    part: tuple[int, int] = (0, 1),
) -> None:
    """Draw the faces and their tables, or every so many of them; those that are there are not drawn again.

    The last ``held`` are not learned from: they are for the model card.
    """
    w, side = latents(generator, n, unit, seed=seed)
    for row in range(part[0], n, part[1]):
        path = out / "images" / f"{row:06d}.png"
        if not path.is_file():
            save(path, drawn(generator, w[row : row + 1], size)[0])
    table = pd.DataFrame({"image": [f"{row:06d}" for row in range(n)], "face": [row // TWINS for row in range(n)]})
    for number, attribute in enumerate(ATTRIBUTES):
        table[attribute.column] = side[:, number]
    learned = (n - held) // TWINS * TWINS  # twins stay together
    write_frame(out / "faces.csv", table[:learned])
    write_frame(out / "held.csv", table[learned:])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--directions", type=Path, required=True, help="the paper's directions (.npz)")
    parser.add_argument("--faces", type=int, default=10_000, help="pictures in all, two a face")
    parser.add_argument("--held", type=int, default=2_000, help="how many of them are kept from the training")
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), help="which of how many parts, for processes")
    given = parser.parse_args()
    torch.set_num_threads(1)
    write_faces(
        given.out,
        MobileStyleGAN(),
        directions(given.directions),
        n=given.faces,
        held=given.held,
        size=given.size,
        seed=given.seed,
        part=tuple(given.part),
    )
