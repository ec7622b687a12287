"""MobileStyleGAN: faces of 1024 px by wavelets and depthwise convolutions, light enough for a CPU.

Belousov 2021, "MobileStyleGAN: A Lightweight Convolutional Neural Network for High-Fidelity Image Synthesis",
arXiv:2104.04767. The weights are a public export in which demodulation is baked into the convolutions and noise into
constant maps, so a latent always gives the same image.

A latent has 23 rows: row 0 styles the convolution at 4 px; rows 1+3l, 2+3l, 3+3l style the step up and the two
convolutions of layer l (8 * 2^l px, l = 0..6); row 22 styles the wavelet coefficients of the image.

Features lie in memory with their channels last, ``[n, h, w, c]``, which suits pointwise and depthwise convolutions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from likewise.models.device import computes_in_bfloat16
from likewise.models.device import device as find_device
from likewise.models.generators.base import TorchGenerator, checked_truncation
from likewise.models.state import fill, located, read_state
from likewise.runtime.registry import Array

DIM = 512
CHANNELS = (512, 512, 512, 512, 512, 256, 128, 64)
"""Of the features at 4, 8, 16 ... 512 px."""
LAYERS = len(CHANNELS) - 1
ROWS = 2 + 3 * LAYERS
RESOLUTION = 8 * 2**LAYERS
EXITS = {64: 3, 128: 4, 256: 6}
"""Pixels of each exit, and the real layers that it runs: up to half of them, or, so that nothing shows, all."""
EXITS_FILE = Path(__file__).parent / "exits" / "mobilestylegan.safetensors"


class Mapping(nn.Sequential):
    """Turns a normal z into a latent w: eight linear steps."""

    def __init__(self) -> None:
        super().__init__(*(nn.Linear(DIM, DIM) for _ in range(8)))

    def forward(self, z: Tensor) -> Tensor:
        """Return ``w [n, dim]`` of ``z [n, dim]``."""
        x = z * (z.square().mean(dim=1, keepdim=True) + 1e-8).rsqrt()
        for step in self:
            x = F.leaky_relu(step(x), 0.2) * 2**0.5
        return x


def haar(x: Tensor) -> Tensor:
    """Undo a Haar wavelet: ``[n, h, w, 4c]``, the c low bands first, becomes ``[n, 2h, 2w, c]``."""
    return doubled_haar(x / 2)


def doubled_haar(x: Tensor) -> Tensor:
    """Return twice what ``haar`` does: who weighs the bands anyway halves the fewer weights, which is as exact."""
    n, h, w, channels = x.shape
    low = x[..., : channels // 4]
    down, right, both = x[..., channels // 4 :].view(n, h, w, channels // 4, 3).unbind(4)
    plus, minus = low + down, low - down
    rest, less = right + both, right - both
    upper = torch.stack([plus + rest, plus - rest], dim=3)  # [n, h, w, 2, c]
    lower = torch.stack([minus + less, minus - less], dim=3)
    return torch.stack([upper, lower], dim=2).view(n, 2 * h, 2 * w, channels // 4)


class Pointwise(torch.autograd.Function):
    """A pointwise convolution, its weights times a style: ``[n, p, in]`` becomes ``[n, p, out]``.

    Its own slopes, because those toward the style are sums over those toward the pixels: left to itself torch would
    multiply two matrices of all pixels once more for them.
    """

    @staticmethod
    def forward(ctx: Any, pixels: Tensor, weight: Tensor, style: Tensor) -> Tensor:
        """Weigh the weights, which are fewer than the pixels."""
        ctx.save_for_backward(pixels, weight, style)
        return torch.bmm(pixels, (weight * style[:, None]).mT)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
        """Return the slopes toward pixels, weight (where it is asked for) and style."""
        pixels, weight, style = ctx.saved_tensors
        back = slope @ weight
        to_style = (back * pixels).sum(dim=1)
        to_weight = (slope.mT @ pixels * style[:, None]).sum(dim=0) if ctx.needs_input_grad[1] else None
        return back.mul_(style[:, None]), to_weight, to_style


def _pointwise(pixels: Tensor, weight: Tensor, style: Tensor) -> Tensor:
    made: Tensor = Pointwise.apply(pixels, weight, style)  # type: ignore[no-untyped-call]
    return made


class Unstyled(nn.Module):
    """A depthwise and a pointwise convolution; a style that someone else makes weighs the channels that come in."""

    def __init__(self, channels_in: int, channels_out: int, size: int) -> None:
        super().__init__()
        self.depthwise = nn.Parameter(torch.empty(channels_in, 1, 3, 3))
        self.pointwise = nn.Parameter(torch.empty(channels_out, channels_in))
        self.noise = nn.Parameter(torch.empty(1, size, size))
        self.bias = nn.Parameter(torch.empty(channels_out))

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        """Return ``[n, size, size, channels_out]``."""
        seen = F.conv2d(x.permute(0, 3, 1, 2), self.depthwise, padding=1, groups=len(self.depthwise))
        pixels = seen.permute(0, 2, 3, 1).flatten(1, 2)  # [n, size * size, in]
        made = _pointwise(pixels, self.pointwise, style)
        made.add_(self.noise.view(-1, 1)).add_(self.bias)  # in place while it is no view: a view's slopes are copied
        return F.leaky_relu_(made, 0.2).view(*x.shape[:3], -1)


class StyledConv(Unstyled):
    """The same with a style of its own."""

    def __init__(self, channels_in: int, channels_out: int, size: int) -> None:
        super().__init__(channels_in, channels_out, size)
        self.style = nn.Linear(DIM, channels_in)

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        """Return ``[n, size, size, channels_out]``."""
        return super().forward(x, self.style(w))


class FirstConv(nn.Module):
    """The convolution of the constant at 4 px: full, not depthwise."""

    def __init__(self) -> None:
        super().__init__()
        self.style = nn.Linear(DIM, DIM)
        self.weight = nn.Parameter(torch.empty(DIM, DIM, 3, 3))
        self.noise = nn.Parameter(torch.empty(1, 4, 4))
        self.bias = nn.Parameter(torch.empty(DIM))

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        """Return ``[n, 4, 4, 512]`` of ``[n, 512, 4, 4]``."""
        x = F.conv2d(x * self.style(w)[:, :, None, None], self.weight, padding=1)
        x = F.leaky_relu_(x.add_(self.noise).add_(self.bias[:, None, None]), 0.2)
        return x.permute(0, 2, 3, 1)


class Layer(nn.Module):
    """Doubles the size by a wavelet, then convolves twice."""

    def __init__(self, number: int) -> None:
        super().__init__()
        below, here, size = CHANNELS[number], CHANNELS[number + 1], 8 * 2**number
        self.up = nn.Linear(DIM, below)
        self.conv1 = StyledConv(below // 4, here, size)
        self.conv2 = StyledConv(here, here, size)

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        """Return the features at twice the size; ``w [n, 3, dim]``."""
        x = doubled_haar(x * (self.up(w[:, 0]) / 2)[:, None, None])
        return self.conv2(self.conv1(x, w[:, 1]), w[:, 2])  # type: ignore[no-any-return]


class ToImage(nn.Module):
    """Reads the wavelet coefficients of the image from the features, and undoes the wavelet."""

    def __init__(self) -> None:
        super().__init__()
        self.style = nn.Linear(DIM, CHANNELS[-1])
        self.weight = nn.Parameter(torch.empty(12, CHANNELS[-1]))
        self.bias = nn.Parameter(torch.empty(12))

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        """Return the image ``[n, 3, 2h, 2w]``."""
        coefficients = _pointwise(x.flatten(1, 2), self.weight, self.style(w))
        return haar(coefficients.add_(self.bias).view(*x.shape[:3], 12)).permute(0, 3, 1, 2)


class Network(nn.Module):
    """The mapping and the synthesis, with the names of the converted weights."""

    mean_w: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean_w", torch.empty(DIM))
        self.mapping = Mapping()
        self.input = nn.Parameter(torch.empty(DIM, 4, 4))
        self.conv1 = FirstConv()
        self.layers = nn.ModuleList(Layer(number) for number in range(LAYERS))
        self.to_img = ToImage()

    def features(self, w: Tensor, layers: int = LAYERS) -> Tensor:
        """Return the features ``[n, h, w, c]`` after so many layers, at ``4 * 2^layers`` px."""
        x = self.conv1(self.input.expand(len(w), -1, -1, -1), w[:, 0])
        for number in range(layers):
            x = self.layers[number](x, w[:, 1 + 3 * number : 4 + 3 * number])
        return x  # type: ignore[no-any-return]

    def forward(self, w: Tensor) -> Tensor:
        """Draw ``[n, 3, 1024, 1024]`` from ``w [n, 23, 512]``."""
        return self.to_img(self.features(w), w[:, ROWS - 1])  # type: ignore[no-any-return]


class TailLayer(nn.Module):
    """A layer that stays where it is: it reads the low bands, which are twice the mean, instead of going up a size.

    A pixel here stands for ``finer`` x ``finer`` pixels of the real layer, whose weights are taken over accordingly.
    """

    def __init__(self, layer: Layer, finer: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = (_coarse(conv, finer) for conv in (layer.conv1, layer.conv2))

    def forward(self, x: Tensor, w: Tensor, layer: Layer) -> Tensor:
        """Return features of the same size, with the styles of the real layer."""
        style = layer.conv1.style(w[:, 1])
        x = self.conv1(x[..., : style.shape[1]], layer.up(w[:, 0])[:, : style.shape[1]] * style / 2)
        return self.conv2(x, layer.conv2.style(w[:, 2]))  # type: ignore[no-any-return]


def _coarse(real: StyledConv, finer: int) -> Unstyled:
    """Take a convolution to a coarser grid: a step of one fine pixel is 1/finer of a coarse one, so arms shrink."""
    made = Unstyled(len(real.depthwise), len(real.bias), real.noise.shape[1] // finer)
    arm = torch.tensor([[1 / finer, 1 - 1 / finer, 0], [0, 1, 0], [0, 1 - 1 / finer, 1 / finer]])
    with torch.no_grad():
        made.depthwise.copy_(arm.T @ real.depthwise @ arm)
        made.pointwise.copy_(real.pointwise)
        made.noise.copy_(F.avg_pool2d(real.noise, finer))
        made.bias.copy_(real.bias)
    return made


class Reading(nn.Module):
    """How an exit reads the image from its features: least squares, see ``likewise.models.training.exits``."""

    def __init__(self, channels: int, read: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(read, channels))
        self.bias = nn.Parameter(torch.zeros(read))


class Exit(nn.Module):
    """A cheap way out at ``size`` px: some real layers, the rest run on at their size, on the low bands only.

    All styles still act, so a preview follows every row of the latent. The image is read from the features after every
    layer from here on: the first have the detail, the last the colors. Features of half the image's size are read as
    its wavelet coefficients, those of its own size as its colors.
    """

    def __init__(self, size: int, network: Network) -> None:
        super().__init__()
        self.below = EXITS[size]
        self.halved = 4 * 2**self.below < size
        layers: list[Layer] = list(network.layers[self.below :])  # type: ignore[arg-type]
        self.tail = nn.ModuleList(TailLayer(layer, 2**number) for number, layer in enumerate(layers, start=1))
        self.reading = Reading(sum(CHANNELS[self.below :]), 12 if self.halved else 3)

    def stages(self, w: Tensor, network: Network) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the features after each layer, and the style with which the next step reads them."""
        x = network.features(w, self.below)
        for number, tail in enumerate(self.tail, start=self.below):
            layer: Layer = network.layers[number]  # type: ignore[assignment]
            yield x, layer.up(w[:, 1 + 3 * number])
            x = tail(x, w[:, 1 + 3 * number : 4 + 3 * number], layer)
        yield x, network.to_img.style(w[:, ROWS - 1])

    def forward(self, w: Tensor, network: Network) -> Tensor:
        """Draw ``[n, 3, size, size]`` from ``w [n, 23, 512]``."""
        read = iter(torch.split(self.reading.weight, list(CHANNELS[self.below :]), dim=1))
        parts = [_pointwise(x.flatten(1, 2), next(read), style) for x, style in self.stages(w, network)]
        grid = 4 * 2**self.below
        read_off = (torch.stack(parts).sum(dim=0) + self.reading.bias).view(len(w), grid, grid, -1)
        return (haar(read_off) if self.halved else read_off).permute(0, 3, 1, 2)


class MobileStyleGAN(TorchGenerator):
    """The component ``mobilestylegan``. Its exits at 64, 128 and 256 px are previews: cheap, close, not exact."""

    rows, dim, z_dim, resolution = ROWS, DIM, DIM, RESOLUTION
    frame = "ffhq"

    def __init__(self, weights: str = "mobilestylegan-ffhq", truncation: float = 1.0, device: str = "cpu") -> None:
        path, self.license = located(weights)
        self.name, self.truncation = f"mobilestylegan:{Path(weights).name}", checked_truncation(truncation)
        self.device = find_device(device)
        self.network = Network()
        fill(self.network, read_state(path, "mobilestylegan")[0], path.name)
        self.exits = shipped_exits(self.network)
        self.sizes = (*self.exits, RESOLUTION)
        for part in (self.network, *self.exits.values()):
            part.to(self.device).requires_grad_(False)

    def mean_w(self) -> Array:
        """The mean latent, ``[dim]``: of 10,000 samples, taken when the weights were converted."""
        return self.network.mean_w.cpu().numpy()

    def map(self, z: Tensor) -> Tensor:
        """Return latents ``w [n, dim]`` of normal ``z [n, dim]``."""
        return self.network.mapping(z)  # type: ignore[no-any-return]

    def draft(self, w: Tensor, *, size: int | None = None) -> Tensor:
        """Draw as ``draw`` does, in bfloat16 where the processor computes in it: for the steps of a descent.

        Pixels differ by a hundredth of their range at most, slopes point the same way but for 2 %, and a step costs two
        thirds (128 px) or half (256 px).
        """
        if not computes_in_bfloat16(self.device.type):
            return self.draw(w, size=size)
        network, exits = self._halves
        w = self._checked(w).bfloat16()
        drawn = network(w) if size in (None, RESOLUTION) else exits[size](w, network)
        return drawn.float()  # type: ignore[no-any-return]

    @cached_property
    def _halves(self) -> tuple[Network, dict[int, Exit]]:
        """The network and its exits in bfloat16; gradients pass also where they are first asked for without any."""
        with torch.inference_mode(False):
            network, exits = deepcopy((self.network, self.exits))
            return network.bfloat16(), {size: leave.bfloat16() for size, leave in exits.items()}

    def _draw(self, w: Tensor, size: int) -> Tensor:
        if size == RESOLUTION:
            return self.network(w)  # type: ignore[no-any-return]
        return self.exits[size](w, self.network)  # type: ignore[no-any-return]


def fingerprint(network: Network) -> str:
    """Tell which weights a network holds, so that exits are used only with those they were distilled from."""
    return hashlib.sha256(network.input.detach().cpu().half().numpy().tobytes()).hexdigest()


def shipped_exits(network: Network) -> dict[int, Exit]:
    """Return the exits that come with likewise, smallest first; none if they were distilled from other weights."""
    if not EXITS_FILE.is_file():  # only while they are being made
        return {}
    tensors, metadata = read_state(EXITS_FILE, "mobilestylegan-exits")
    if metadata.get("of") != fingerprint(network):
        return {}
    made = {size: Exit(size, network) for size in EXITS}
    readings = nn.ModuleDict({str(size): leave.reading for size, leave in made.items()})
    fill(readings, tensors, EXITS_FILE.name)
    return made
