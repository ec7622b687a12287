"""What the torch generators share: checks of latents, batches, and the numpy interface of the component kind."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import torch
from torch import Tensor

from likewise.errors import SpecError, VectorError, some
from likewise.runtime.registry import Array, Signals


class TorchGenerator(ABC):
    """A differentiable generator; a subclass says how z becomes w and how w becomes an image."""

    name: str
    license: str
    rows: int
    dim: int
    z_dim: int
    resolution: int
    device: torch.device
    sizes: tuple[int, ...]
    """The resolutions it can exit at, smallest first; the last is ``resolution``."""
    truncation = 1.0
    """How far from the mean sampled latents lie: 1 leaves them alone, 0 gives the mean face."""
    batch = 4
    """Images drawn at once by ``synthesize``; more gains nothing on a CPU and costs memory."""

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
            raise SpecError(f"{self.name} cannot draw at size {size!r}", fix=f"Choose one of {some(self.sizes, 8)}.")
        return self._draw(self._checked(w), size)

    def sample_w(self, n: int, seed: int) -> Array:
        """Draw ``[n, dim]`` latents, truncated; the same seed gives the same latents."""
        z = np.random.default_rng(seed).standard_normal((n, self.z_dim), dtype=np.float32)
        with torch.inference_mode():
            w: Array = self.map(torch.from_numpy(z).to(self.device)).cpu().numpy()
        return w if self.truncation == 1 else truncate(w, self.mean_w(), self.truncation)

    def statistics_w(self, n: int = 10_000, seed: int = 0) -> tuple[Array, float]:
        """Return the mean ``[dim]`` of sampled latents and their spread: the root of their mean squared distance."""
        w = self.sample_w(n, seed).astype(np.float64)
        mean = w.mean(axis=0)
        return mean.astype(np.float32), float(np.sqrt(np.square(w - mean).sum(axis=1).mean()))

    def synthesize(self, w: Array, size: int | None = None) -> Signals:
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
            raise VectorError(
                f"Latents have the shape {list(w.shape)}; "
                f"{self.name} needs [n, {self.rows}, {self.dim}] or [n, {self.dim}]",
                fix="Use latents of this generator.",
            )
        return w


def truncate(w: Array, mean: Array, psi: float) -> Array:
    """Bring latents ``[..., dim]`` nearer to the mean: less variety, fewer failures."""
    nearer: Array = mean + np.float32(psi) * (w - mean)
    return nearer


def checked_truncation(truncation: float) -> float:
    """Return a truncation that makes sense, or say which do."""
    if not 0 <= truncation <= 2:
        raise SpecError(f"truncation is {truncation}; it must be between 0 (the mean face) and 2 (1: no truncation)")
    return truncation
