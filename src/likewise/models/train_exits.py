"""Distils the low-resolution exits of MobileStyleGAN: ``python -m likewise.models.train_exits TARGET``.

A teacher draws latents at 1024 px; each exit learns to draw the same latents as the teacher's image looks when it is
averaged down. Latents are those that projection meets: from W, nearer to the mean and farther, and from W+, where rows
come from different faces. Everything follows from the seeds; one thread, about half an hour of a CPU.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from safetensors.torch import save_file
from torch import Tensor

from likewise.models.mobilestylegan import EXITS, LAYERS, ROWS, Exit, Layer, MobileStyleGAN, Network, Unstyled

METADATA = {"network": "mobilestylegan-exits", "form": "1"}


@dataclass(frozen=True)
class Lesson:
    """How one exit is trained."""

    steps: int
    batch: int = 4
    rate: float = 2e-3
    seed: int = 0


LESSONS = {64: Lesson(2400), 128: Lesson(1400), 256: Lesson(500)}
"""The small exits are cheap to train and have the most to learn."""


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


def shown(generator: MobileStyleGAN, w: Tensor, size: int) -> Tensor:
    """Draw at full resolution and average down, half precision to spare memory."""
    with torch.inference_mode():
        images = [F.adaptive_avg_pool2d(generator.draw(w[i : i + 1]), size).half() for i in range(len(w))]
    return torch.cat(images)


def untrained(network: Network, size: int) -> Exit:
    """Begin with the real weights: low bands as they are (averaged over the pixels they stand for), no detail."""
    leave = Exit(size).requires_grad_(False)
    for number, tail in enumerate(leave.tail, start=leave.layers_below):
        layer: Layer = network.layers[number]  # type: ignore[assignment]
        finer = 2 ** (number - leave.layers_below + 1)  # pixels of this layer along one of the exit's grid
        for own, real, bands in ((tail.conv1, layer.conv1, 4), (tail.conv2, layer.conv2, 1)):
            _begin(own, real, finer, bands)
    leave.to_img.weight.copy_(network.to_img.weight)
    leave.to_img.weight[3:] = 0
    leave.to_img.bias.copy_(network.to_img.bias)
    return leave.requires_grad_(True)


def _begin(own: Unstyled, real: Unstyled, finer: int, bands: int) -> None:
    channels = len(real.depthwise)
    own.depthwise.zero_()
    own.depthwise[:, :, 1, 1] = 1
    own.depthwise[:channels] = _coarse(real.depthwise, finer)
    own.pointwise.zero_()
    own.pointwise[:, :channels] = real.pointwise / (2 if bands == 4 else 1)  # a low band is twice the mean
    own.noise.copy_(F.avg_pool2d(real.noise, finer))
    own.bias.copy_(real.bias)


def _coarse(kernel: Tensor, finer: int) -> Tensor:
    """A step of one fine pixel is a step of 1/finer coarse ones: a kernel's arms shrink towards its middle."""
    arm = torch.eye(3)
    arm[0, :2] = torch.tensor([1 / finer, 1 - 1 / finer])
    arm[2, 1:] = torch.tensor([1 - 1 / finer, 1 / finer])
    return arm.T @ kernel @ arm


def train(network: Network, leave: Exit, w: Tensor, goals: Tensor, lesson: Lesson) -> Iterator[float]:
    """Train one exit by mean squared error; yields the loss of each step."""
    rng = np.random.default_rng(lesson.seed)
    adam = torch.optim.Adam(leave.parameters(), lr=lesson.rate, betas=(0.9, 0.99))
    for step in range(lesson.steps):
        warm, cold = min(1.0, (step + 1) / 50), (1 + math.cos(math.pi * step / lesson.steps)) / 2
        adam.param_groups[0]["lr"] = lesson.rate * warm * cold
        rows = torch.from_numpy(rng.choice(len(w), lesson.batch, replace=False))
        with torch.no_grad():
            x = network.features(w[rows], leave.layers_below)
        loss = F.mse_loss(leave(x, w[rows], network), goals[rows].float())
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
        yield loss.item()


def psnr(network: Network, leave: Exit, w: Tensor, goals: Tensor) -> float:
    """Return the mean over images of the peak signal-to-noise ratio in dB; the peak is 2, from -1 to 1."""
    with torch.inference_mode():
        errors = [
            F.mse_loss(
                leave(network.features(row[None], leave.layers_below), row[None], network).clamp(-1, 1),
                goal[None].float().clamp(-1, 1),
            )
            for row, goal in zip(w, goals, strict=True)
        ]
    return float(np.mean([10 * math.log10(4 / error.item()) for error in errors]))


def main(target: Path, *, weights: str, images: int) -> None:
    """Train all exits and write them, in half precision, to one file."""
    torch.set_num_threads(1)
    generator = MobileStyleGAN(weights)
    network = generator.network
    w, fresh = latents(generator, images, seed=1), latents(generator, 64, seed=2)
    goals, unseen = shown(generator, w, max(EXITS)), shown(generator, fresh, max(EXITS))
    tensors = {}
    for size in EXITS:
        leave = untrained(network, size)
        small, small_unseen = (F.adaptive_avg_pool2d(goal.float(), size).half() for goal in (goals, unseen))
        before = psnr(network, leave, fresh, small_unseen)
        for step, loss in enumerate(train(network, leave, w, small, LESSONS[size])):
            if step % 100 == 0:
                print(f"{size} px, step {step}: mean squared error {loss:.5f}", flush=True)  # noqa: T201
        after = psnr(network, leave, fresh, small_unseen)
        print(f"{size} px: {before:.2f} dB before, {after:.2f} dB after, on latents not seen", flush=True)  # noqa: T201
        tensors |= {f"{size}.{name}": value.detach().half() for name, value in leave.state_dict().items()}
        save_file(tensors, target, METADATA)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    parser.add_argument("--weights", default="mobilestylegan-ffhq")
    parser.add_argument("--images", type=int, default=800)
    given = parser.parse_args()
    assert LAYERS == 7
    main(given.target, weights=given.weights, images=given.images)
