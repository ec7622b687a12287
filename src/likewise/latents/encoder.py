"""Encode: projection without descent, by the encoder that was trained for the embedded generator.

Some hundred times cheaper than descent and much less faithful: for a start, for many faces, for what needs only the
semantics of a latent. What is left is measured at the generator's exit of 128 px: a full drawing would cost more than
all the rest.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from likewise.latents.solver import Floats, Solver, no_steps
from likewise.models.generators.encoder import FAMILY, FeatureExtractor, encode, encoder_of
from likewise.models.generators.mobilestylegan import MobileStyleGAN
from likewise.runtime.registry import Array, Generator, Perceptual, Signals

SHOWN, COMPARED = 256, 128  # px at which images are wanted, and at which they are compared with what is drawn
BATCH = 8


class Start:
    """The encoder at work: opened once, used for many images."""

    def __init__(self, generator: Generator) -> None:
        self._encoder = encoder_of(generator)
        assert isinstance(generator, MobileStyleGAN)  # encoder_of refuses others
        self._eye = FeatureExtractor(str(generator.device))

    def __call__(self, images: Tensor) -> Tensor:
        """Return latents of images ``[n, 3, s, s]``."""
        return encode(self._encoder, self._eye, images)


def encoder_solver(generator: Generator, perceptual: Perceptual) -> Solver:
    """Return what takes signals to latents by the encoder alone."""
    start = Start(generator)
    assert isinstance(generator, MobileStyleGAN)

    def solve(targets: Signals) -> tuple[Array, Floats, Array]:
        parts = [
            torch.from_numpy(targets[at : at + BATCH]).to(generator.device) for at in range(0, len(targets), BATCH)
        ]
        w = torch.cat([start(part) for part in parts]).cpu().numpy()
        return w, apart(generator.synthesize(w, COMPARED), targets), no_steps(len(w))

    def apart(drawn: Signals, targets: Signals) -> Floats:
        small = torch.nn.functional.adaptive_avg_pool2d(torch.from_numpy(targets), COMPARED).numpy()
        return np.asarray(perceptual.distance(drawn, small), np.float64)

    mean = generator.synthesize(generator.mean_w()[None], COMPARED)  # drawn once, compared with every image

    def from_mean(targets: Signals) -> Floats:
        return apart(np.repeat(mean, len(targets), axis=0), targets)

    return Solver(SHOWN, solve, from_mean, words=f"features of {FAMILY}", families=(FAMILY,))
