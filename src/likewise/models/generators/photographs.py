"""How the latents of photographs lie off the encoder's guesses, which were learned from drawn faces.

What refined latents of photographs add to the guess has a mean, and a part that a recognizer's embedding of the
photograph predicts. Both are kept along the leading eigenvectors of the average curvature: the other directions hardly
change what is seen. Made by ``likewise.models.training.photographs``.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from likewise.models.generators.curvature import DEPTH
from likewise.models.generators.mobilestylegan import MobileStyleGAN, fingerprint
from likewise.models.state import fill, read_state

FILE = Path(__file__).parent / "encoders" / "mobilestylegan-photographs.safetensors"
EMBEDDED = 128
"""Numbers of MobileFaceNet's embedding."""


class Correction(nn.Module):
    """A linear map from the embedding of a photograph to a move along the directions of the curvature."""

    offset: Tensor
    middle: Tensor
    slopes: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("offset", torch.zeros(DEPTH))
        self.register_buffer("middle", torch.zeros(EMBEDDED))
        self.register_buffer("slopes", torch.zeros(EMBEDDED, DEPTH))

    def forward(self, embedded: Tensor) -> Tensor:
        """Return moves ``[n, DEPTH]`` of embeddings ``[n, EMBEDDED]``."""
        return self.offset + (embedded - self.middle) @ self.slopes


def correction_of(generator: object) -> Correction | None:
    """Return the correction that was computed for this generator's weights; None where there is none."""
    if not isinstance(generator, MobileStyleGAN) or not FILE.is_file():  # who may not use the file deletes it
        return None
    tensors, metadata = read_state(FILE, "mobilestylegan-photographs")
    if metadata.get("of") != fingerprint(generator.network):
        return None
    correction = Correction()
    fill(correction, tensors, FILE.name)
    return correction.to(generator.device).requires_grad_(False)
