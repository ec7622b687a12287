"""An encoder for the embedded generator: from an image to a latent, without optimization.

A linear map predicts coordinates in W from features of frozen networks, for the coarse, the middle and the fine rows.
(Drawing the prediction, encoding the drawing and moving by the difference, as "ReStyle" does with networks,
arXiv:2104.02699, was tried: it does not converge, and photographs are reconstructed worse.)

The map was fitted to faces that the generator drew (``likewise.models.training.encoder``); no photograph was used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from likewise.errors import PluginError
from likewise.models.generators.mobilestylegan import DIM, ROWS, MobileStyleGAN, fingerprint
from likewise.models.perception.lpips import LpipsAlex
from likewise.models.recognizers.pretrained import mobilefacenet
from likewise.models.state import fill, read_state

FILE = Path(__file__).parent / "encoders" / "mobilestylegan.safetensors"
SIZE = 64
"""Pixels that are looked at, and the generator's exit from which was learned: the cheapest."""
ENLARGED = 128
"""Pixels to which they are brought for AlexNet, so that its later layers have something to see."""
GRIDS: Mapping[int, int] = {0: 6, 1: 5, 4: 5}
"""AlexNet's convolutions that are looked at, and the grid to which each is averaged."""
THUMBNAIL = 16
SEEN = 3 * THUMBNAIL**2 + 64 * 6**2 + 192 * 5**2 + 256 * 5**2 + 128
GROUPS = ((0, 4), (4, 10), (10, ROWS))
"""The rows of 4 and 8 px (pose, shape), of 16 and 32 px (features), and of 64 px and finer (color, texture)."""
DEPTH = 96
"""Principal directions of W in which each group is placed."""
FAMILY = "mobilefacenet"
"""The recognizer family whose features the encoder looks at."""


class FeatureExtractor:
    """Features of an image from frozen networks: colors, AlexNet's features, MobileFaceNet's embedding."""

    def __init__(self, device: str = "cpu") -> None:
        self._alex, self._face = LpipsAlex(device=device), mobilefacenet(device=device)

    def __call__(self, x: Tensor) -> Tensor:
        """Return ``[n, SEEN]`` of images ``[n, 3, s, s]`` in [-1, 1]."""
        x = smooth(F.adaptive_avg_pool2d(x, SIZE))
        parts = [F.adaptive_avg_pool2d(x, THUMBNAIL)]
        x = F.interpolate(x, size=(ENLARGED, ENLARGED), mode="bilinear", align_corners=False)
        layers = list(self._alex.layers(x))
        parts += [F.adaptive_avg_pool2d(layers[number], grid) for number, grid in GRIDS.items()]
        return torch.cat([*(part.flatten(1) for part in parts), self._face.embed_tensor(x)], dim=1)


def smooth(x: Tensor) -> Tensor:
    """Blur by a pixel: an exit shows a faint checkerboard, a photograph none, and neither should be looked at."""
    side = x.new_tensor([0.25, 0.5, 0.25])
    kernel = (side[:, None] * side).expand(3, 1, 3, 3)
    return F.conv2d(F.pad(x, (1, 1, 1, 1), mode="replicate"), kernel, groups=3)


class Encoder(nn.Module):
    """A linear map from features to coordinates along the principal directions of W, group by group."""

    mean: Tensor
    directions: Tensor
    middle: Tensor
    spread: Tensor
    slopes: Tensor
    scale: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(DIM))
        self.register_buffer("directions", torch.zeros(DEPTH, DIM))
        self.register_buffer("middle", torch.zeros(SEEN))
        self.register_buffer("spread", torch.ones(SEEN))
        self.register_buffer("slopes", torch.zeros(SEEN, len(GROUPS) * DEPTH))
        self.register_buffer("scale", torch.ones(len(GROUPS) * DEPTH))

    def forward(self, features: Tensor) -> Tensor:
        """Return coordinates ``[n, GROUPS, DEPTH]``."""
        found = ((features - self.middle) / self.spread) @ self.slopes * self.scale
        return found.view(-1, len(GROUPS), DEPTH)

    def at(self, coordinates: Tensor) -> Tensor:
        """Return latents ``[n, ROWS, DIM]`` of coordinates."""
        groups = self.mean + coordinates @ self.directions
        repeats = torch.tensor([end - start for start, end in GROUPS], device=groups.device)
        return groups.repeat_interleave(repeats, dim=1)

    def coordinates(self, w: Tensor) -> Tensor:
        """Return the coordinates ``[n, GROUPS, DEPTH]`` of each group's mean row; the directions are orthonormal."""
        groups = torch.stack([w[:, start:end].mean(dim=1) for start, end in GROUPS], dim=1)
        return (groups - self.mean) @ self.directions.T


def encoder_of(generator: object) -> Encoder:
    """Return the encoder that was trained for this generator's weights; others are refused."""
    if not isinstance(generator, MobileStyleGAN):
        name = getattr(generator, "name", type(generator).__name__)
        raise PluginError(f"There is no encoder for {name!r}, only for mobilestylegan", fix=_FIX)
    if not FILE.is_file():  # it is for research only; who may not use it deletes it
        raise PluginError("This installation has no encoder for mobilestylegan", fix=_FIX)
    tensors, metadata = read_state(FILE, "mobilestylegan-encoder")
    if metadata.get("of") != fingerprint(generator.network):
        raise PluginError(f"The encoder was trained for other weights than those of {generator.name!r}", fix=_FIX)
    encoder = Encoder()
    fill(encoder, tensors, FILE.name)
    return encoder.to(generator.device).requires_grad_(False)


def has_encoder(generator: object) -> bool:
    """Whether there is an encoder for this generator."""
    try:
        encoder_of(generator)
    except PluginError:
        return False
    return True


_FIX = "Use method 'refine', which starts from the mean latent where there is no encoder."


def encode(encoder: Encoder, extractor: FeatureExtractor, images: Tensor) -> Tensor:
    """Return latents ``[n, ROWS, DIM]`` of images ``[n, 3, s, s]`` in [-1, 1]; each image by itself."""
    with torch.no_grad():
        return encoder.at(encoder(extractor(images)))
