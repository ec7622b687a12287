"""Projection by gradient descent, for generators of any size that are differentiable.

The objective, and the way down: how many steps of which kind is a schedule (see schedules).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from likewise.latents.encoder import Eyeglasses, Start, eyeglasses_of, eyes_in, sampled_solver
from likewise.latents.newton import Memory, newton
from likewise.latents.noise import NoiseMaps
from likewise.latents.schedules import ENCODED, NEWTON, REFINE, SINGH2021, Phase
from likewise.latents.solver import Floats, Solver
from likewise.models.device import computes_in_bfloat16
from likewise.models.differentiable import (
    DifferentiableGenerator,
    DifferentiablePerceptual,
    DifferentiableRecognizer,
    differentiable,
)
from likewise.models.generators.curvature import Curvature, curvature_of
from likewise.models.generators.encoder import FAMILY, has_encoder
from likewise.models.generators.photographs import Correction, correction_of
from likewise.runtime.registry import Array, Generator, Perceptual, Recognizer, Signals, create

IDENTITY = "mobilefacenet"  # the recognizer of the identity loss
SAME_PERSON, SAME_PERSON_NEWTON = 0.3, 0.6  # the weight of 1 - cosine, chosen with either kind of steps
SAME_EYES = 0.4  # the weight of the eyes by themselves: eyeglasses and the look are a small part of the whole image
ON_GPU = 4  # images at once on a GPU: each takes some gigabytes at 1024 px
TRIED = 3  # steps after which a start with eyeglasses is compared with one without
COMPARED = 256  # px at most: the size that the perceptual distance is meant for, as in the paper


@dataclass(frozen=True)
class Objective:
    """D(G(Z), x) + lambda R(Z), and, if asked for, the distance that a recognizer sees."""

    generator: DifferentiableGenerator
    perceptual: DifferentiablePerceptual
    weight: float
    recognizer: DifferentiableRecognizer | None = None
    identity: float = 0.0
    """Weight of one minus the cosine between the recognizer's embeddings."""
    eyes: float = 0.0
    """Weight of the perceptual distance of the band of the eyes, enlarged."""
    drafts: bool = False
    """Whether to draw in half precision, where the generator offers it (``draft``)."""

    def draw(self, w: Tensor, size: int) -> Tensor:
        """Draw latents at ``size`` px."""
        draft = getattr(self.generator, "draft", None) if self.drafts else None
        drawn: Tensor = (draft or self.generator.draw)(w, size=size)
        return drawn

    def toward(self, target: Tensor, size: int) -> Loss:
        """Return the loss as a function of latents, for targets ``[n, 3, s, s]`` drawn at ``size``."""
        with torch.no_grad():  # the target is embedded once, not at every step
            shown = shrunk(target, min(size, COMPARED))
            who = self.recognizer.embed_tensor(shown) if self.recognizer else None
            eyes = self.perceptual.embed(_enlarged_eyes(shown)) if self.eyes else None
            return Loss(self, self.perceptual.embed(shown), who, eyes, size)


@dataclass(frozen=True)
class Loss:
    """The objective for given images: ``[n]`` of latents ``w [n, L, D]``."""

    objective: Objective
    goal: Tensor
    """What the perceptual network sees in the images."""
    who: Tensor | None
    """The recognizer's embeddings of them, where one takes part."""
    eyes: Tensor | None
    """What the perceptual network sees in their eyes, where they count by themselves."""
    size: int

    def __call__(self, w: Tensor) -> Tensor:
        """Return the loss."""
        return self.parts(w)[1]

    def parts(self, w: Tensor) -> tuple[Tensor, Tensor]:
        """Return the perceptual distance alone, and the loss."""
        of = self.objective
        drawn = shrunk(of.draw(w, self.size), COMPARED)
        left = of.perceptual.between(of.perceptual.embed(drawn), self.goal)
        found = left + of.weight * rows_apart(w)
        if of.recognizer is not None and self.who is not None:
            found = found + of.identity * (1 - F.cosine_similarity(of.recognizer.embed_tensor(drawn), self.who))
        if self.eyes is not None:
            found = found + of.eyes * of.perceptual.between(of.perceptual.embed(_enlarged_eyes(drawn)), self.eyes)
        return left, found


def _enlarged_eyes(images: Tensor) -> Tensor:
    scale = 2.0 if images.shape[-1] <= COMPARED // 2 else 1.5  # so that the network has something to see
    return F.interpolate(eyes_in(images), scale_factor=scale, mode="bilinear")


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
    curvature: Curvature | None = None
    """The average curvature of the loss, for steps of Gauss-Newton."""


def descend(
    objective: Objective, start: Tensor, target: Tensor, phases: tuple[Phase, ...], *, cloud: Cloud, seed: int,
    memory: Memory | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return latents ``[n, L, D]`` and the loss history ``[steps, n]``; images do not interact."""
    w, losses, memory = start.detach(), [], memory or Memory()
    noise = torch.Generator().manual_seed(seed)
    for phase in phases:
        if phase.newton:
            w, curve = _by_curvature(objective, w, target, phase, cloud, memory)
        else:
            w, curve = _by_adam(objective, w, target, phase, cloud, noise)
        losses.append(curve)
    return w, torch.cat(losses)


def _by_curvature(
    objective: Objective, w: Tensor, target: Tensor, phase: Phase, cloud: Cloud, memory: Memory
) -> tuple[Tensor, Tensor]:
    """Take steps of Newton's kind; what was learned of an image at one resolution holds at the next."""
    assert cloud.curvature is not None  # such phases are chosen only where it is known
    loss = objective.toward(target, phase.size or objective.generator.resolution)
    return newton(loss, w, cloud.curvature, steps=phase.steps, rate=phase.lr, memory=memory)


def _by_adam(
    objective: Objective, w: Tensor, target: Tensor, phase: Phase, cloud: Cloud, noise: torch.Generator
) -> tuple[Tensor, Tensor]:
    maps = NoiseMaps(objective.generator, len(w) if phase.noise else 0, seed=noise.initial_seed())
    loss = replace(objective, generator=maps.drawing()).toward(target, phase.size or objective.generator.resolution)
    base = w.detach()
    rows = 1 if phase.tie_rows else w.shape[1]
    moved = torch.zeros(w.shape[0], rows, w.shape[2], device=w.device, requires_grad=True)
    adam = torch.optim.Adam([moved, *maps.maps], betas=(0.9, phase.beta2))
    curve = []
    for step in range(phase.steps):
        share = step / phase.steps
        adam.param_groups[0]["lr"] = phase.lr * _pace(share, phase)
        now = base + _in_w(moved, phase, cloud)
        if phase.noise_factor:
            size = cloud.spread * phase.noise_factor * max(0.0, 1 - share / 0.75) ** 2
            now = now + size * torch.randn(now.shape[1:], generator=noise).to(now)  # the same for every image
        each = loss(now)
        adam.zero_grad(set_to_none=True)
        (each + phase.noise * maps.penalty()).sum().backward()  # type: ignore[no-untyped-call]
        adam.step()
        maps.normalize()
        curve.append(each.detach().cpu())
    return (base + _in_w(moved, phase, cloud)).detach(), torch.stack(curve)


def _in_w(moved: Tensor, phase: Phase, cloud: Cloud) -> Tensor:
    """Convert a move in standard deviations into one in W."""
    return moved @ cloud.axes if phase.whitened else moved


def _pace(share: float, phase: Phase) -> float:
    """Rise linearly at the start and fall by a cosine at the end, as the published projector does."""
    down = min(1.0, (1 - share) / phase.lr_rampdown) if phase.lr_rampdown else 1.0
    up = min(1.0, share / phase.lr_rampup) if phase.lr_rampup else 1.0
    return (0.5 - 0.5 * math.cos(down * math.pi)) * up


@dataclass(frozen=True)
class Descent:
    """Projects images a few at a time: on a CPU one by one, where a batch gains nothing and costs memory."""

    objective: Objective
    phases: tuple[Phase, ...]
    cloud: Cloud
    seed: int
    encoded: Start | None = None
    """The encoder's guess; None starts from the mean latent."""
    eyeglasses: Eyeglasses | None = None
    """Where a guess may lack them, a second start wears some."""

    @property
    def batch(self) -> int:
        """Images that are projected together; they do not interact, so it changes rounding only, as threads do."""
        return 1 if self.objective.generator.device.type == "cpu" else ON_GPU

    def solve(self, targets: Signals) -> tuple[Array, Floats, Array]:
        """Return latents ``[n, L, D]``, the perceptual distance that is left of each, and the losses ``[n, steps]``."""
        w, left, losses = zip(*(self._down(part) for part in self._parts(targets, self.batch)), strict=True)
        return np.concatenate(w), np.concatenate(left), np.concatenate(losses)

    @property
    def _size(self) -> int | None:
        """The resolution of the last phase, at which the outcome is compared; None is the full one."""
        return self.phases[-1].size

    def from_mean(self, targets: Signals) -> Floats:
        """Return the perceptual distance of each image to the mean face."""
        return np.concatenate([_apart(self.objective, self._mean_drawn, part) for part in self._parts(targets, 1)])

    @cached_property
    def _mean_drawn(self) -> Tensor:
        """The mean face, drawn once for all images."""
        with torch.inference_mode():
            return shrunk(self.objective.generator.draw(self._mean(), size=self._size), COMPARED)

    def _down(self, target: Tensor) -> tuple[Array, Floats, Array]:
        start = self._mean().expand(len(target), -1, -1) if self.encoded is None else self.encoded(target)
        if self.cloud.curvature is not None:
            start = self.cloud.curvature.within_reach(start, self._mean())
        if self.phases[0].tie_rows:
            start = start.mean(dim=1, keepdim=True).expand_as(start)
        start = self._with_eyeglasses(start, target)
        memory = Memory()
        w, losses = descend(self.objective, start, target, self.phases, cloud=self.cloud, seed=self.seed, memory=memory)
        w, left = self._settled(w, target, memory)
        return w.cpu().numpy(), left.double().cpu().numpy(), losses.T.float().numpy()

    def _with_eyeglasses(self, start: Tensor, target: Tensor) -> Tensor:
        """Return starts; a suspected one wears eyeglasses if the eyes then come nearer to the image in a few steps."""
        if self.eyeglasses is None or not self.phases[0].newton or self.phases[0].steps < TRIED:
            return start
        some = self.eyeglasses.suspected(start).nonzero()[:, 0]
        if not len(some):
            return start
        worn = self.eyeglasses.put_on(start[some])
        apart, apart_worn = (self._eyes_apart(each, target[some], self.eyeglasses) for each in (start[some], worn))
        chosen = torch.where((apart_worn < apart)[:, None, None], worn, start[some])
        return start.index_copy(0, some, chosen)

    def _eyes_apart(self, start: Tensor, target: Tensor, eyeglasses: Eyeglasses) -> Tensor:
        """Return how far the eyes are from the image's after a few steps of the first phase, ``[n]``."""
        phase = replace(self.phases[0], steps=TRIED)
        w, _ = descend(self.objective, start, target, (phase,), cloud=self.cloud, seed=self.seed)
        with torch.inference_mode():
            drawn = shrunk(self.objective.generator.draw(w, size=phase.size), COMPARED)
            pair = (eyeglasses.band(each) for each in (drawn, shrunk(target, drawn.shape[-1])))
            return self.objective.perceptual.compare(*pair)

    @torch.inference_mode()
    def _settled(self, w: Tensor, target: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Return latents and the perceptual distance left of each; a last step that raised the loss is taken back."""
        loss = self.objective.toward(target, self._size or self.objective.generator.resolution)
        left, found = loss.parts(w)
        back = memory.worse(found)
        if memory.base is None or not back.any():
            return w, left
        w = torch.where(back[:, None, None], memory.base, w)
        return w, torch.where(back, loss.parts(w)[0], left)

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
    # The curvature is that of rows that move freely: tied ones descend by Adam.
    cloud = replace(cloud_of(drawing, seed), curvature=curvature_of(generator) if encoded and not tied else None)
    objective = Objective(
        drawing,
        differentiable(perceptual, DifferentiablePerceptual),  # type: ignore[type-abstract]
        weight=0.0 if tied else weight,
        recognizer=recognizer_of(who, drawing.device),
        identity=SAME_PERSON if cloud.curvature is None else SAME_PERSON_NEWTON,
        eyes=0.0 if cloud.curvature is None else SAME_EYES,
        drafts=cloud.curvature is not None,
    )
    schedule = ("encoded" if cloud.curvature is None else "newton") if encoded else method
    phases = _phases(schedule, drawing, tied=tied, effort=effort)
    start = (Start(generator), eyeglasses_of(generator)) if encoded else (None, None)
    way = Descent(objective, phases, cloud, seed, *start)
    parts = {"encoder start": FAMILY} if encoded else {}
    if objective.recognizer is not None:
        parts[f"identity by {who}"] = objective.recognizer.family
    size = min(generator.resolution, COMPARED)
    return Solver(
        size, way.solve, way.from_mean, words=", ".join(parts), families=tuple(dict.fromkeys(parts.values())),
        steps=sum(phase.steps for phase in phases), batch=way.batch,
    )  # fmt: skip


def recognizer_of(name: str, device: torch.device) -> DifferentiableRecognizer | None:
    """Return the recognizer of this name, if there is a name."""
    if not name:
        return None
    made: Recognizer = create("recognizer", name, {} if device.type == "cpu" else {"device": str(device)})
    return differentiable(made, DifferentiableRecognizer)  # type: ignore[type-abstract]


def cloud_of(generator: DifferentiableGenerator, seed: int, n: int = 10_000) -> Cloud:
    """Sample latents and return their mean, spread and principal axes."""
    w = generator.sample_w(n, seed).astype(np.float64)
    mean = w.mean(axis=0)
    variances, vectors = np.linalg.eigh((w - mean).T @ (w - mean) / n)
    axes = (vectors * np.sqrt(np.maximum(variances, 0))).T
    mean_, axes_ = (torch.from_numpy(part.astype(np.float32)).to(generator.device) for part in (mean, axes))
    return Cloud(mean_, float(np.sqrt(variances.sum())), axes_)


def _phases(method: str, generator: DifferentiableGenerator, *, tied: bool, effort: float) -> tuple[Phase, ...]:
    """Return a schedule with its steps multiplied by the effort.

    The first phase has a step at least, and so has each of Adam's, whose first phases end far from the image. Of
    Gauss-Newton's those that are left without a step are dropped: one step at low resolution is worth having by itself.
    """
    phases = {"singh2021": SINGH2021, "refine": REFINE, "encoded": ENCODED, "newton": NEWTON}[method]
    made = [
        replace(
            phase,
            steps=max(0 if phase.newton and number else 1, round(phase.steps * effort)),
            tie_rows=tied,
            size=phase.size if phase.size in generator.sizes else None,
        )
        for number, phase in enumerate(phases)
    ]
    return tuple(phase for phase in made if phase.steps)


def _apart(objective: Objective, drawn: Tensor, target: Tensor) -> Floats:
    with torch.inference_mode():
        return objective.perceptual.compare(drawn, shrunk(target, drawn.shape[-1])).double().cpu().numpy()


class HalfPrecision:
    """A perceptual distance whose network runs in bfloat16 where the processor computes in it: its step costs less."""

    def __init__(self, perceptual: DifferentiablePerceptual) -> None:
        self.name, self.license, self.device = perceptual.name, perceptual.license, perceptual.device
        self._perceptual = perceptual
        self._lowered = computes_in_bfloat16(perceptual.device.type)
        self.between, self.compare, self.distance, self.features = (
            perceptual.between, perceptual.compare, perceptual.distance, perceptual.features,
        )  # fmt: skip

    def embed(self, x: Tensor) -> Tensor:
        """Return the features ``[n, d]`` of ``[n, 3, H, W]``."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self._lowered):
            return self._perceptual.embed(x).float()


@dataclass(frozen=True)
class Quick:
    """Quick projection: the encoder's guess, corrected for photographs, and one Gauss-Newton step from it.

    The step depends on what the generator draws from the guess, so this is an encoder that is not linear. It starts
    where photographs lie (``likewise.models.generators.photographs``). It is not taken back: to draw what came of it
    would cost a third more. Of many images a part is drawn and compared, as with the encoder alone.
    """

    objective: Objective
    encoded: Start
    curvature: Curvature
    correction: Correction | None
    mean: Tensor

    def __call__(self, images: Tensor) -> Tensor:
        """Return latents of images ``[n, 3, s, s]``, one by one: a batch gains nothing and costs memory."""
        return torch.cat([self._one(image[None]) for image in images])

    def _one(self, image: Tensor) -> Tensor:
        (first, *_) = NEWTON
        loss = self.objective.toward(image, first.size or self.objective.generator.resolution)
        start = self.curvature.within_reach(self.encoded(image), self.mean)
        if self.correction is not None and loss.who is not None:
            start = start + self.curvature.move(self.correction(loss.who))
        found, _ = newton(loss, start, self.curvature, steps=1, rate=first.lr)
        return found


def quick_solver(
    generator: Generator, perceptual: Perceptual, *, weight: float, identity: str | None = None, every: int = 1
) -> Solver | None:
    """Return what takes signals to latents; None where there is no encoder, no curvature, or rows are tied.

    The eyes do not count by themselves here: one step hardly gains from it, and it would cost a tenth more.
    """
    curvature = curvature_of(generator) if has_encoder(generator) and not math.isinf(weight) else None
    if curvature is None:
        return None
    drawing = differentiable(generator, DifferentiableGenerator)  # type: ignore[type-abstract]
    looked = differentiable(perceptual, DifferentiablePerceptual)  # type: ignore[type-abstract]
    who = IDENTITY if identity is None else identity
    recognizer = recognizer_of(who, drawing.device)
    objective = Objective(drawing, HalfPrecision(looked), weight, recognizer, SAME_PERSON_NEWTON, drafts=True)
    mean = torch.from_numpy(generator.mean_w()).to(drawing.device)
    correction = correction_of(generator) if who == IDENTITY else None  # which was fitted to its embeddings
    parts = {"encoder start": FAMILY} | ({f"identity by {who}": recognizer.family} if recognizer else {})
    return sampled_solver(
        generator, perceptual, Quick(objective, Start(generator), curvature, correction, mean), every=every,
        words=", ".join(parts), families=tuple(dict.fromkeys(parts.values())),
    )  # fmt: skip
