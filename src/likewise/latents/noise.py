"""Noise maps on the way of a projection: a generator that has them may move copies of them, image by image.

StyleGAN2 adds a map of noise at each convolution, for what is too fine to be styled: strands of hair, pores. The
published projector moves these maps together with the latent and holds them to being noise: after each step they are
brought back to mean 0 and mean square 1, and correlated neighbors are penalized at every scale
(Karras et al. 2020, appendix D). The maps are only an aid: what is stored of an image is its latent, and whoever draws
that latent again draws it with the generator's own noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast, runtime_checkable

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from likewise.models.differentiable import DifferentiableGenerator

COARSEST = 8  # px: the last scale at which neighbors are compared


@runtime_checkable
class HasNoise(Protocol):
    """A generator whose noise can be given."""

    def noise_maps(self) -> list[Tensor]:
        """Return its own maps, ``[size, size]``; none where it draws without noise."""

    def draw_with(self, w: Tensor, noise: Sequence[Tensor]) -> Tensor:
        """Draw with other maps, ``[n, 1, size, size]``."""


class NoiseMaps:
    """Maps for ``n`` images, or none for 0. All begin at the same draw of the seed, so images do not see each other."""

    def __init__(self, generator: DifferentiableGenerator, n: int, *, seed: int) -> None:
        self._generator = generator
        own = generator.noise_maps() if n and isinstance(generator, HasNoise) else []
        draw = torch.Generator().manual_seed(seed)
        begin = [torch.randn(1, 1, *part.shape[-2:], generator=draw) for part in own]
        self.maps = [part.repeat(n, 1, 1, 1).to(generator.device).requires_grad_() for part in begin]
        self.normalize()

    def drawing(self) -> DifferentiableGenerator:
        """Return the generator as one that draws with these maps at full size; without any, the generator itself."""
        return cast("DifferentiableGenerator", _Drawing(self._generator, self.maps)) if self.maps else self._generator

    def penalty(self) -> Tensor | float:
        """Return how far the maps are from noise, ``[n]``."""
        return sum((unlike_noise(part) for part in self.maps), torch.zeros(())) if self.maps else 0.0

    def normalize(self) -> None:
        """Bring each map back to mean 0 and mean square 1."""
        with torch.no_grad():
            for part in self.maps:
                part.sub_(part.mean(dim=(1, 2, 3), keepdim=True))
                part.mul_(part.square().mean(dim=(1, 2, 3), keepdim=True).rsqrt())


def unlike_noise(x: Tensor) -> Tensor:
    """Return the squared correlation of neighbors of ``[n, 1, s, s]``, both ways, summed over scales: ``[n]``."""
    total = x.new_zeros(len(x))
    while True:
        for side in (2, 3):
            total = total + (x * x.roll(1, dims=side)).mean(dim=(1, 2, 3)).square()
        if x.shape[-1] <= COARSEST:
            return total
        x = F.avg_pool2d(x, 2)


class _Drawing:
    """A generator seen through given noise."""

    def __init__(self, generator: DifferentiableGenerator, maps: list[Tensor]) -> None:
        self._generator, self._maps = generator, maps

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)

    def draw(self, w: Tensor, *, size: int | None = None) -> Tensor:
        """Draw at full size: previews have no noise of their own."""
        if size not in (None, self._generator.resolution):
            return self._generator.draw(w, size=size)
        return cast("HasNoise", self._generator).draw_with(w, self._maps)
