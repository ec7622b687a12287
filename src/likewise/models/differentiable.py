"""What a differentiable component offers beyond its kind: the same functions on torch tensors, with gradients.

The interfaces of the component kinds use numpy. Projection, training and editing need gradients: they require these
protocols, and report what a component lacks.
"""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

import torch

from likewise.errors import PluginError, some
from likewise.runtime.registry import Generator, Perceptual, Recognizer


@runtime_checkable
class DifferentiableGenerator(Generator, Protocol):
    """A generator that draws tensors."""

    device: torch.device
    sizes: tuple[int, ...]
    """The resolutions it can exit at, smallest first; the last is ``resolution``."""

    def draw(self, w: torch.Tensor, *, size: int | None = None) -> torch.Tensor:
        """Draw ``[n, 3, size, size]`` in [-1, 1] from ``w [n, rows, dim]``; ``None`` is the full resolution."""


@runtime_checkable
class DifferentiablePerceptual(Perceptual, Protocol):
    """A perceptual distance of tensors."""

    device: torch.device

    def compare(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return the distances ``[n]`` of ``[n, 3, H, W]`` tensors in [-1, 1], row by row."""

    def embed(self, x: torch.Tensor) -> torch.Tensor:
        """Return the features ``[n, d]`` of ``[n, 3, H, W]``, such that equal looks have equal features."""

    def between(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return the distances ``[n]`` of features: ``compare(a, b)`` is ``between(embed(a), embed(b))``."""


@runtime_checkable
class DifferentiableRecognizer(Recognizer, Protocol):
    """A recognizer of tensors that are aligned already."""

    device: torch.device

    def embed_tensor(self, x: torch.Tensor) -> torch.Tensor:
        """Return the embeddings ``[n, d]`` of ``[n, 3, H, W]`` in [-1, 1]."""


Wanted = TypeVar("Wanted")


def differentiable(component: object, protocol: type[Wanted]) -> Wanted:
    """Return the component if it keeps the protocol; else say what it lacks."""
    if isinstance(component, protocol):
        return component
    missing = [name for name in _members(protocol) if not hasattr(component, name)]
    name = getattr(component, "name", type(component).__name__)
    fix = "Use a differentiable component, or a method that needs no gradients."
    raise PluginError(f"{name!r} is not differentiable: it has no {some(missing, 8)}", fix=fix)


def _members(protocol: type) -> list[str]:
    own = {**getattr(protocol, "__annotations__", {}), **vars(protocol)}
    return sorted(name for name in own if not name.startswith("_"))
