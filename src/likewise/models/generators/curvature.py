"""The average curvature of the projection loss of the embedded generator, and the steps that it suggests.

A few hundred directions of W+ change what a perceptual network and a recognizer see; the other ten thousand hardly do.
Near its minimum the loss is about a quadratic whose matrix is J'J, J the Jacobian of those features. Its average over
drawn faces, ``likewise.models.training.curvature``, is stored by its leading eigenvectors. A step along the inverse,

    (J'J + damping * prior)^-1 slope,

moves fast along directions that nothing reacts to and carefully along those that everything reacts to. The prior is the
inverse covariance of sampled latents, the same for each row: where sampled latents do not vary, neither does the step.
This is Gauss-Newton (Levenberg-Marquardt) with a matrix that is computed once and for all images.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from likewise.models.generators.mobilestylegan import DIM, ROWS, MobileStyleGAN, fingerprint
from likewise.models.state import fill, read_state

FILE = Path(__file__).parent / "curvatures" / "mobilestylegan.safetensors"
DEPTH = 300
"""Eigenvectors that are kept: they hold 97 % of the curvature of faces that were not used."""
DAMPING = 1e-3
"""Curvature that is added everywhere, in units of loss a squared standard deviation of sampled latents."""

REACH = 40.0
"""How far from the mean a start may lie, over all rows, in standard deviations of sampled latents. The encoder's
guesses of photographs lie at 13 to 45; of one that is unlike what it was trained on (sepia) at 130, where no descent
finds back to a face."""


class Curvature(nn.Module):
    """Leading eigenvectors of the average J'J, with latents measured in standard deviations of sampled ones."""

    axes: Tensor
    directions: Tensor
    values: Tensor

    def __init__(self, rows: int = ROWS, dim: int = DIM, depth: int = DEPTH) -> None:
        super().__init__()
        self.register_buffer("axes", torch.eye(dim))
        self.register_buffer("directions", torch.zeros(depth, rows * dim))
        self.register_buffer("values", torch.zeros(depth))

    def step(self, slope: Tensor) -> Tensor:
        """Return the Gauss-Newton step of slopes ``[n, rows, dim]``: where to go, times -1."""
        whitened = (slope @ self.axes.T).flatten(1)
        along = whitened @ self.directions.T  # [n, depth]
        rest = whitened - along @ self.directions
        moved = rest / DAMPING + (along / (self.values + DAMPING)) @ self.directions
        return moved.view_as(slope) @ self.axes

    def within_reach(self, w: Tensor, mean: Tensor) -> Tensor:
        """Return latents ``[n, rows, dim]``, those beyond ``REACH`` of the mean drawn back toward it."""
        whitened = self._whitened(w - mean)  # [n, rows, dim]
        far = whitened.flatten(1).norm(dim=1)
        shrink: Tensor = REACH / far.clamp_min(REACH)
        return mean + (w - mean) * shrink[:, None, None]

    def along(self, move: Tensor) -> Tensor:
        """Return the coordinates ``[n, depth]`` of moves ``[n, rows, dim]`` along the eigenvectors."""
        return self._whitened(move).flatten(1) @ self.directions.T

    def move(self, along: Tensor) -> Tensor:
        """Return the moves ``[n, rows, dim]`` of coordinates ``[n, depth]``."""
        return (along @ self.directions).view(len(along), -1, len(self.axes)) @ self.axes

    def _whitened(self, move: Tensor) -> Tensor:
        """Measure moves in standard deviations of sampled latents; the axes are orthogonal."""
        return move @ self.axes.T / self.axes.square().sum(dim=1)


def curvature_of(generator: object) -> Curvature | None:
    """Return the curvature that was computed for this generator's weights; None where there is none."""
    if not isinstance(generator, MobileStyleGAN) or not FILE.is_file():  # who may not use the file deletes it
        return None
    tensors, metadata = read_state(FILE, "mobilestylegan-curvature")
    if metadata.get("of") != fingerprint(generator.network):
        return None
    curvature = Curvature()
    fill(curvature, tensors, FILE.name)
    # Stored in half precision. Damping is a thousandth of the largest value, so the rounding must not show.
    curvature.directions.copy_(torch.linalg.qr(curvature.directions.T).Q.T)
    return curvature.to(generator.device).requires_grad_(False)
