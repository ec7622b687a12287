"""Faces to train a fader network on, drawn by the embedded generator: ``python -m likewise.models.fader_faces OUT``.

Nobody real is in them. Latents are drawn, brought nearer to the mean, and then moved along the attributes' directions
until each attribute stands where a coin says, on one side or the other, independently of all others: so the labels are
known, every attribute is balanced, and none goes along with another. The directions are those of Singh et al. 2021,
"Matched sample selection with GANs for mitigating attribute confounding" (arXiv:2103.13455), found in StyleGAN2's W;
they work in MobileStyleGAN's, too. They overlap, so what is moved along is their dual basis: one score changes, the
others stay.
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

from likewise.images import save
from likewise.models.mobilestylegan import Exit, MobileStyleGAN
from likewise.plugins import Array, Pictures, to_pictures
from likewise.tables.files import write_frame

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Dial:
    """An attribute: its direction, its sign there, and how far its two sides lie from the mean, in spreads of W."""

    column: str
    direction: str
    sign: float
    low: float
    high: float


DIALS = (
    Dial("perceived_gender", "perceived_gender", -1.0, -1.5, 1.5),  # +1 is perceived as female
    Dial("smiling", "smiling", 1.0, -1.8, 1.8),
    Dial("young", "age", -1.0, -1.2, 1.2),
    Dial("eyeglasses", "eyeglasses", 1.0, -0.7, 2.2),
)
HELD = 10  # one in so many faces is not learned from: the last ones, for the model card
SPREAD = 0.3  # of the sides themselves, so that they are not two points
NEARNESS = 0.65  # how near to the mean the latents are brought: fewer failures, less variety


def directions(path: Path) -> Floats:
    """Return the unit directions ``[k, dim]`` of the dials."""
    with np.load(path, allow_pickle=False) as kept:
        rows = np.stack([dial.sign * kept[dial.direction].astype(np.float64) for dial in DIALS])
    unit: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def latents(generator: MobileStyleGAN, n: int, unit: Floats, *, seed: int) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return latents ``[n, dim]`` and the sides their attributes stand on, ``[n, k]`` of -1 and 1."""
    chance = np.random.default_rng([seed, 1]).random((n, 2, len(DIALS)))  # row by row: more faces leave the first alone
    mean = generator.mean_w()
    spread = ((generator.sample_w(4000, 0) - mean) @ unit.T).std(axis=0)
    w = mean + NEARNESS * (generator.sample_w(n, seed).astype(np.float64) - mean)
    side = np.where(chance[:, 0] < 0.5, -1, 1)
    centre = np.where(side > 0, [dial.high for dial in DIALS], [dial.low for dial in DIALS])
    goal = (centre + SPREAD * (2 * chance[:, 1] - 1)) * spread
    moved = w + (goal - (w - mean) @ unit.T) @ np.linalg.pinv(unit).T
    return moved.astype(np.float32), side


def drawn(generator: MobileStyleGAN, w: Array, size: int) -> Pictures:
    """Draw latents ``[n, dim]`` at a small size: exact up to 128 px, coarse above, then averaged down.

    Three times as fast as the whole way to 1024 px; at 64 px the difference is not seen (tests hold it to 30 dB).
    """
    network, pictures = generator.network, []
    leave, read = Exit(256, network), network.to_img
    with torch.inference_mode():
        for row in torch.from_numpy(w).to(generator.device):
            *_, (x, style) = leave.stages(row.expand(1, generator.rows, -1), network)  # x [1, c, 128, 128]
            low = torch.einsum("oc,c,chw->ohw", read.weight[:3], style[0], x[0]) + read.bias[:3, None, None]
            pictures.append(
                F.adaptive_avg_pool2d(low / 2, size).clamp(-1, 1).cpu().numpy()
            )  # a low band is twice the mean
    return to_pictures(np.stack(pictures))


def write_faces(
    out: Path, generator: MobileStyleGAN, unit: Floats, *, n: int, size: int, seed: int, part: tuple[int, int] = (0, 1)
) -> None:
    """Draw the faces and their table, or every so many of them; those that are there are not drawn again."""
    w, side = latents(generator, n, unit, seed=seed)
    for row in range(part[0], n, part[1]):
        path = out / "images" / f"{row:06d}.png"
        if not path.is_file():
            save(path, drawn(generator, w[row : row + 1], size)[0])
    table = pd.DataFrame({"image": [f"{row:06d}" for row in range(n)]})
    for number, dial in enumerate(DIALS):
        table[dial.column] = side[:, number]
    write_frame(out / "faces.csv", table[: n - n // HELD])
    write_frame(out / "held.csv", table[n - n // HELD :])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--directions", type=Path, required=True, help="the paper's directions (.npz)")
    parser.add_argument("--faces", type=int, default=5_000)
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
        size=given.size,
        seed=given.seed,
        part=tuple(given.part),
    )
