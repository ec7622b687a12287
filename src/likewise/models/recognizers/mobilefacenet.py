"""MobileFaceNet: a small recognizer through which gradients flow.

Chen, Liu, Gao, Han, "MobileFaceNets: Efficient CNNs for accurate real-time face verification on mobile devices", 2018:
MobileNetV2's inverted residuals, and at the end a depthwise convolution over the whole map instead of a mean. The
published weights use ReLU6 for PReLU and has normalizations, which the converter has folded into the convolutions.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import relu, relu6

# expansion, channels, repeats, stride of the first
SETTING = ((2, 64, 5, 2), (4, 128, 1, 2), (2, 128, 6, 1), (4, 128, 1, 2), (2, 128, 2, 1))


class Residual(nn.Module):
    """Widens, filters each channel, narrows; adds its input where the shapes agree."""

    def __init__(self, inside: int, outside: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = inside * expansion
        self.expand = nn.Conv2d(inside, wide, 1)
        self.depth = nn.Conv2d(wide, wide, 3, stride, 1, groups=wide)
        self.project = nn.Conv2d(wide, outside, 1)
        self.adds = stride == 1 and inside == outside

    def forward(self, x: Tensor) -> Tensor:
        """Run the block."""
        y: Tensor = self.project(relu6(self.depth(relu6(self.expand(x)))))
        return x + y if self.adds else y


class MobileFaceNet(nn.Module):
    """Takes crops ``[n, 3, 112, 112]`` to embeddings ``[n, 128]``, not yet of length 1."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 3, 2, 1)
        self.depth = nn.Conv2d(64, 64, 3, 1, 1, groups=64)
        self.point = nn.Conv2d(64, 64, 1)
        blocks, inside = [], 64
        for expansion, outside, repeats, stride in SETTING:
            for k in range(repeats):
                blocks.append(Residual(inside, outside, stride if k == 0 else 1, expansion))
                inside = outside
        self.blocks = nn.Sequential(*blocks)
        self.wide = nn.Conv2d(128, 512, 1)
        self.pool = nn.Conv2d(512, 512, 7, groups=512)
        self.out = nn.Conv2d(512, 128, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Embed a batch."""
        x = relu(self.point(relu(self.depth(relu6(self.stem(x))))))
        x = relu6(self.wide(self.blocks(x)))
        return torch.flatten(self.out(self.pool(x)), 1)
