"""Fits the low-resolution exits of MobileStyleGAN: ``python -m likewise.models.training.exits TARGET``.

A teacher draws latents at 1024 px; each exit learns to read, from the features that it has, what the teacher's image
looks like averaged down. That reading is linear, so least squares solves it, and all follows from the seeds.

Latents are those that projection meets: from W, nearer to the mean and farther, and from W+, where rows come from
different faces. One thread, a few minutes of a CPU.
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
    width = leave.reading.weight.shape[1] + 1
    gram, cross = torch.zeros(width, width, dtype=torch.float64), torch.zeros(width, 12, dtype=torch.float64)
    with torch.inference_mode():
        for row, goal in zip(w[:, None], goals, strict=True):
            seen = torch.cat([(x[0] * style[0]).flatten(0, 1) for x, style in leave.stages(row, network)], dim=1)
            seen = torch.cat([seen, torch.ones(len(seen), 1)], dim=1)  # [pixels, width]
            gram += seen.T @ seen
            cross += seen.T @ bands(goal[None].float())[0].flatten(0, 1)
        solved = torch.linalg.solve(gram + RIDGE * gram.diagonal().diag(), cross).T.float()  # [12, width]
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


def fit_all(network: Network, target: Path, seen: tuple[Tensor, Tensor], new: tuple[Tensor, Tensor]) -> None:
    """Fit every exit on training latents, evaluate it on new ones, and write the readings to a file."""
    tensors: dict[str, Tensor] = {}
    for size in EXITS:
        goals, unseen = (F.adaptive_avg_pool2d(images.float(), size) for images in (seen[1], new[1]))
        leave = fitted(network, size, seen[0], goals)
        print(f"{size} px: {psnr(network, leave, new[0], unseen):.2f} dB on latents not seen", flush=True)  # noqa: T201
        tensors |= {f"{size}.{name}": value.contiguous() for name, value in leave.reading.state_dict().items()}
    save_file(tensors, target, {"network": "mobilestylegan-exits", "form": "1", "of": fingerprint(network)})


def main(target: Path, *, weights: str, images: int) -> None:
    """Draw what is to be learned, and learn it."""
    torch.set_num_threads(1)
    generator = MobileStyleGAN(weights)
    seen, new = latents(generator, images, seed=1), latents(generator, 16, seed=2)
    goals, unseen = (shown(generator.network, w, max(EXITS)) for w in (seen, new))
    fit_all(generator.network, target, (seen, goals), (new, unseen))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    parser.add_argument("--weights", default="mobilestylegan-ffhq")
    parser.add_argument("--images", type=int, default=80)
    given = parser.parse_args()
    main(given.target, weights=given.weights, images=given.images)
