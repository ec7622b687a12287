"""The Inception of 2015: 2,048 features of a whole image, the ones that FID and KID are defined on.

Szegedy, Vanhoucke, Ioffe, Shlens and Wojna, "Rethinking the Inception architecture for computer vision", CVPR 2016;
Heusel, Ramsauer, Unterthiner, Nessler and Hochreiter, "GANs trained by a two time-scale update rule converge to a
local Nash equilibrium", NeurIPS 2017 (FID). The weights are those of the graph that FID was defined with. It differs
from the network of later libraries: average pooling leaves out the padding, and the last block pools by the maximum.

Images are resized to 299 px as that graph does it: bilinear, without antialiasing, pixel (0, 0) on pixel (0, 0); then
(x - 128) / 128. A large image is therefore sampled, not averaged. The package has no classifier, so no Inception Score.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from likewise.errors import ImageError
from likewise.models.device import device as find_device
from likewise.models.state import fill, located, read_state
from likewise.runtime.registry import Array, Pictures, Signals, to_pictures
from likewise.tables import Vectors

SIDE, FEATURES = 299, 2048
_BATCH = 8


class Conv(nn.Conv2d):
    """A convolution with its folded normalization, then ReLU."""

    def __init__(
        self, c_in: int, c_out: int, kernel: int | tuple[int, int], stride: int = 1, pad: int | tuple[int, int] = 0
    ) -> None:
        super().__init__(c_in, c_out, kernel, stride, pad)

    def forward(self, x: Tensor) -> Tensor:
        """Convolve."""
        return F.relu(super().forward(x))


def tower(*layers: Conv) -> nn.Sequential:
    """Chain convolutions under the names of the published file: conv, conv_1, conv_2 ..."""
    made = nn.Sequential()
    for number, layer in enumerate(layers):
        made.add_module("conv" if number == 0 else f"conv_{number}", layer)
    return made


def average(x: Tensor) -> Tensor:
    """Average over 3 x 3 places, without the padding."""
    return F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)


class A(nn.Module):
    """Blocks at 35 x 35: 1 x 1, 5 x 5, twice 3 x 3, pooled."""

    def __init__(self, c_in: int, pooled: int) -> None:
        super().__init__()
        self.conv = Conv(c_in, 64, 1)
        self.tower = tower(Conv(c_in, 48, 1), Conv(48, 64, 5, pad=2))
        self.tower_1 = tower(Conv(c_in, 64, 1), Conv(64, 96, 3, pad=1), Conv(96, 96, 3, pad=1))
        self.tower_2 = tower(Conv(c_in, pooled, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Run the branches."""
        return torch.cat([self.conv(x), self.tower(x), self.tower_1(x), self.tower_2(average(x))], dim=1)


class B(nn.Module):
    """From 35 x 35 to 17 x 17."""

    def __init__(self, c_in: int) -> None:
        super().__init__()
        self.conv = Conv(c_in, 384, 3, 2)
        self.tower = tower(Conv(c_in, 64, 1), Conv(64, 96, 3, pad=1), Conv(96, 96, 3, 2))

    def forward(self, x: Tensor) -> Tensor:
        """Run the branches."""
        return torch.cat([self.conv(x), self.tower(x), F.max_pool2d(x, 3, 2)], dim=1)


class C(nn.Module):
    """Blocks at 17 x 17: 1 x 1, 7 x 7 and twice 7 x 7 in two steps each, pooled."""

    def __init__(self, c_in: int, width: int) -> None:
        super().__init__()
        wide, tall = ((1, 7), (0, 3)), ((7, 1), (3, 0))
        self.conv = Conv(c_in, 192, 1)
        self.tower = tower(Conv(c_in, width, 1), _in_one(width, width, wide), _in_one(width, 192, tall))
        self.tower_1 = tower(
            Conv(c_in, width, 1), _in_one(width, width, tall), _in_one(width, width, wide), _in_one(width, width, tall),
            _in_one(width, 192, wide),
        )  # fmt: skip
        self.tower_2 = tower(Conv(c_in, 192, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Run the branches."""
        return torch.cat([self.conv(x), self.tower(x), self.tower_1(x), self.tower_2(average(x))], dim=1)


def _in_one(c_in: int, c_out: int, shape: tuple[tuple[int, int], tuple[int, int]]) -> Conv:
    return Conv(c_in, c_out, shape[0], pad=shape[1])


class D(nn.Module):
    """From 17 x 17 to 8 x 8."""

    def __init__(self, c_in: int) -> None:
        super().__init__()
        self.tower = tower(Conv(c_in, 192, 1), Conv(192, 320, 3, 2))
        self.tower_1 = tower(
            Conv(c_in, 192, 1),
            Conv(192, 192, (1, 7), pad=(0, 3)),
            Conv(192, 192, (7, 1), pad=(3, 0)),
            Conv(192, 192, 3, 2),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Run the branches."""
        return torch.cat([self.tower(x), self.tower_1(x), F.max_pool2d(x, 3, 2)], dim=1)


class E(nn.Module):
    """Blocks at 8 x 8: 1 x 1, 3 x 3 and twice 3 x 3 split into rows and columns, pooled."""

    def __init__(self, c_in: int, *, maximum: bool) -> None:
        super().__init__()
        self._maximum = maximum
        self.conv = Conv(c_in, 320, 1)
        self.tower_conv = Conv(c_in, 384, 1)
        self.tower_mixed_conv, self.tower_mixed_conv_1 = _rows(), _columns()
        self.tower_1_conv, self.tower_1_conv_1 = Conv(c_in, 448, 1), Conv(448, 384, 3, pad=1)
        self.tower_1_mixed_conv, self.tower_1_mixed_conv_1 = _rows(), _columns()
        self.tower_2_conv = Conv(c_in, 192, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Run the branches."""
        a, b = self.tower_conv(x), self.tower_1_conv_1(self.tower_1_conv(x))
        pooled = F.max_pool2d(x, 3, 1, 1) if self._maximum else average(x)
        parts = [self.conv(x), self.tower_mixed_conv(a), self.tower_mixed_conv_1(a), self.tower_1_mixed_conv(b)]
        return torch.cat([*parts, self.tower_1_mixed_conv_1(b), self.tower_2_conv(pooled)], dim=1)


def _rows() -> Conv:
    return Conv(384, 384, (1, 3), pad=(0, 1))


def _columns() -> Conv:
    return Conv(384, 384, (3, 1), pad=(1, 0))


class Network(nn.Module):
    """From ``[n, 3, 299, 299]`` in [-1, 1) to features ``[n, 2048]``."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.conv_1, self.conv_2 = Conv(3, 32, 3, 2), Conv(32, 32, 3), Conv(32, 64, 3, pad=1)
        self.conv_3, self.conv_4 = Conv(64, 80, 1), Conv(80, 192, 3)
        self.mixed, self.mixed_1, self.mixed_2 = A(192, 32), A(256, 64), A(288, 64)
        self.mixed_3 = B(288)
        self.mixed_4, self.mixed_5, self.mixed_6, self.mixed_7 = C(768, 128), C(768, 160), C(768, 160), C(768, 192)
        self.mixed_8 = D(768)
        self.mixed_9, self.mixed_10 = E(1280, maximum=False), E(2048, maximum=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return the features: the last block, averaged over its 8 x 8 places."""
        x = F.max_pool2d(self.conv_2(self.conv_1(self.conv(x))), 3, 2)
        x = F.max_pool2d(self.conv_4(self.conv_3(x)), 3, 2)
        for number in range(11):
            x = getattr(self, f"mixed_{number}" if number else "mixed")(x)
        return x.mean(dim=(2, 3))


def resize_2015(x: Tensor) -> Tensor:
    """Resize ``[n, 3, H, W]`` to 299 px as TensorFlow 1 does it: bilinear, pixel (0, 0) on pixel (0, 0)."""
    for axis in (2, 3):
        size = x.shape[axis]
        place = torch.arange(SIDE, device=x.device, dtype=torch.float32) * (size / SIDE)
        low = place.floor().long().clamp_max(size - 1)
        high = (low + 1).clamp_max(size - 1)
        share = (place - low).view((-1, 1) if axis == 2 else (1, -1))
        x = x.index_select(axis, low) * (1 - share) + x.index_select(axis, high) * share
    return x


@lru_cache(maxsize=2)
def _loaded(path: str) -> Network:
    network = Network()
    fill(network, read_state(Path(path), "inception-2015")[0], path)
    return network.eval().requires_grad_(False)


class Inception:
    """The component ``inception``: features of whole images for FID, KID, precision, recall, density and coverage."""

    def __init__(self, *, weights: str = "inception-2015", device: str = "cpu", batch: int = _BATCH) -> None:
        path, self.license = located(weights)
        self.name, self.device, self._batch = "inception-2015", find_device(device), batch
        self._network = _loaded(str(path)).to(self.device)

    def features(self, signals: Signals) -> Array:
        """Return the features ``[n, 2048]`` of signals ``[n, 3, H, W]`` in [-1, 1], rounded to bytes first."""
        return self.features_of_pictures(to_pictures(signals))

    def features_of_pictures(self, pictures: Pictures) -> Array:
        """Return the features ``[n, 2048]`` of images ``[n, H, W, 3]``, uint8 RGB."""
        if pictures.ndim != 4 or pictures.shape[-1] != 3 or pictures.dtype != np.uint8:
            raise ImageError(f"Images are {pictures.dtype} {list(pictures.shape)}; they must be uint8 [n, H, W, 3]")
        parts = [np.zeros((0, FEATURES), np.float32)]
        with torch.inference_mode():
            for start in range(0, len(pictures), self._batch):
                bytes_ = torch.from_numpy(np.array(pictures[start : start + self._batch], order="C")).to(self.device)
                x = resize_2015(bytes_.permute(0, 3, 1, 2).float())
                parts.append(self._network((x - 128) / 128).cpu().numpy())
        return np.concatenate(parts)

    def vectors(self, images: list[str], pictures: Pictures) -> Vectors:
        """Return the features as Vectors with their source."""
        return Vectors(images, self.features_of_pictures(pictures), source=f"{self.name}, pooled features")

    def distance(self, a: Signals, b: Signals) -> Array:
        """Return the mean squared difference ``[n]`` of features, row by row; it is no published distance of images."""
        apart: Array = np.square(self.features(a) - self.features(b)).mean(axis=1)
        return apart
