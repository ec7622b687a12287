"""Fits the low-resolution exits of MobileStyleGAN: ``python -m likewise.models.training.exits TARGET --latents DIR``.

A teacher draws latents at 1024 px; each exit learns to read, from the features that it has, what the teacher's image
looks like averaged down. That reading is linear, so least squares solves it, and all follows from the seeds.

Latents are those that projection meets: from W, nearer to the mean and farther, with rows of two faces, and those to
which photographs were projected (``benchmarks.fairface``), whose rows lie farther apart than those of any sample. Every
fifth of these is kept apart for evaluation. One thread, a few minutes of a CPU.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from safetensors.torch import save_file
from torch import Tensor

from likewise.models.generators.mobilestylegan import EXITS, ROWS, Exit, MobileStyleGAN, Network, fingerprint

RIDGE = 1e-5
"""Of the features' own power: keeps directions that the sample hardly shows from being read."""

SAMPLED = 0.4
"""Share of sampled latents among those to learn from: exits are to stay right for them, too."""
APART = 5
"""One projected latent in so many is kept apart."""
ASTRAY = 8.0
"""A number of a latent that large was found by a descent that ended in noise: of others the largest is below 5."""


def latents(generator: MobileStyleGAN, n: int, seed: int) -> Tensor:
    """Draw ``[n, rows, dim]``: faces at 0.4 to 1.1 of their distance from the mean; in half of them rows are mixed."""
    rng = np.random.default_rng(seed)
    faces = generator.sample_w(2 * n, seed).reshape(n, 2, 1, -1)
    mean = generator.mean_w()
    reach = rng.uniform(0.4, 1.1, (n, 1, 1)).astype(np.float32)
    cut = np.where(rng.random(n) < 0.5, rng.integers(1, ROWS, n), ROWS)
    second = (np.arange(ROWS) >= cut[:, None])[..., None]
    rows = np.where(second, faces[:, 1], faces[:, 0])
    return torch.from_numpy(mean + reach * (rows - mean))


def refined(folder: Path) -> tuple[Tensor, Tensor]:
    """Return the projected latents ``[n, rows, dim]`` of a folder to learn from, and those kept apart."""
    paths = [path for path in sorted(folder.glob("*.npy")) if not path.name.endswith(".part.npy")]
    every = torch.from_numpy(np.stack([np.load(path) for path in paths])).float()
    every = every[(every.abs() < ASTRAY).all(dim=2).all(dim=1)]
    apart = torch.arange(len(every)) % APART == APART - 1
    return every[~apart], every[apart]


def shown(network: Network, w: Tensor, size: int) -> Tensor:
    """Draw at full resolution and average down; half precision spares memory and is finer than a byte."""
    with torch.inference_mode():
        return torch.cat([F.adaptive_avg_pool2d(network(row), size).half() for row in w[:, None]])


def bands(image: Tensor) -> Tensor:
    """Take an image ``[n, 3, 2h, 2w]`` apart into the coefficients ``[n, h, w, 12]`` that ``haar`` puts together."""
    a, b, c, d = (image[..., i::2, j::2] for i in (0, 1) for j in (0, 1))
    high = torch.stack([a + b - c - d, a - b + c - d, a - b - c + d], dim=2).flatten(1, 2)
    return torch.cat([a + b + c + d, high], dim=1).permute(0, 2, 3, 1) / 2


def fitted(network: Network, size: int, w: Tensor, goals: Tensor) -> Exit:
    """Return the exit whose reading is the least-squares solution over all pixels of these images."""
    leave = Exit(size, network)
    read, width = leave.reading.weight.shape
    gram = torch.zeros(width + 1, width + 1, dtype=torch.float64)
    cross = torch.zeros(width + 1, read, dtype=torch.float64)
    with torch.inference_mode():
        for row, goal in zip(w[:, None], goals, strict=True):
            seen = torch.cat([(x[0] * style[0]).flatten(0, 1) for x, style in leave.stages(row, network)], dim=1)
            seen = torch.cat([seen, torch.ones(len(seen), 1)], dim=1)  # [pixels, width + 1]
            wanted = bands(goal[None].float()) if leave.halved else goal[None].float().permute(0, 2, 3, 1)
            gram += seen.T @ seen
            cross += seen.T @ wanted[0].flatten(0, 1)
        solved = torch.linalg.solve(gram + RIDGE * gram.diagonal().diag(), cross).T.float()  # [read, width + 1]
    with torch.no_grad():
        leave.reading.weight.copy_(solved[:, :-1])
        leave.reading.bias.copy_(solved[:, -1])
    return leave


def psnr(network: Network, leave: Exit, w: Tensor, goals: Tensor) -> float:
    """Return the mean over images of the peak signal-to-noise ratio in dB; the peak is 2, from -1 to 1."""
    with torch.inference_mode():
        drawn = torch.cat([leave(row, network) for row in w[:, None]]).clamp(-1, 1)
        errors = (drawn - goals.float().clamp(-1, 1)).square().mean(dim=(1, 2, 3))
    return float((10 * torch.log10(4 / errors)).mean())


def fit_all(network: Network, target: Path, seen: Tensor, new: dict[str, Tensor]) -> None:
    """Fit every exit on latents, evaluate it on new ones of each kind, and write the readings to a file."""
    tensors: dict[str, Tensor] = {}
    goals, unseen = shown(network, seen, max(EXITS)), {kind: shown(network, w, max(EXITS)) for kind, w in new.items()}
    for size in EXITS:
        leave = fitted(network, size, seen, F.adaptive_avg_pool2d(goals.float(), size))
        for kind, w in new.items():
            left = psnr(network, leave, w, F.adaptive_avg_pool2d(unseen[kind].float(), size))
            print(f"{size} px: {left:.2f} dB on {len(w)} {kind} latents not seen", flush=True)  # noqa: T201
        tensors |= {f"{size}.{name}": value.contiguous() for name, value in leave.reading.state_dict().items()}
    save_file(tensors, target, {"network": "mobilestylegan-exits", "form": "1", "of": fingerprint(network)})


def main(target: Path, folder: Path, *, weights: str, images: int) -> None:
    """Draw what is to be learned, a part of it sampled and the rest projected, and learn it."""
    torch.set_num_threads(1)
    generator = MobileStyleGAN(weights)
    projected, apart = refined(folder)
    sampled = round(SAMPLED * images)
    seen = torch.cat([latents(generator, sampled, seed=1), projected[: images - sampled]])
    fit_all(generator.network, target, seen, {"sampled": latents(generator, 16, seed=2), "projected": apart[:16]})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    parser.add_argument("--latents", type=Path, required=True, help="folder of projected latents (*.npy)")
    parser.add_argument("--weights", default="mobilestylegan-ffhq")
    parser.add_argument("--images", type=int, default=100)
    given = parser.parse_args()
    main(given.target, given.latents, weights=given.weights, images=given.images)
