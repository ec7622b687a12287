"""A small differentiable generator and perceptual distance, for tests of everything that needs gradients."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from likewise.models.generators.base import TorchGenerator


class Tiny(TorchGenerator):
    """Each of four rows styles one scale of a 32 px image; the small exit leaves out the finest."""

    name, license = "tiny", "part of the tests"
    rows, dim, z_dim, resolution, sizes = 4, 8, 8, 32, (16, 32)

    def __init__(self) -> None:
        self.device = torch.device("cpu")
        self.drawn: list[int] = []
        rng = np.random.default_rng(5)
        self.patterns = [torch.from_numpy(rng.normal(size=(8, 3, s, s)).astype(np.float32)) for s in (4, 8, 16, 32)]

    def map(self, z: Tensor) -> Tensor:
        return 0.7 * z + 0.3

    def mean_w(self) -> np.ndarray:
        return np.full(self.dim, 0.3, np.float32)

    def _draw(self, w: Tensor, size: int) -> Tensor:
        self.drawn.append(size)
        total = torch.zeros(len(w), 3, size, size)
        for row, pattern in enumerate(self.patterns):
            part = torch.einsum("nd,dchw->nchw", torch.tanh(w[:, row]), pattern)
            total = total + F.interpolate(
                part, size=(size, size), mode="area" if pattern.shape[-1] > size else "nearest"
            )
        return total / 16


class Squares:
    """The mean squared difference of pixels, with gradients."""

    name, license, device = "squares", "part of the tests", torch.device("cpu")

    def compare(self, a: Tensor, b: Tensor) -> Tensor:
        return (a - b).square().mean(dim=(1, 2, 3))

    def embed(self, x: Tensor) -> Tensor:
        return x.flatten(1)

    def between(self, a: Tensor, b: Tensor) -> Tensor:
        return (a - b).square().mean(dim=1)

    def features(self, signals: np.ndarray) -> np.ndarray:
        return signals.reshape(len(signals), -1)

    def distance(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.square(a - b).mean(axis=(1, 2, 3))
