"""Gauss-Newton: projection for small generators that offer no gradients.

With D the mean squared difference of perceptual features both terms of the objective are sums of squares, so
Gauss-Newton solves it, with derivatives taken numerically: right for any smooth generator, and quick for small ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.errors import PluginError, SpecError
from likewise.runtime.registry import Generator, Perceptual

Floats = npt.NDArray[np.float64]
MOST_NUMBERS = 512  # of one latent; numerical derivatives need one drawing for each


@dataclass(frozen=True)
class _Tangent:
    """The generator made straight at one latent: features are about ``seen + slope' (z - here)``."""

    seen: Floats
    slope: Floats
    """How each number of Z moves the features, ``[L*D, P]``."""
    inverse: Floats
    """Takes the gradient of the objective to the step that solves the straight problem."""


class GaussNewton:
    """Projects signals one by one. All start at the mean latent, so they share the first tangent.

    A step that gains less than a millionth is the last.
    """

    def __init__(self, generator: Generator, perceptual: Perceptual, *, weight: float, steps: int = 4) -> None:
        if not np.isfinite(weight):
            raise SpecError(f"lambda is {weight}, which Gauss-Newton cannot use", fix="Use a large number.")
        numbers = generator.rows * generator.dim
        if numbers > MOST_NUMBERS:
            shape = f"{generator.rows} x {generator.dim}"
            problem = f"Latents of {shape} are too large for Gauss-Newton (at most {MOST_NUMBERS} numbers)"
            raise PluginError(problem, fix="Use a generator with gradients, or method = 'encoder'.")
        self._generator, self._perceptual, self._steps = generator, perceptual, steps
        apart = np.kron(np.eye(generator.rows) - 1 / generator.rows, np.eye(generator.dim))  # deviations of the rows
        self._penalty = apart.T @ apart * weight / numbers
        self._start = np.tile(generator.mean_w().astype(np.float64), generator.rows)
        self._first = self._tangent(self._start)

    def project(self, target: npt.NDArray[np.float32]) -> tuple[Floats, float]:
        """Return the latent ``[L, D]`` of one signal ``[3, H, W]`` and the perceptual distance that is left."""
        goal = self._perceptual.features(target[None])[0].astype(np.float64)
        z, tangent = self._start, self._first
        loss = self._loss(z, tangent.seen, goal)
        for _ in range(self._steps):
            gradient = tangent.slope @ (goal - tangent.seen) / len(goal) - self._penalty @ z
            step = tangent.inverse @ gradient
            seen = self._features((z + step)[None])[0]
            reached = self._loss(z + step, seen, goal)
            if reached >= loss:
                break
            bend = np.square(seen - tangent.seen - step @ tangent.slope).mean()
            gained, loss, z = loss - reached, reached, z + step
            if bend < 1e-3 * loss or gained < 1e-6 * loss:  # the generator is straight here: the step was exact
                break
            tangent = self._tangent(z)
        left = np.square(self._features(z[None])[0] - goal).mean()
        return z.reshape(self._generator.rows, self._generator.dim), float(left)

    def _features(self, z: Floats) -> Floats:
        w = z.reshape(len(z), self._generator.rows, self._generator.dim).astype(np.float32)
        return self._perceptual.features(self._generator.synthesize(w)).astype(np.float64)

    def _tangent(self, z: Floats, aside: float = 0.05) -> _Tangent:
        """Take the derivatives numerically; the step aside is wide because drawings are float32."""
        there, back = (self._features(z + sign * aside * np.eye(len(z))) for sign in (1, -1))
        slope = (there - back) / (2 * aside)
        gram = slope @ slope.T / slope.shape[1] + self._penalty
        inverse = np.linalg.pinv(gram, rcond=1e-9, hermitian=True)  # no step where nothing determines Z
        return _Tangent(self._features(z[None])[0], slope, inverse)

    def _loss(self, z: Floats, seen: Floats, goal: Floats) -> float:
        return float(np.square(seen - goal).mean() + z @ self._penalty @ z)
