"""MobileStyleGAN: faces of 1024 px by wavelets and depthwise convolutions, light enough for a CPU.

Belousov 2021, "MobileStyleGAN: A Lightweight Convolutional Neural Network for High-Fidelity Image Synthesis",
arXiv:2104.04767. The weights are a public export in which demodulation is baked into the convolutions and noise into
constant maps, so a latent always gives the same image.

A latent has 23 rows: row 0 styles the convolution at 4 px; rows 1+3l, 2+3l, 3+3l style the step up and the two
convolutions of layer l (8 * 2^l px, l = 0..6); row 22 styles the wavelet coefficients of the image.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from likewise.models.device import device as find_device
from likewise.models.generator import TorchGenerator
from likewise.models.state import fill, located, read_state
from likewise.plugins import Array

DIM = 512
CHANNELS = (512, 512, 512, 512, 512, 256, 128, 64)
"""Of the features at 4, 8, 16 ... 512 px."""
LAYERS = len(CHANNELS) - 1
ROWS = 2 + 3 * LAYERS
RESOLUTION = 8 * 2**LAYERS
EXITS = (64, 128, 256)


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
    """Undo a Haar wavelet: ``[n, 4c, h, w]``, the c low bands first, becomes ``[n, c, 2h, 2w]``."""
    n, channels, h, w = x.shape
    low = x[:, : channels // 4]
    down, right, both = x[:, channels // 4 :].view(n, channels // 4, 3, h, w).unbind(2)
    plus, minus = low + down, low - down
    rest, less = right + both, right - both
    corners = torch.stack([plus + rest, plus - rest, minus + less, minus - less], dim=2)  # [n, c, 4, h, w]
    return F.pixel_shuffle(corners.view(n, channels, h, w) / 2, 2)


class Unstyled(nn.Module):
    """A depthwise and a pointwise convolution; a style that someone else makes weighs the channels that come in."""

    def __init__(self, channels_in: int, channels_out: int, size: int) -> None:
        super().__init__()
        self.depthwise = nn.Parameter(torch.empty(channels_in, 1, 3, 3))
        self.pointwise = nn.Parameter(torch.empty(channels_out, channels_in))
        self.noise = nn.Parameter(torch.empty(1, size, size))
        self.bias = nn.Parameter(torch.empty(channels_out))

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        """Return ``[n, channels_out, size, size]``."""
        x = F.conv2d(x, self.depthwise, padding=1, groups=len(self.depthwise))
        weight = self.pointwise * style[:, None]  # [n, out, in]: cheaper than weighing every pixel
        x = torch.bmm(weight, x.flatten(2)).view(len(x), -1, *x.shape[2:])
        return F.leaky_relu_(x.add_(self.noise).add_(self.bias[:, None, None]), 0.2)


class StyledConv(Unstyled):
    """The same with a style of its own."""

    def __init__(self, channels_in: int, channels_out: int, size: int) -> None:
        super().__init__(channels_in, channels_out, size)
        self.style = nn.Linear(DIM, channels_in)

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        """Return ``[n, channels_out, size, size]``."""
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
        """Return ``[n, 512, 4, 4]``."""
        x = F.conv2d(x * self.style(w)[:, :, None, None], self.weight, padding=1)
        return F.leaky_relu_(x.add_(self.noise).add_(self.bias[:, None, None]), 0.2)


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
        x = haar(x * self.up(w[:, 0])[:, :, None, None])
        return self.conv2(self.conv1(x, w[:, 1]), w[:, 2])  # type: ignore[no-any-return]


class Coefficients(nn.Module):
    """Reads the wavelet coefficients of the image from the features, and undoes the wavelet."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(12, CHANNELS[-1]))
        self.bias = nn.Parameter(torch.empty(12))

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        """Return the image ``[n, 3, 2h, 2w]``."""
        weight = self.weight * style[:, None]
        x = torch.baddbmm(self.bias[None, :, None], weight, x.flatten(2)).view(len(x), 12, *x.shape[2:])
        return haar(x)


class ToImage(Coefficients):
    """The same with a style of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.style = nn.Linear(DIM, CHANNELS[-1])

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        """Return the image ``[n, 3, 2h, 2w]``."""
        return super().forward(x, self.style(w))


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
        """Return the features after so many layers, at ``4 * 2^layers`` px."""
        x = self.conv1(self.input.expand(len(w), -1, -1, -1), w[:, 0])
        for number in range(layers):
            x = self.layers[number](x, w[:, 1 + 3 * number : 4 + 3 * number])
        return x  # type: ignore[no-any-return]

    def forward(self, w: Tensor) -> Tensor:
        """Draw ``[n, 3, 1024, 1024]`` from ``w [n, 23, 512]``."""
        return self.to_img(self.features(w), w[:, ROWS - 1])  # type: ignore[no-any-return]


class TailLayer(nn.Module):
    """A layer that stays where it is: it reads the four bands as they come instead of going up a size."""

    def __init__(self, number: int, grid: int) -> None:
        super().__init__()
        below, here = CHANNELS[number], CHANNELS[number + 1]
        self.conv1 = Unstyled(below, here, grid)
        self.conv2 = Unstyled(here, here, grid)

    def forward(self, x: Tensor, w: Tensor, layer: Layer) -> Tensor:
        """Return features of the same size, with the styles of the real layer."""
        low = layer.conv1.style(w[:, 1])
        bands = torch.cat([low, low.repeat_interleave(3, dim=1)], dim=1)  # every band of a channel has its style
        x = self.conv1(x, layer.up(w[:, 0]) * bands)
        return self.conv2(x, layer.conv2.style(w[:, 2]))  # type: ignore[no-any-return]


class Exit(nn.Module):
    """A cheap way out at ``size`` px: the layers above run on at half that size, with weights that were distilled.

    All styles still act, so a preview follows every row of the latent; only the last wavelet goes up a size.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.layers_below = (size // 8).bit_length() - 1
        self.tail = nn.ModuleList(TailLayer(number, size // 2) for number in range(self.layers_below, LAYERS))
        self.to_img = Coefficients()

    def forward(self, x: Tensor, w: Tensor, network: Network) -> Tensor:
        """Return the image ``[n, 3, size, size]`` from the features at half the size."""
        for number, layer in enumerate(self.tail, start=self.layers_below):
            x = layer(x, w[:, 1 + 3 * number : 4 + 3 * number], network.layers[number])
        return self.to_img(x, network.to_img.style(w[:, ROWS - 1]))  # type: ignore[no-any-return]


class MobileStyleGAN(TorchGenerator):
    """The embedded generator of the slot."""

    rows, dim, resolution = ROWS, DIM, RESOLUTION
    sizes = (RESOLUTION,)

    def __init__(self, weights: str = "mobilestylegan-ffhq", device: str = "cpu") -> None:
        path, self.licence = located(weights)
        self.name = f"mobilestylegan:{Path(weights).name}"
        self.device = find_device(device)
        self.network = Network()
        fill(self.network, read_state(path, "mobilestylegan")[0], path.name)
        self.network.to(self.device).requires_grad_(False)

    def mean_w(self) -> Array:
        """The mean latent, ``[dim]``: of 10,000 samples, taken when the weights were converted."""
        return self.network.mean_w.cpu().numpy()

    def map(self, z: Tensor) -> Tensor:
        """Return latents ``w [n, dim]`` of normal ``z [n, dim]``."""
        return self.network.mapping(z)  # type: ignore[no-any-return]

    def _draw(self, w: Tensor, size: int) -> Tensor:
        return self.network(w)  # type: ignore[no-any-return]
