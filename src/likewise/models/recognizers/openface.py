"""OpenFace: an early small recognizer, weak by today's measure and a good contrast for that.

Amos, Ludwiczuk, Satyanarayanan, "OpenFace: A general-purpose face recognition library with mobile applications", CMU
2016: its network nn4.small2, a narrow version of FaceNet's Inception (Schroff et al. 2015). It pools by the root of
summed squares where ports of it take means, and normalizes across channels twice, which ports leave out. The batch
normalizations are folded into the convolutions by the converter.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, local_response_norm, lp_pool2d, max_pool2d, pad, relu

Branch = tuple[int, int]


class Pair(nn.Module):
    """A 1 x 1 convolution and a wider one."""

    def __init__(self, inside: int, widths: Branch, kernel: int, stride: int) -> None:
        super().__init__()
        self.narrow = nn.Conv2d(inside, widths[0], 1)
        self.wide = nn.Conv2d(widths[0], widths[1], kernel, stride, kernel // 2)

    def forward(self, x: Tensor) -> Tensor:
        """Run both."""
        return relu(self.wide(relu(self.narrow(x))))


class Inception(nn.Module):
    """Branches side by side: 3 x 3, 5 x 5, pooled, 1 x 1; a width of 0 leaves a branch or its convolution out."""

    def __init__(
        self, inside: int, *, three: Branch, five: Branch = (0, 0), pool: int, kind: str, one: int, stride: int = 1
    ) -> None:
        super().__init__()
        self.kind, self.stride = kind, stride
        self.three = Pair(inside, three, 3, stride)
        self.five = Pair(inside, five, 5, stride) if five[1] else None
        self.pool = nn.Conv2d(inside, pool, 1) if pool else None
        self.one = nn.Conv2d(inside, one, 1) if one else None

    def forward(self, x: Tensor) -> Tensor:
        """Run all branches on one map."""
        parts = [self.three(x)]
        if self.five is not None:
            parts.append(self.five(x))
        parts.append(self._pooled(x, parts[0].shape[-1]))
        if self.one is not None:
            parts.append(relu(self.one(x)))
        return torch.cat(parts, dim=1)

    def _pooled(self, x: Tensor, side: int) -> Tensor:
        """Pool, and put the smaller map into the middle of an empty one."""
        small = max_pool2d(x, 3, 2) if self.kind == "max" else lp_pool2d(x, 2.0, 3, 3)
        if self.pool is not None:
            small = relu(self.pool(small))
        short = side - small.shape[-1]
        before, after = short // 2, short - short // 2
        return pad(small, (before, after, before, after))


class OpenFace(nn.Module):
    """Takes crops ``[n, 3, 96, 96]`` of 0 to 1 to embeddings ``[n, 128]``, not yet of length 1."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 64, 7, 2, 3)
        self.second = nn.Conv2d(64, 64, 1)
        self.third = nn.Conv2d(64, 192, 3, 1, 1)
        self.blocks = nn.Sequential(
            Inception(192, three=(96, 128), five=(16, 32), pool=32, kind="max", one=64),
            Inception(256, three=(96, 128), five=(32, 64), pool=64, kind="squares", one=64),
            Inception(320, three=(128, 256), five=(32, 64), pool=0, kind="max", one=0, stride=2),
            Inception(640, three=(96, 192), five=(32, 64), pool=128, kind="squares", one=256),
            Inception(640, three=(160, 256), five=(64, 128), pool=0, kind="max", one=0, stride=2),
            Inception(1024, three=(96, 384), pool=96, kind="squares", one=256),
            Inception(736, three=(96, 384), pool=96, kind="max", one=256),
        )
        self.out = nn.Linear(736, 128)

    def forward(self, x: Tensor) -> Tensor:
        """Embed a batch."""
        x = _across(max_pool2d(relu(self.first(x)), 3, 2, 1))
        x = relu(self.third(relu(self.second(x))))
        x = max_pool2d(_across(x), 3, 2, 1)
        answer: Tensor = self.out(torch.flatten(avg_pool2d(self.blocks(x), 3), 1))
        return answer


def _across(x: Tensor) -> Tensor:
    """Normalize across five neighboring channels."""
    return local_response_norm(x, 5, 1e-4, 0.75, 1.0)
