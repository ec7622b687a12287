"""Descent: projection by gradients, for generators of any size that offer them.

Two ways to go down the same objective:

- ``SINGH2021`` is the published one: 1000 steps of Adam at full resolution from the mean latent, its rate warmed up
  over the first 5 % and let down by a cosine over the last 25 %, with noise on the latent that fades; the generator's
  noise maps, where it has any, move along (see noise).
- ``REFINE`` is ours: most steps at low resolution, where a step is cheap, and the last at full resolution, because what
  is drawn at low resolution is only nearly the image, and an optimiser finds the difference. A generator without low
  resolutions takes all steps at its own. A step is measured in standard deviations of sampled latents, so that it is
  small where W is narrow. Where there is an encoder (``ENCODED``) its guess is the start, and there are fewer steps; a
  recogniser is to keep the person. How far that holds is in docs/projection.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from likewise.make.encode import Start
from likewise.make.noise import NoiseMaps
from likewise.make.solver import Floats, Solver
from likewise.models.differentiable import (
    DifferentiableGenerator,
    DifferentiablePerceptual,
    DifferentiableRecogniser,
    differentiable,
)
from likewise.models.encoder import FAMILY, has_encoder
from likewise.plugins import Array, Generator, Perceptual, Recogniser, Signals, create

IDENTITY, SAME_PERSON = "mobilefacenet", 0.3  # who says that it is the same person, and the weight of 1 - cosine
ON_A_CARD = 4  # images at once on a graphics card: each takes some gigabytes at 1024 px
COMPARED = 256  # px at most: the size that the perceptual distance is meant for, as in the paper


@dataclass(frozen=True, kw_only=True)
class Leg:
    """A part of the way: how many steps of Adam, at which size, how fast."""

    steps: int
    rate: float
    size: int | None = None
    """Of the drawing; None is the full resolution."""
    tied: bool = False
    """Whether all rows move together (W), or each on its own (W+)."""
    warm: float = 0.05
    """Share of the steps over which the rate rises."""
    settle: float = 0.25
    """Share of the steps over which it falls again."""
    shake: float = 0.0
    """Size of the fading noise on the latent, in spreads of w."""
    memory: float = 0.999
    """Adam's second beta: how long it remembers the size of slopes. Few steps want a shorter one."""
    noise: float = 0.0
    """Weight of the penalty that keeps a generator's noise maps noise while they move, too; 0 leaves them alone."""
    whitened: bool = False
    """Whether a step is measured in standard deviations of sampled latents, direction by direction."""


SINGH2021 = (Leg(steps=1000, rate=0.1, shake=0.05, noise=1e5),)
REFINE = (
    Leg(steps=80, rate=0.1, size=128, whitened=True, memory=0.99),
    Leg(steps=20, rate=0.03, whitened=True, memory=0.99),
)
"""From the mean latent, for generators without an encoder."""
ENCODED: tuple[Leg, ...] = (
    Leg(steps=40, rate=0.08, size=128, warm=0.16, settle=1.0, whitened=True, memory=0.99),
    Leg(steps=16, rate=0.06, size=256, warm=0.0, settle=1.0, whitened=True, memory=0.99),
    Leg(steps=10, rate=0.04, warm=0.0, settle=1.0, whitened=True, memory=0.99),
)
"""From the encoder's guess, which is near. Other numbers, sizes and rates were tried on photographs kept for tuning
(``benchmarks.projection project --tuning --legs``); docs/projection.md has what came of them."""


@dataclass(frozen=True)
class Objective:
    """D(G(Z), x) + lambda R(Z), and, if asked for, the distance that a recogniser sees."""

    generator: DifferentiableGenerator
    perceptual: DifferentiablePerceptual
    weight: float
    recogniser: DifferentiableRecogniser | None = None
    identity: float = 0.0
    """Weight of one minus the cosine between the recogniser's embeddings."""

    def towards(self, target: Tensor, size: int) -> Callable[[Tensor], Tensor]:
        """Return the loss ``[n]`` as a function of ``w [n, L, D]``, for targets ``[n, 3, s, s]`` drawn at ``size``."""
        with torch.no_grad():  # the photograph is looked at once, not at every step
            goal = self.perceptual.embed(shrunk(target, min(size, COMPARED)))
            who = self.recogniser.embed_tensor(shrunk(target, min(size, COMPARED))) if self.recogniser else None

        def loss(w: Tensor) -> Tensor:
            drawn = shrunk(self.generator.draw(w, size=size), COMPARED)
            found = self.perceptual.between(self.perceptual.embed(drawn), goal) + self.weight * rows_apart(w)
            if self.recogniser is not None and who is not None:
                found = found + self.identity * (1 - F.cosine_similarity(self.recogniser.embed_tensor(drawn), who))
            return found

        return loss


def shrunk(images: Tensor, size: int) -> Tensor:
    """Bring images down to ``size`` px by averaging; smaller ones stay as they are."""
    if images.shape[-1] <= size:
        return images
    if images.shape[-1] % size == 0:
        return F.avg_pool2d(images, images.shape[-1] // size)
    return F.interpolate(images, size=(size, size), mode="bilinear", antialias=True)


def rows_apart(w: Tensor) -> Tensor:
    """R as the mean over all entries of the squared deviation of the rows from their mean, ``[n]``."""
    return (w - w.mean(dim=1, keepdim=True)).square().mean(dim=(1, 2))


@dataclass(frozen=True)
class Cloud:
    """Where sampled latents lie: their mean, their spread, and the axes along which they spread evenly."""

    mean: Tensor
    spread: float
    """The root of the summed variance, as the paper takes it."""
    axes: Tensor
    """``[D, D]``: a step of 1 along row k is one standard deviation along the k-th principal direction."""


def descend(
    objective: Objective, start: Tensor, target: Tensor, legs: tuple[Leg, ...], *, cloud: Cloud, seed: int
) -> tuple[Tensor, Tensor]:
    """Return latents ``[n, L, D]`` and the losses ``[steps, n]`` on the way; images do not see each other."""
    w, losses = start.detach(), []
    noise = torch.Generator().manual_seed(seed)
    for leg in legs:
        w, curve = _go(objective, w, target, leg, cloud, noise)
        losses.append(curve)
    return w, torch.cat(losses)


def _go(
    objective: Objective, w: Tensor, target: Tensor, leg: Leg, cloud: Cloud, noise: torch.Generator
) -> tuple[Tensor, Tensor]:
    maps = NoiseMaps(objective.generator, len(w) if leg.noise else 0, seed=noise.initial_seed())
    loss = replace(objective, generator=maps.drawing()).towards(target, leg.size or objective.generator.resolution)
    base = w.detach()
    rows = 1 if leg.tied else w.shape[1]
    moved = torch.zeros(w.shape[0], rows, w.shape[2], device=w.device, requires_grad=True)
    adam = torch.optim.Adam([moved, *maps.maps], betas=(0.9, leg.memory))
    curve = []
    for step in range(leg.steps):
        share = step / leg.steps
        adam.param_groups[0]["lr"] = leg.rate * _pace(share, leg)
        now = base + _in_w(moved, leg, cloud)
        if leg.shake:
            size = cloud.spread * leg.shake * max(0.0, 1 - share / 0.75) ** 2
            now = now + size * torch.randn(now.shape[1:], generator=noise).to(now)  # the same for every image
        each = loss(now)
        adam.zero_grad(set_to_none=True)
        (each + leg.noise * maps.penalty()).sum().backward()  # type: ignore[no-untyped-call]
        adam.step()
        maps.normalise()
        curve.append(each.detach().cpu())
    return (base + _in_w(moved, leg, cloud)).detach(), torch.stack(curve)


def _in_w(moved: Tensor, leg: Leg, cloud: Cloud) -> Tensor:
    """Turn a move that is measured in standard deviations into one of W."""
    return moved @ cloud.axes if leg.whitened else moved


def _pace(share: float, leg: Leg) -> float:
    """Rise linearly at the start and fall by a cosine at the end, as the published projector does."""
    down = min(1.0, (1 - share) / leg.settle) if leg.settle else 1.0
    up = min(1.0, share / leg.warm) if leg.warm else 1.0
    return (0.5 - 0.5 * math.cos(down * math.pi)) * up


@dataclass(frozen=True)
class Descent:
    """Images go their way a few at a time: on a CPU one by one, where a batch gains nothing and costs memory."""

    objective: Objective
    legs: tuple[Leg, ...]
    cloud: Cloud
    seed: int
    encoded: Start | None = None
    """The encoder's guess; None starts from the mean latent."""

    @property
    def batch(self) -> int:
        """How many images go down together; they do not see each other: it changes rounding, as threads do."""
        return 1 if self.objective.generator.device.type == "cpu" else ON_A_CARD

    def solve(self, targets: Signals) -> tuple[Array, Floats, Array]:
        """Return latents ``[n, L, D]``, the perceptual distance that is left of each, and the losses ``[n, steps]``."""
        w, left, losses = zip(*(self._down(part) for part in self._parts(targets, self.batch)), strict=True)
        return np.concatenate(w), np.concatenate(left), np.concatenate(losses)

    def from_mean(self, targets: Signals) -> Floats:
        """Return the perceptual distance of each image to the mean face."""
        return np.concatenate([_apart(self.objective, self._mean_drawn, part) for part in self._parts(targets, 1)])

    @cached_property
    def _mean_drawn(self) -> Tensor:
        """The mean face, drawn once for all images."""
        with torch.inference_mode():
            return shrunk(self.objective.generator.draw(self._mean()), COMPARED)

    def _down(self, target: Tensor) -> tuple[Array, Floats, Array]:
        start = self._mean().expand(len(target), -1, -1) if self.encoded is None else self.encoded(target)
        if self.legs[0].tied:
            start = start.mean(dim=1, keepdim=True).expand_as(start)
        w, losses = descend(self.objective, start, target, self.legs, cloud=self.cloud, seed=self.seed)
        return w.cpu().numpy(), _left(self.objective, w, target), losses.T.float().numpy()

    def _mean(self) -> Tensor:
        return self.cloud.mean.expand(1, self.objective.generator.rows, -1)

    def _parts(self, targets: Signals, size: int) -> Iterator[Tensor]:
        for start in range(0, len(targets), size):
            yield torch.from_numpy(targets[start : start + size]).to(self.objective.generator.device)


def solver_of(
    generator: Generator, perceptual: Perceptual, method: str, *, weight: float, seed: int, identity: str | None = None,
    effort: float = 1.0,
) -> Solver:  # fmt: skip
    """Return what takes signals to latents by this method, and says what is left of the perceptual distance."""
    drawing = differentiable(generator, DifferentiableGenerator)  # type: ignore[type-abstract]
    tied, encoded = math.isinf(weight), method == "refine" and has_encoder(generator)
    who = (IDENTITY if encoded else "") if identity is None else identity
    objective = Objective(
        drawing,
        differentiable(perceptual, DifferentiablePerceptual),  # type: ignore[type-abstract]
        weight=0.0 if tied else weight,
        recogniser=_recogniser(who, drawing.device) if who else None,
        identity=SAME_PERSON,
    )
    legs = _legs("encoded" if encoded else method, drawing, tied=tied, effort=effort)
    way = Descent(objective, legs, cloud_of(drawing, seed), seed, Start(generator) if encoded else None)
    parts = {"encoder start": FAMILY} if encoded else {}
    if objective.recogniser is not None:
        parts[f"identity by {who}"] = objective.recogniser.family
    size = min(generator.resolution, COMPARED)
    return Solver(
        size, way.solve, way.from_mean, words=", ".join(parts), families=tuple(dict.fromkeys(parts.values())),
        steps=sum(leg.steps for leg in legs), batch=way.batch,
    )  # fmt: skip


def _recogniser(name: str, device: torch.device) -> DifferentiableRecogniser:
    made: Recogniser = create("recogniser", name, {} if device.type == "cpu" else {"device": str(device)})
    return differentiable(made, DifferentiableRecogniser)  # type: ignore[type-abstract]


def cloud_of(generator: DifferentiableGenerator, seed: int, n: int = 10_000) -> Cloud:
    """Sample latents and say where they lie."""
    w = generator.sample_w(n, seed).astype(np.float64)
    mean = w.mean(axis=0)
    variances, vectors = np.linalg.eigh((w - mean).T @ (w - mean) / n)
    axes = (vectors * np.sqrt(np.maximum(variances, 0))).T
    mean_, axes_ = (torch.from_numpy(part.astype(np.float32)).to(generator.device) for part in (mean, axes))
    return Cloud(mean_, float(np.sqrt(variances.sum())), axes_)


def _legs(method: str, generator: DifferentiableGenerator, *, tied: bool, effort: float) -> tuple[Leg, ...]:
    legs = {"singh2021": SINGH2021, "refine": REFINE, "encoded": ENCODED}[method]
    return tuple(
        replace(
            leg,
            steps=max(1, round(leg.steps * effort)),
            tied=tied,
            size=leg.size if leg.size in generator.sizes else None,
        )
        for leg in legs
    )


def _left(objective: Objective, w: Tensor, target: Tensor) -> Floats:
    """Return the perceptual distance of what is drawn at full resolution, image by image to spare memory."""
    with torch.inference_mode():
        each = [
            _apart(objective, shrunk(objective.generator.draw(row[None]), COMPARED), goal[None])
            for row, goal in zip(w, target, strict=True)
        ]
    return np.concatenate(each)


def _apart(objective: Objective, drawn: Tensor, target: Tensor) -> Floats:
    with torch.inference_mode():
        return objective.perceptual.compare(drawn, shrunk(target, COMPARED)).double().cpu().numpy()
