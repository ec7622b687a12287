"""Gauss-Newton steps with an average curvature: few, because each direction has its own length from the start.

A step that does not lower an image's loss is taken back and tried at half its length; the images of a batch do not
interact. The average fits most images, so that is rare.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from likewise.models.generators.curvature import Curvature


def newton(
    loss: Callable[[Tensor], Tensor], start: Tensor, curvature: Curvature, *, steps: int, rate: float
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
        Share of the full Gauss-Newton step that is taken; 1 would reach the minimum of a quadratic at once.
    """
    now = base = start.detach()
    step, least = torch.zeros_like(now), torch.full((len(now),), torch.inf, device=now.device)
    rates, curve = torch.full_like(least, rate), []
    for _ in range(steps):
        now.requires_grad_()
        each = loss(now)
        (slope,) = torch.autograd.grad(each.sum(), now)
        lower = each.detach() < least  # False for a loss that is not a number
        chosen = lower[:, None, None]
        base, step = torch.where(chosen, now.detach(), base), torch.where(chosen, curvature.step(slope), step)
        least, rates = torch.where(lower, each.detach(), least), torch.where(lower, rates, rates / 2)
        now = (base - rates[:, None, None] * step).detach()
        curve.append(each.detach().cpu())
    return now, torch.stack(curve)
