"""How different two images look: LPIPS on VGG16 or AlexNet, and plain L1 on VGG16's features.

Zhang, Isola, Efros, Shechtman, Wang 2018, "The Unreasonable Effectiveness of Deep Features as a Perceptual Metric",
arXiv:1801.03924 (LPIPS v0.1: features of a network for object recognition, scaled to length 1 at each place; squared
differences weighed channel by channel with learned heads, averaged over places, summed over five depths).
Simonyan, Zisserman 2014, arXiv:1409.1556 (VGG16). Krizhevsky 2014, arXiv:1404.5997 (AlexNet with one tower).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from likewise.errors import ImageError, SpecError
from likewise.models.device import device as find_device
from likewise.models.state import fill, located, read_state
from likewise.runtime.registry import Array, Signals

_SHIFT = (-0.030, -0.088, -0.188)
_SCALE = (0.458, 0.448, 0.450)
"""ImageNet's mean and spread for images in [-1, 1], rounded as LPIPS was trained with."""
_MEAN = (0.485, 0.456, 0.406)
_SPREAD = (0.229, 0.224, 0.225)
"""ImageNet's mean and spread for images in [0, 1]."""


class VGG16(nn.Module):
    """VGG16's 13 convolutions, with the heads of LPIPS after each of the five blocks."""

    name = "lpips-vgg16"
    channels = (64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512)
    ends = (1, 3, 6, 9, 12)
    """The last convolution of each block; the image is halved after it."""

    def __init__(self) -> None:
        super().__init__()
        sizes = zip((3, *self.channels), self.channels, strict=False)
        self.convs = nn.ModuleList(nn.Conv2d(below, here, 3, padding=1) for below, here in sizes)
        self.heads = nn.ParameterList(torch.empty(self.channels[end]) for end in self.ends)

    def forward(self, x: Tensor, blocks: int = 5) -> Iterator[Tensor]:
        """Yield the features at the end of each block."""
        for i in range(self.ends[blocks - 1] + 1):
            x = F.relu(self.convs[i](x))
            if i in self.ends:
                yield x
                x = F.max_pool2d(x, 2)


class AlexNet(nn.Module):
    """AlexNet's 5 convolutions, with the heads of LPIPS after each."""

    name = "lpips-alexnet"
    channels = (64, 192, 384, 256, 256)

    def __init__(self) -> None:
        super().__init__()
        first, second = nn.Conv2d(3, 64, 11, stride=4, padding=2), nn.Conv2d(64, 192, 5, padding=2)
        rest = (nn.Conv2d(below, here, 3, padding=1) for below, here in ((192, 384), (384, 256), (256, 256)))
        self.convs = nn.ModuleList([first, second, *rest])
        self.heads = nn.ParameterList(torch.empty(channels) for channels in self.channels)

    def forward(self, x: Tensor) -> Iterator[Tensor]:
        """Yield the features after each convolution."""
        for i, conv in enumerate(self.convs):
            x = F.relu(conv(F.max_pool2d(x, 3, stride=2) if i in {1, 2} else x))
            yield x


class _Features(ABC):
    """What the distances share: checks, batches, and the numpy interface of the component kind."""

    name: str
    smallest: ClassVar[int]
    """Smaller images have no features left at the last depth."""
    batch = 8

    def __init__(self, network: nn.Module, kind: str, weights: str, device: str) -> None:
        path, self.license = located(weights)
        self.device = find_device(device)
        fill(network, read_state(path, kind)[0], Path(path).name)
        self.network = network.to(self.device).requires_grad_(False)

    @abstractmethod
    def embed(self, x: Tensor) -> Tensor:
        """Return the features ``[n, d]`` of ``[n, 3, H, W]`` in [-1, 1]."""

    @abstractmethod
    def between(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the distances ``[n]`` of features."""

    def compare(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the distances ``[n]`` of ``[n, 3, H, W]`` in [-1, 1], row by row; gradients reach both."""
        if a.shape != b.shape:
            raise ImageError(
                f"Images differ in shape: {list(a.shape)} and {list(b.shape)}", fix="Resize them to one size."
            )
        return self.between(self.embed(a), self.embed(b))

    def features(self, signals: Signals) -> Array:
        """Return the features ``[n, d]`` of signals, batch by batch."""
        with torch.inference_mode():
            parts = [self.embed(part).cpu().numpy() for part in self._parts(signals)]
        return np.concatenate(parts) if parts else np.empty((0, 0), np.float32)

    def distance(self, a: Signals, b: Signals) -> Array:
        """Return the distances ``[n]`` of signals, row by row."""
        with torch.inference_mode():
            parts = [self.compare(x, y).cpu().numpy() for x, y in zip(self._parts(a), self._parts(b), strict=True)]
        return np.concatenate(parts) if parts else np.empty(0, np.float32)

    def _parts(self, signals: Signals) -> Iterator[Tensor]:
        for start in range(0, len(signals), self.batch):
            part = np.ascontiguousarray(signals[start : start + self.batch], np.float32)
            yield torch.from_numpy(part).to(self.device)

    def _checked(self, x: Tensor) -> Tensor:
        if x.ndim != 4 or x.shape[1] != 3 or min(x.shape[2:]) < self.smallest:
            raise ImageError(
                f"Images have the shape {list(x.shape)}; {self.name} needs [n, 3, H, W] of at least {self.smallest} px",
                fix="Repeat a gray channel three times; enlarge small images.",
            )
        return x


def _affine(x: Tensor, shift: tuple[float, ...], scale: tuple[float, ...]) -> Tensor:
    return (x - x.new_tensor(shift)[:, None, None]) / x.new_tensor(scale)[:, None, None]


class Lpips(_Features):
    """LPIPS v0.1. Its features are such that their mean squared difference *is* the distance."""

    smallest = 32

    def __init__(self, network: nn.Module, kind: str, weights: str, size: int, device: str) -> None:
        if size != 0 and size < self.smallest:
            raise SpecError(f"size is {size}; it must be at least {self.smallest}, or 0 for no resizing")
        super().__init__(network, kind, weights, device)
        self._size = size

    def layers(self, x: Tensor) -> Iterator[Tensor]:
        """Yield what the network sees at each of the five depths."""
        x = self._checked(x)
        if self._size and max(x.shape[2:]) > self._size:
            x = F.adaptive_avg_pool2d(x, self._size)
        yield from self.network(_affine(x, _SHIFT, _SCALE))

    def embed(self, x: Tensor) -> Tensor:
        """Return the weighed features ``[n, d]``."""
        parts: list[Tensor] = [
            _unit(seen) * (head / (seen.shape[2] * seen.shape[3])).sqrt()[:, None, None]
            for seen, head in zip(self.layers(x), self.network.heads, strict=True)  # type: ignore[arg-type]
        ]
        flat = torch.cat([part.flatten(1) for part in parts], dim=1)
        return flat * math.sqrt(flat.shape[1])  # the mean over all features undoes this: distance = sum of squares

    def between(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the distances ``[n]`` of features."""
        return (a - b).square().mean(dim=1)


def _unit(x: Tensor) -> Tensor:
    """Scale the channels at each place to length 1; the root has no slope at 0, so a place without features stays 0."""
    squared = x.square().sum(dim=1, keepdim=True)
    return x / (squared.clamp_min(1e-20).sqrt() + 1e-10)


class LpipsVGG(Lpips):
    """LPIPS on VGG16: smooth, the usual choice for projection."""

    name = "lpips-vgg"

    def __init__(self, weights: str = "lpips-vgg16", size: int = 256, device: str = "cpu") -> None:
        super().__init__(VGG16(), VGG16.name, weights, size, device)


class LpipsAlex(Lpips):
    """LPIPS on AlexNet: quick, and closest to what people say."""

    name = "lpips-alex"

    def __init__(self, weights: str = "lpips-alexnet", size: int = 256, device: str = "cpu") -> None:
        super().__init__(AlexNet(), AlexNet.name, weights, size, device)
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # so a CPU convolves faster


class VggL1(_Features):
    """The mean absolute difference of the features of VGG16's first four blocks, of images at 112 px.

    As Singh, Balakrishnan and Perona 2021 rank references by difficulty; they sum over the 1,505,280 features where
    this takes the mean, which changes no ranking and no ratio.
    """

    name, smallest = "vgg-l1", 8

    def __init__(self, weights: str = "lpips-vgg16", device: str = "cpu") -> None:
        super().__init__(VGG16(), VGG16.name, weights, device)

    def embed(self, x: Tensor) -> Tensor:
        """Return the features ``[n, 1505280]``; here the distance is their mean *absolute* difference."""
        x = F.interpolate(self._checked(x), size=(112, 112), mode="bilinear", align_corners=False)
        x = _affine((x + 1) / 2, _MEAN, _SPREAD)
        return torch.cat([seen.flatten(1) for seen in self.network(x, blocks=4)], dim=1)

    def between(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the distances ``[n]`` of features."""
        return (a - b).abs().mean(dim=1)
