"""project: images become latents of a generator.

For each image x, find Z [L, D] that minimises

    D(G(Z), x) + lambda * R(Z),    R(Z) = mean over all L*D entries of (Z_j - mean_j Z)^2

where D is the mean squared difference of perceptual features. (The paper's text writes a sum for R; its code, and
its lambda of 0.1, belong to the mean. lambda_sum = lambda_mean / (L * D).)

Both terms are sums of squares, so Gauss-Newton solves it, with derivatives taken numerically: right for any smooth
generator, and quick for small ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.engine import Result
from likewise.errors import PluginError, SpecError
from likewise.images import Album
from likewise.plugins import Generator, Perceptual, create, to_signals

Floats = npt.NDArray[np.float64]
MOST_NUMBERS = 512  # of one latent; numerical derivatives need one drawing for each


@dataclass(frozen=True, kw_only=True)
class ProjectSpec:
    """How images are projected."""

    generator: str = "world"
    """The slot's occupant that draws."""
    perceptual: str = "pixels"
    """The slot's occupant that compares."""
    lambda_: float = 1e-4
    """Weight of the rows' deviation from their mean (of R as a mean over all entries)."""
    steps: int = 4
    """Gauss-Newton steps at most; a step that gains less than a millionth is the last."""

    def __post_init__(self) -> None:
        if self.lambda_ < 0 or self.steps < 1:
            raise SpecError("lambda is at least 0 and steps at least 1", got=f"{self.lambda_} and {self.steps}")


@dataclass(frozen=True)
class Projection:
    """The work of one chunk: picklable, so that other processes can do it."""

    spec: ProjectSpec
    album: Album

    def __call__(self, images: list[str]) -> Result:
        """Return latents ``w [n, L, D]`` and the perceptual distance of each reconstruction, and of the mean face."""
        generator: Generator = create("generator", self.spec.generator)
        perceptual: Perceptual = create("perceptual", self.spec.perceptual)
        projector = Projector(generator, perceptual, self.spec)
        targets = to_signals(self.album(images, size=generator.resolution))
        found = [projector.project(target) for target in targets]
        mean = generator.synthesise(np.tile(generator.mean_w(), (1, generator.rows, 1)))
        return {
            "w": np.stack([w for w, _ in found]).astype(np.float32),
            "distance": np.array([distance for _, distance in found]),
            "baseline": perceptual.distance(targets, np.repeat(mean, len(targets), axis=0)),
        }


@dataclass(frozen=True)
class _Tangent:
    """The generator made straight at one latent: features are about ``seen + slope' (z - here)``."""

    seen: Floats
    slope: Floats
    """How each number of Z moves the features, ``[L*D, P]``."""
    inverse: Floats
    """Takes the gradient of the objective to the step that solves the straight problem."""


class Projector:
    """Projects signals one by one. All start at the mean latent, so they share the first tangent."""

    def __init__(self, generator: Generator, perceptual: Perceptual, spec: ProjectSpec) -> None:
        numbers = generator.rows * generator.dim
        if numbers > MOST_NUMBERS:
            got = f"{generator.rows} x {generator.dim}"
            raise PluginError(f"Gauss-Newton is for latents of at most {MOST_NUMBERS} numbers", got=got)
        self._generator, self._perceptual, self._steps = generator, perceptual, spec.steps
        apart = np.kron(np.eye(generator.rows) - 1 / generator.rows, np.eye(generator.dim))  # deviations of the rows
        self._penalty = apart.T @ apart * spec.lambda_ / numbers
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
        return self._perceptual.features(self._generator.synthesise(w)).astype(np.float64)

    def _tangent(self, z: Floats, aside: float = 0.05) -> _Tangent:
        """Take the derivatives numerically; the step aside is wide because drawings are float32."""
        there, back = (self._features(z + sign * aside * np.eye(len(z))) for sign in (1, -1))
        slope = (there - back) / (2 * aside)
        gram = slope @ slope.T / slope.shape[1] + self._penalty
        inverse = np.linalg.pinv(gram, rcond=1e-9, hermitian=True)  # no step where nothing determines Z
        return _Tangent(self._features(z[None])[0], slope, inverse)

    def _loss(self, z: Floats, seen: Floats, goal: Floats) -> float:
        return float(np.square(seen - goal).mean() + z @ self._penalty @ z)
