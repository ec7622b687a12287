"""EfficientNet-Lite 0, 1 and 2: 1,000 labels of everyday things, and features of the look of a whole picture.

Tan and Le, "EfficientNet: rethinking model scaling for convolutional neural networks", ICML 2019. The Lite variants
(Google, 2020) leave out squeeze-and-excitation and use ReLU6, so that they run anywhere; the stem, the head and the
first and last stage are not scaled.

Preprocessing as published: the central square of side size / (size + 32) of the shorter side, resized bicubically
to ``size``, and (x - 127) / 128. Convolutions pad as TensorFlow's SAME does: the odd pixel goes right and down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F  # noqa: N812
from PIL import Image
from torch import Tensor, nn

from likewise.runtime.registry import Pictures


@dataclass(frozen=True)
class Variant:
    """How wide, how deep, and for pictures of which size."""

    width: float
    depth: float
    size: int


VARIANTS = {0: Variant(1.0, 1.0, 224), 1: Variant(1.0, 1.1, 240), 2: Variant(1.1, 1.2, 260)}
FEATURES, LABELS = 1280, 1000
_STAGES = (  # repeats, kernel, stride, expansion, channels
    (1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80), (3, 5, 1, 6, 112), (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)  # fmt: skip
_STEM, _EPSILON, _MARGIN = 32, 1e-3, 32


class SameConv(nn.Conv2d):
    """A convolution without bias that keeps ceil(size / stride) pixels."""

    def __init__(self, c_in: int, c_out: int, kernel: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__(c_in, c_out, kernel, stride, groups=groups, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Pad, then convolve."""
        (kernel, _), (stride, _) = self.kernel_size, self.stride
        extra = [max((math.ceil(n / stride) - 1) * stride + kernel - n, 0) for n in x.shape[:1:-1]]  # width, height
        sides = [side for pad in extra for side in (pad // 2, pad - pad // 2)]
        return F.conv2d(F.pad(x, sides), self.weight, None, self.stride, groups=self.groups)


def _unit(c_in: int, c_out: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    return nn.Sequential(SameConv(c_in, c_out, kernel, stride, groups), nn.BatchNorm2d(c_out, eps=_EPSILON))


class Block(nn.Module):
    """Widen, look around in each channel, narrow; add the input where shapes allow."""

    def __init__(self, c_in: int, c_out: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = c_in * expansion
        self.expand = _unit(c_in, inner, 1) if expansion > 1 else None
        self.depthwise = _unit(inner, inner, kernel, stride, groups=inner)
        self.project = _unit(inner, c_out, 1)
        self.skip = stride == 1 and c_in == c_out

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's result."""
        h = x if self.expand is None else F.relu6(self.expand(x))
        h = self.project(F.relu6(self.depthwise(h)))
        made: Tensor = x + h if self.skip else h
        return made


class EfficientNetLite(nn.Module):
    """From ``[n, 3, size, size]`` to features ``[n, 1280]`` and logits ``[n, 1000]``."""

    def __init__(self, variant: Variant) -> None:
        super().__init__()
        self.stem = _unit(3, _STEM, 3, 2)
        blocks, c_in = [], _STEM
        for index, (repeats, kernel, stride, expansion, channels) in enumerate(_STAGES):
            ends = index in (0, len(_STAGES) - 1)
            c_out = _rounded(channels * variant.width)
            for repeat in range(repeats if ends else math.ceil(repeats * variant.depth)):
                blocks.append(Block(c_in, c_out, kernel, stride if repeat == 0 else 1, expansion))
                c_in = c_out
        self.blocks = nn.ModuleList(blocks)
        self.head = _unit(c_in, FEATURES, 1)
        self.labels = nn.Linear(FEATURES, LABELS)

    def features(self, x: Tensor) -> Tensor:
        """Return the features ``[n, 1280]``: the head's channels, averaged over the picture."""
        h = F.relu6(self.stem(x))
        for block in self.blocks:
            h = block(h)
        return F.relu6(self.head(h)).mean(dim=(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits."""
        logits: Tensor = self.labels(self.features(x))
        return logits


def _rounded(channels: float) -> int:
    """Return the nearest multiple of 8 that loses no more than a tenth."""
    near = max(8, int(channels + 4) // 8 * 8)
    return near + 8 if near < 0.9 * channels else near


def prepared(pictures: Pictures, size: int) -> Tensor:
    """Return pictures of any one size as the input of the network, ``[n, 3, size, size]``."""
    return torch.from_numpy(np.stack([_cropped(picture, size) for picture in pictures]))


def _cropped(picture: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.float32]:
    height, width = picture.shape[:2]
    side = max(1.0, min(height, width) * size / (size + _MARGIN))
    left, top = (width - side) / 2, (height - side) / 2
    box = (left, top, left + side, top + side)
    square = Image.fromarray(picture).resize((size, size), Image.Resampling.BICUBIC, box=box)
    scaled = ((np.asarray(square, dtype=np.float32) - 127) / 128).astype(np.float32)
    return np.moveaxis(scaled, -1, 0)
