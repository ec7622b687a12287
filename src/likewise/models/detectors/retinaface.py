"""RetinaFace: faces and their five points in one pass.

Deng, Guo, Ververas, Kotsia, Zafeiriou, "RetinaFace: Single-shot multi-level face localization in the wild", CVPR 2020,
with the MobileNet of a quarter's width. Written for weights of github.com/biubug6/Pytorch_Retinaface's layout, whose
normalizations the converter has folded into the convolutions.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate, leaky_relu, relu

from likewise.models.detectors.detection import Detection, detect_at_sizes
from likewise.models.detectors.overlap import non_maximum_suppression
from likewise.models.device import device as device_of
from likewise.models.geometry import Floats, Picture, resized
from likewise.models.state import fill, read_state
from likewise.weights import where
from likewise.weights.licenses import license_of

STEPS, SIZES = (8, 16, 32), ((16, 32), (64, 128), (256, 512))
VARIANCE = (0.1, 0.2)
BGR_MEAN = (104.0, 117.0, 123.0)
WIDTH = 64


def _leaky(x: Tensor) -> Tensor:
    return leaky_relu(x, 0.1)


def _conv(inside: int, outside: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inside, outside, kernel, stride, kernel // 2, groups=groups)


class Separable(nn.Module):
    """A depthwise and a pointwise convolution."""

    def __init__(self, inside: int, outside: int, stride: int = 1) -> None:
        super().__init__()
        self.depth = _conv(inside, inside, 3, stride, inside)
        self.point = _conv(inside, outside, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Filter each channel, then mix them."""
        return _leaky(self.point(_leaky(self.depth(x))))


class Context(nn.Module):
    """Looks at windows of 3, 5 and 7 pixels (SSH, Najibi et al. 2017)."""

    def __init__(self) -> None:
        super().__init__()
        self.three = _conv(WIDTH, WIDTH // 2)
        self.narrow = _conv(WIDTH, WIDTH // 4)
        self.five, self.more, self.seven = (_conv(WIDTH // 4, WIDTH // 4) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        """Put the three windows side by side."""
        narrow = _leaky(self.narrow(x))
        return relu(torch.cat([self.three(x), self.five(narrow), self.seven(_leaky(self.more(narrow)))], dim=1))


class RetinaFace(nn.Module):
    """Scores ``[n, a, 2]``, boxes ``[n, a, 4]`` and points ``[n, a, 10]`` of all anchors of ``[n, 3, H, W]``."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = _conv(3, 8, 3, 2)
        one = [Separable(*shape) for shape in ((8, 16), (16, 32, 2), (32, 32), (32, 64, 2), (64, 64))]
        two = [Separable(64, 128, 2), *(Separable(128, 128) for _ in range(5))]
        self.stages = nn.ModuleList(
            nn.Sequential(*s) for s in (one, two, [Separable(128, 256, 2), Separable(256, 256)])
        )
        self.sideways = nn.ModuleList(_conv(inside, WIDTH, 1) for inside in (64, 128, 256))
        self.merges = nn.ModuleList(_conv(WIDTH, WIDTH) for _ in range(2))
        self.contexts = nn.ModuleList(Context() for _ in range(3))
        for name, numbers in (("scores", 2), ("boxes", 4), ("points", 10)):
            setattr(self, name, nn.ModuleList(_conv(WIDTH, 2 * numbers, 1) for _ in range(3)))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Run the pyramid down and up again, and read each level."""
        x, levels = _leaky(self.stem(x)), []
        for stage, sideways in zip(self.stages, self.sideways, strict=True):
            x = stage(x)
            levels.append(_leaky(sideways(x)))
        for k in (1, 0):  # what a coarse level saw helps the finer one
            above = interpolate(levels[k + 1], size=levels[k].shape[2:], mode="nearest")
            levels[k] = _leaky(self.merges[k](levels[k] + above))
        seen = [context(level) for context, level in zip(self.contexts, levels, strict=True)]
        read = [self._read(getattr(self, name), seen, n) for name, n in (("scores", 2), ("boxes", 4), ("points", 10))]
        return read[0].softmax(dim=-1), read[1], read[2]

    @staticmethod
    def _read(heads: nn.ModuleList, seen: list[Tensor], numbers: int) -> Tensor:
        flat = [head(x).permute(0, 2, 3, 1).flatten(1) for head, x in zip(heads, seen, strict=True)]
        return torch.cat(flat, dim=1).reshape(len(flat[0]), -1, numbers)


@lru_cache(maxsize=16)
def anchors(height: int, width: int) -> Floats:
    """Return the anchors ``[a, 4]`` (center x, y, width, height, in pixels) in the order of the heads."""
    parts = []
    for step, sizes in zip(STEPS, SIZES, strict=True):
        rows, columns = -(-height // step), -(-width // step)
        y, x, size = np.meshgrid(np.arange(rows), np.arange(columns), sizes, indexing="ij")
        parts.append(np.stack([(x + 0.5) * step, (y + 0.5) * step, size, size], axis=-1).reshape(-1, 4))
    return np.concatenate(parts).astype(np.float64)


class RetinaFaceDetector:
    """Detects faces of 16 pixels and more; an image is resized, and once more if no face is detected."""

    name, scheme = "retinaface", "centers"

    def __init__(
        self,
        *,
        weights: str = "retinaface",
        sides: tuple[int, ...] = (320, 960),
        confidence: float = 0.9,
        device: str = "cpu",
    ) -> None:
        self.license = license_of(weights)
        self._sides, self._confidence, self._device = sides, confidence, device_of(device)
        self._net = RetinaFace()
        tensors, _ = read_state(where(weights), "retinaface")
        fill(self._net, tensors, weights)
        self._net.eval().requires_grad_(False).to(self._device)

    def find(self, picture: Picture) -> list[Detection]:
        """Return all faces of an image, highest score first."""
        return detect_at_sizes(self._at, picture, self._sides)

    def _at(self, picture: Picture, side: int) -> list[Detection]:
        looked_at = resized(picture, side)
        height, width = looked_at.shape[:2]
        scores, boxes, points = self._seen(looked_at)
        sure = np.flatnonzero(scores > self._confidence)
        around = anchors(height, width)[sure]
        box, marks = _boxes(boxes[sure], around), _points(points[sure], around)
        factor = np.array([picture.shape[1] / width, picture.shape[0] / height])
        kept = non_maximum_suppression(box, scores[sure])
        return [_found(box[k], marks[k], float(scores[sure][k]), factor) for k in kept]

    def _seen(self, picture: Picture) -> tuple[Floats, Floats, Floats]:
        bgr = np.ascontiguousarray(picture[..., ::-1].astype(np.float32) - np.array(BGR_MEAN, np.float32))
        x = torch.from_numpy(bgr).permute(2, 0, 1)[None].to(self._device)
        with torch.inference_mode():
            scores, boxes, points = (part[0].double().cpu().numpy() for part in self._net(x))
        return scores[:, 1], boxes, points


def _found(box: Floats, points: Floats, score: float, factor: Floats) -> Detection:
    left, top, right, bottom = (float(number) for number in box * np.tile(factor, 2))
    return Detection((left, top, right, bottom), (points * factor) - 0.5, score)  # pixel centers at whole numbers


def _boxes(raw: Floats, around: Floats) -> Floats:
    center = around[:, :2] + raw[:, :2] * VARIANCE[0] * around[:, 2:]
    half = around[:, 2:] * np.exp(raw[:, 2:] * VARIANCE[1]) / 2
    return np.concatenate([center - half, center + half], axis=1)


def _points(raw: Floats, around: Floats) -> Floats:
    points: Floats = around[:, None, :2] + raw.reshape(-1, 5, 2) * VARIANCE[0] * around[:, None, 2:]
    return points
