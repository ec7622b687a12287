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
        targets = to_signals(self.album(images, size=generator.resolution))
        found = [project_one(target, generator, perceptual, self.spec) for target in targets]
        mean = generator.synthesise(np.tile(generator.mean_w(), (1, generator.rows, 1)))
        return {
            "w": np.stack([w for w, _ in found]).astype(np.float32),
            "distance": np.array([distance for _, distance in found]),
            "baseline": perceptual.distance(targets, np.repeat(mean, len(targets), axis=0)),
        }


def project_one(
    target: npt.NDArray[np.float32], generator: Generator, perceptual: Perceptual, spec: ProjectSpec
) -> tuple[Floats, float]:
    """Project one signal ``[3, H, W]``; return its latent ``[L, D]`` and the perceptual distance that is left."""
    rows, dim = generator.rows, generator.dim
    if rows * dim > MOST_NUMBERS:
        raise PluginError(f"Gauss-Newton is for latents of at most {MOST_NUMBERS} numbers", got=f"{rows} x {dim}")
    goal = perceptual.features(target[None])[0].astype(np.float64)
    penalty = _penalty(rows, dim) * (spec.lambda_ / (rows * dim)) ** 0.5
    z = np.tile(generator.mean_w().astype(np.float64), rows)
    seen = _features(z[None], generator, perceptual)[0]
    loss = _loss(seen, goal, penalty, z)
    for _ in range(spec.steps):
        slope = _derivative(z, generator, perceptual)  # [L*D, P]
        gram = slope @ slope.T / len(goal) + penalty.T @ penalty
        trial = z + _shortest(gram, slope @ (goal - seen) / len(goal) - penalty.T @ (penalty @ z))
        there = _features(trial[None], generator, perceptual)[0]
        reached = _loss(there, goal, penalty, trial)
        if reached >= loss:
            break
        gained, z, seen, loss = loss - reached, trial, there, reached
        if gained < 1e-6 * loss:
            break
    return z.reshape(rows, dim), float(np.square(seen - goal).mean())


def _penalty(rows: int, dim: int) -> Floats:
    """Return the matrix that takes Z to the rows' deviations from their mean."""
    return np.kron(np.eye(rows) - 1 / rows, np.eye(dim)).astype(np.float64)


def _features(z: Floats, generator: Generator, perceptual: Perceptual) -> Floats:
    w = z.reshape(len(z), generator.rows, generator.dim).astype(np.float32)
    return perceptual.features(generator.synthesise(w)).astype(np.float64)


def _derivative(z: Floats, generator: Generator, perceptual: Perceptual, step: float = 0.05) -> Floats:
    """Return how each number of Z moves the features, ``[L*D, P]``; the step is wide because drawings are float32."""
    aside = step * np.eye(len(z))
    slope: Floats = (_features(z + aside, generator, perceptual) - _features(z - aside, generator, perceptual)) / (
        2 * step
    )
    return slope


def _shortest(gram: Floats, moment: Floats, cutoff: float = 1e-9) -> Floats:
    """Solve, taking no step in directions that neither the picture nor the penalty determines."""
    values, basis = np.linalg.eigh(gram)
    sure = values > cutoff * values[-1]
    step: Floats = basis[:, sure] @ ((basis[:, sure].T @ moment) / values[sure])
    return step


def _loss(seen: Floats, goal: Floats, penalty: Floats, z: Floats) -> float:
    return float(np.square(seen - goal).mean() + np.square(penalty @ z).sum())
