"""Quasi-Newton steps that start from an average curvature and learn each image's own on the way.

The average curvature gives each direction its length from the start, so a few steps suffice. It fits no image exactly:
what the slopes do between two steps corrects it (L-BFGS, Nocedal 1980, with the average in place of a multiple of the
identity), at no further drawing. A step that does not lower an image's loss is taken back and tried at half its
length; the slope found there is still used. The images of a batch do not interact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from likewise.models.generators.curvature import Curvature

LENGTHS = (0.3, 1.5)
"""Between which multiples of the average's own step the length is adapted."""


@dataclass
class Memory:
    """Moves of each image, and how its slope changed over them: what the average curvature does not know of it."""

    pairs: list[tuple[Tensor, Tensor, Tensor]] = field(default_factory=list)
    """Move, change of slope ``[n, L, D]`` and the inverse of their product ``[n]``; 0 where it tells nothing."""
    length: Tensor | None = None
    """Multiple of the average's step for each image, by the last move."""
    base: Tensor | None = None
    """The best latents of the last phase of which the loss is known, ``[n, L, D]``."""
    least: Tensor | None = None
    """Their loss, ``[n]``."""

    def worse(self, loss: Tensor) -> Tensor:
        """Tell which losses ``[n]`` are above the least that is known, or no number."""
        return torch.zeros_like(loss, dtype=torch.bool) if self.least is None else ~(loss <= self.least)

    def add(self, move: Tensor, change: Tensor, curvature: Curvature) -> None:
        """Remember a move; where the loss did not curve upward along it there is nothing to learn."""
        along, width = _dot(move, change), _dot(change, curvature.step(change))
        usable = (along > 1e-8) & (width > 0)
        move, change = (torch.where(_each(usable), part, 0.0) for part in (move, change))  # a slope may be no number
        self.pairs.append((move, change, torch.where(usable, 1 / along, 0.0)))
        if self.length is not None:
            self.length = torch.where(usable, (along / width).clamp(*LENGTHS), self.length)

    def step(self, slope: Tensor, curvature: Curvature) -> Tensor:
        """Return the step ``[n, L, D]`` of a slope by the two loops of L-BFGS: where to go, times -1."""
        left, shares = slope, []
        for move, change, inverse in reversed(self.pairs):
            shares.append(inverse * _dot(move, left))
            left = left - _each(shares[-1]) * change
        found = curvature.step(left) * (1.0 if self.length is None else _each(self.length))
        for (move, change, inverse), share in zip(self.pairs, reversed(shares), strict=True):
            found = found + _each(share - inverse * _dot(change, found)) * move
        return found


def newton(
    loss: Callable[[Tensor], Tensor],
    start: Tensor,
    curvature: Curvature,
    *,
    steps: int,
    rate: float,
    memory: Memory | None = None,
) -> tuple[Tensor, Tensor]:
    """Return latents ``[n, L, D]`` after so many steps, and the loss before each, ``[steps, n]``.

    Parameters
    ----------
    loss : callable
        The loss ``[n]`` of latents ``[n, L, D]``.
    start : Tensor
        The first latents.
    curvature : Curvature
        Converts slopes into steps.
    steps : int
        Each costs one evaluation of the loss and of its slope.
    rate : float
        Share of the full step of the average curvature that is taken as long as nothing is known of the image; 1 would
        reach the minimum of a quadratic at once.
    memory : Memory, optional
        What earlier steps taught, which goes on here; an empty one by default.
    """
    known = Memory() if memory is None else memory
    now = base = start.detach()
    slope, least = torch.zeros_like(now), torch.full((len(now),), torch.inf, device=now.device)
    if known.length is None:
        known.length = torch.full_like(least, rate)
    shares, curve = torch.ones_like(least), []
    for number in range(steps):
        each, here = _slope(loss, now)
        if number:
            known.add(now - base, here - slope, curvature)
        lower = each < least  # False for a loss that is not a number
        base, slope = (torch.where(_each(lower), new, old) for new, old in ((now, base), (here, slope)))
        least, shares = torch.where(lower, each, least), torch.where(lower, 1.0, shares / 2)
        now = base - _each(shares) * known.step(slope, curvature)
        curve.append(each.cpu())
    known.base, known.least = base, least
    return now, torch.stack(curve)


def _slope(loss: Callable[[Tensor], Tensor], w: Tensor) -> tuple[Tensor, Tensor]:
    """Return the loss ``[n]`` and its slope ``[n, L, D]``."""
    at = w.detach().requires_grad_()
    each = loss(at)
    (slope,) = torch.autograd.grad(each.sum(), at)
    return each.detach(), slope


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum(dim=(1, 2))


def _each(values: Tensor) -> Tensor:
    """Spread a value of each image over its latent."""
    return values[:, None, None]
