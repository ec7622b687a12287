"""StyleGAN2, as plain torch operations: any resolution, any channel width, skip or residual RGB.

Karras, Laine, Aittala, Hellsten, Lehtinen, Aila 2020, "Analyzing and Improving the Image Quality of StyleGAN",
arXiv:1912.04958; its variant with adaptive augmentation, arXiv:2006.06676, draws in the same way.

A style weighs the channels that come into a convolution; demodulation then brings what goes out back to unit size.
Weights are kept with their learning-rate gains multiplied in (``likewise.weights.convert.stylegan2``), so that nothing
here depends on who trained the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from likewise.errors import SpecError, VectorError, WeightsError
from likewise.models.detectors.landmarks import template
from likewise.models.device import device as find_device
from likewise.models.generators.base import TorchGenerator, checked_truncation
from likewise.models.state import fill, located, read_state
from likewise.runtime.registry import Array
from likewise.weights.convert.stylegan2.network import NETWORK, Config

Noise = Sequence[Tensor] | None


def unit(x: Tensor) -> Tensor:
    """Scale each row to a mean square of 1."""
    return x * (x.square().mean(dim=1, keepdim=True) + 1e-8).rsqrt()


def _taps(x: Tensor) -> Tensor:
    """The low-pass filter 1 3 3 1 in both directions, for each channel of ``x``; its gain makes up for the zeros."""
    line = x.new_tensor([1, 3, 3, 1]) / 4
    return torch.outer(line, line).expand(x.shape[1], 1, 4, 4)


def enlarge(x: Tensor) -> Tensor:
    """Double the size of ``[n, c, h, w]``: zeros between the pixels, then the low-pass filter."""
    return F.conv_transpose2d(x, _taps(x), stride=2, padding=1, groups=x.shape[1])


def activate(x: Tensor, bias: Tensor, clamp: float | None, gain: float = 1.0) -> Tensor:
    """Add the bias, bend what is negative, restore the variance, cut off."""
    x = F.leaky_relu(x + bias[:, None, None], 0.2) * (2**0.5 * gain)
    return x if clamp is None else x.clamp(-clamp * gain, clamp * gain)


class Modulated(nn.Module):
    """A convolution whose incoming channels are weighed by a style."""

    def __init__(self, config: Config, below: int, here: int, kernel: int) -> None:
        super().__init__()
        self.style = nn.Linear(config.w_dim, below)
        self.weight = nn.Parameter(torch.empty(here, below, kernel, kernel))
        self.bias = nn.Parameter(torch.empty(here))


class Conv(Modulated):
    """A modulated and demodulated 3 x 3 convolution with noise; it doubles the size if asked to."""

    def __init__(self, config: Config, below: int, here: int, size: int, *, up: bool) -> None:
        super().__init__(config, below, here, 3)
        self.up, self.clamp = up, config.clamp
        if config.noise:
            self.noise: Tensor
            self.register_buffer("noise", torch.empty(size, size))
            self.noise_strength = nn.Parameter(torch.empty(()))

    def forward(self, x: Tensor, w: Tensor, noise: Tensor | None, gain: float = 1.0) -> Tensor:
        """Return ``[n, here, size, size]``."""
        style = self.style(w)  # [n, below]
        x = x * style[:, :, None, None]
        if self.up:
            x = F.conv_transpose2d(x, self.weight.transpose(0, 1), stride=2)  # [n, here, size + 1, size + 1]
            x = F.conv2d(x, _taps(x), padding=1, groups=x.shape[1])
        else:
            x = F.conv2d(x, self.weight, padding=1)
        power = style.square() @ self.weight.square().sum(dim=(2, 3)).T  # [n, here]
        x = x * (power + 1e-8).rsqrt()[:, :, None, None]
        if noise is not None:
            x = x + noise * self.noise_strength
        return activate(x, self.bias, self.clamp, gain)


class ToRGB(Modulated):
    """A modulated 1 x 1 convolution to colors; it is not demodulated."""

    def __init__(self, config: Config, below: int) -> None:
        super().__init__(config, below, 3, 1)
        self.clamp = config.clamp

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        """Return ``[n, 3, size, size]``."""
        x = F.conv2d(x * self.style(w)[:, :, None, None], self.weight) + self.bias[:, None, None]
        return x if self.clamp is None else x.clamp(-self.clamp, self.clamp)


class Block(nn.Module):
    """The layers at one size; the first has no step up."""

    def __init__(self, config: Config, number: int) -> None:
        super().__init__()
        size, here = config.sizes[number], config.channels[number]
        below = config.channels[max(number - 1, 0)]
        self.conv0 = Conv(config, below, here, size, up=True) if number else None
        self.conv1 = Conv(config, here, here, size, up=False)
        wants_rgb = config.architecture == "skip" or size == config.resolution
        self.rgb = ToRGB(config, here) if wants_rgb else None
        residual = config.architecture == "resnet" and number > 0
        self.skip = nn.Parameter(torch.empty(here, below, 1, 1)) if residual else None

    def forward(self, x: Tensor, w: Tensor, noise: Sequence[Tensor | None]) -> Tensor:
        """Return the features at this size; ``w`` begins with this block's first row."""
        if self.conv0 is None:
            return self.conv1(x, w[:, 0], noise[0])  # type: ignore[no-any-return]
        y = self.conv0(x, w[:, 0], noise[0])
        if self.skip is None:
            return self.conv1(y, w[:, 1], noise[1])  # type: ignore[no-any-return]
        half = 0.5**0.5  # two things of unit size are added
        return self.conv1(y, w[:, 1], noise[1], gain=half) + half * enlarge(F.conv2d(x, self.skip))  # type: ignore[no-any-return]


class Network(nn.Module):
    """The mapping and the synthesis, with the names of the converted weights."""

    mean_w: Tensor

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("mean_w", torch.empty(config.w_dim))
        self.embed = nn.Linear(config.labels, config.label_dim) if config.labels else None
        widths = (config.z_dim + config.label_dim, *config.mapping)
        self.mapping = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.const = nn.Parameter(torch.empty(config.channels[0], 4, 4))
        self.blocks = nn.ModuleList(Block(config, number) for number in range(len(config.channels)))

    def map(self, z: Tensor, label: Tensor | None = None) -> Tensor:
        """Return latents ``w [n, w_dim]`` of ``z [n, z_dim]`` and one-hot labels."""
        x = unit(z)
        if self.embed is not None:
            assert label is not None
            x = torch.cat([x, unit(self.embed(label))], dim=1)
        for step in self.mapping:
            x = F.leaky_relu(step(x), 0.2) * 2**0.5
        return x

    def noises(self) -> list[Tensor]:
        """Return the noise maps that are kept with the weights, one a convolution, ``[size, size]``."""
        return [part.noise for part in self.modules() if isinstance(part, Conv)] if self.config.noise else []

    def forward(self, w: Tensor, noise: Noise = None) -> Tensor:
        """Draw ``w [n, rows, w_dim]``; without noise maps, no noise is added."""
        maps = list(noise) if noise else [None] * (self.config.rows - 1)
        x: Tensor = self.const.expand(len(w), -1, -1, -1)
        image: Tensor | None = None
        for number, block in enumerate(self.blocks):
            assert isinstance(block, Block)
            first = max(2 * number - 1, 0)  # the row of this block's first convolution
            x = block(x, w[:, first:], maps[first:])
            image = enlarge(image) if image is not None else None
            if block.rgb is not None:
                color = block.rgb(x, w[:, 2 * number + 1])
                image = color if image is None else image + color
        assert image is not None
        return image


class StyleGAN2(TorchGenerator):
    """A generator from a user's own checkpoint: ``likewise weights add FILE --name NAME`` first.

    Nearly all StyleGAN2s of faces draw in the frame of FFHQ; one that does not is given another, or none (``""``).
    """

    def __init__(
        self,
        weights: str = "",
        truncation: float = 1.0,
        noise: str = "const",
        label: int = -1,
        frame: str = "ffhq",
        device: str = "cpu",
    ) -> None:
        if not weights:
            raise SpecError(
                "stylegan2 needs weights",
                fix="Add your checkpoint with: likewise weights add FILE --name NAME, then set weights = NAME.",
            )
        path, self.license = located(weights)
        tensors, metadata = read_state(path, NETWORK)
        config = Config.from_json(metadata.get("config", ""))
        self.name, self.device = f"stylegan2:{Path(weights).name}", find_device(device)
        self.rows, self.dim, self.resolution = config.rows, config.w_dim, config.resolution
        self.sizes, self.z_dim, self.truncation = (config.resolution,), config.z_dim, checked_truncation(truncation)
        self._label, self.frame = _checked_label(label, config), template(frame).name if frame else ""
        if noise not in {"const", "none"}:
            raise SpecError(
                f"noise is {noise!r}", fix="Choose 'const' (the noise maps stored with the weights) or 'none'."
            )
        self.network = Network(config)
        fill(self.network, tensors, path.name)
        self.network.to(self.device).requires_grad_(False)
        self._noise = self.network.noises() if noise == "const" else []

    def mean_w(self) -> Array:
        """The mean latent, ``[dim]``, as it was tracked in training."""
        return self.network.mean_w.cpu().numpy()

    def map(self, z: Tensor) -> Tensor:
        """Return latents ``w [n, dim]`` of normal ``z``, of the label that was chosen."""
        if self._label < 0:
            return self.network.map(z)
        rows = torch.full((len(z),), self._label, device=z.device)
        return self.network.map(z, F.one_hot(rows, self.network.config.labels).to(z.dtype))

    def noise_maps(self) -> list[Tensor]:
        """Return the noise maps, one a convolution, ``[size, size]``; a projection may move copies of them."""
        return [noise.clone() for noise in self._noise]

    def draw_with(self, w: Tensor, noise: Sequence[Tensor]) -> Tensor:
        """Draw with other noise maps, ``[size, size]`` or ``[n, 1, size, size]``; gradients reach them too."""
        kept = self.network.noises()
        fits = len(noise) == len(kept) and all(a.shape[-2:] == b.shape for a, b in zip(noise, kept, strict=True))
        if not fits:
            raise VectorError(
                f"{len(noise)} noise maps do not fit {self.name}, which has {len(kept)}",
                fix="Use the sizes of noise_maps().",
            )
        return self.network(self._checked(w), noise)  # type: ignore[no-any-return]

    def _draw(self, w: Tensor, size: int) -> Tensor:
        return self.network(w, self._noise)  # type: ignore[no-any-return]


def _checked_label(label: int, config: Config) -> int:
    if config.labels == 0 and label != -1:
        raise SpecError(f"label is {label}, but this generator is unconditional", fix="Leave label out.")
    if config.labels and not 0 <= label < config.labels:
        raise WeightsError(
            f"label is {label}, but this generator is conditional", fix=f"Choose a label from 0 to {config.labels - 1}."
        )
    return label
