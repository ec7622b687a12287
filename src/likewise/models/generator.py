"""What the torch generators share: they check latents, draw in batches and speak numpy to the slot."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import torch
from torch import Tensor

from likewise.errors import SpecError, VectorError, some
from likewise.plugins import Array, Signals


class TorchGenerator(ABC):
    """A differentiable generator; a subclass says how z becomes w and how w becomes an image."""

    name: str
    licence: str
    rows: int
    dim: int
    resolution: int
    device: torch.device
    sizes: tuple[int, ...]
    """The resolutions it can exit at, smallest first; the last is ``resolution``."""
    batch = 4
    """Images drawn at once by ``synthesise``; more gains nothing on a CPU and costs memory."""

    @abstractmethod
    def map(self, z: Tensor) -> Tensor:
        """Return latents ``w [n, dim]`` of normal ``z [n, dim]``."""

    @abstractmethod
    def _draw(self, w: Tensor, size: int) -> Tensor:
        """Draw ``w [n, rows, dim]`` at one of the sizes."""

    @abstractmethod
    def mean_w(self) -> Array:
        """The mean latent, ``[dim]``."""

    def draw(self, w: Tensor, *, size: int | None = None) -> Tensor:
        """Draw ``[n, 3, size, size]`` from ``w [n, rows, dim]`` or ``[n, dim]``; gradients reach ``w``.

        Values lie in [-1, 1] but for what overshoots: it is not cut off, because a cut has no gradient.
        """
        size = self.resolution if size is None else size
        if size not in self.sizes:
            raise SpecError(f"{self.name} draws at a size of {some(self.sizes, 8)}", got=repr(size))
        return self._draw(self._checked(w), size)

    def sample_w(self, n: int, seed: int) -> Array:
        """Draw ``[n, dim]`` latents; the same seed gives the same latents."""
        z = np.random.default_rng(seed).standard_normal((n, self.dim), dtype=np.float32)
        with torch.inference_mode():
            w: Array = self.map(torch.from_numpy(z).to(self.device)).cpu().numpy()
        return w

    def synthesise(self, w: Array, size: int | None = None) -> Signals:
        """Draw the signals of ``w [n, rows, dim]`` or ``[n, dim]``, cut off at -1 and 1."""
        size = self.resolution if size is None else size
        drawn = np.empty((len(w), 3, size, size), np.float32)
        with torch.inference_mode():
            for start in range(0, len(w), self.batch):
                part = torch.from_numpy(np.ascontiguousarray(w[start : start + self.batch], np.float32))
                image = self.draw(part.to(self.device), size=size).clamp_(-1, 1)
                drawn[start : start + self.batch] = image.cpu().numpy()
        return drawn

    def _checked(self, w: Tensor) -> Tensor:
        if w.ndim == 2 and w.shape[1] == self.dim:
            return w[:, None].expand(-1, self.rows, -1)
        if w.ndim != 3 or w.shape[1:] != (self.rows, self.dim):
            rule = f"a latent of {self.name} is [n, {self.rows}, {self.dim}] or [n, {self.dim}]"
            raise VectorError(rule, got=str(list(w.shape)))
        return w
