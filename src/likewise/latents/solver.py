"""What every method of projection gives: something that takes images to latents, and says how close it came."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.runtime.registry import Array, Signals

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Solver:
    """Takes signals ``[n, 3, size, size]`` to latents ``[n, L, D]``, and says the perceptual distance left of each."""

    size: int
    """Pixels at which the images are wanted."""
    traced: Callable[[Signals], tuple[Array, Floats, Array]]
    """Returns latents, the distance left of each, and the losses on the way, ``[n, steps]``."""
    from_mean: Callable[[Signals], Floats]
    """Returns the perceptual distance of each image to the generator's mean face, measured like the one left."""
    words: str = ""
    """What had a part in it beyond the objective, for the vectors' source."""
    families: tuple[str, ...] = ()
    """The families of recognizers that had a part in it: those under audit should be others."""
    steps: int = 0
    """How many losses there are on the way; a method that takes no steps has none."""
    batch: int = 1
    """How many images are best taken at once."""
    sampled: bool = False
    """Whether the distances of some images only are measured; those of the others are NaN."""

    def __call__(self, targets: Signals) -> tuple[Array, Floats]:
        """Return latents and distances."""
        w, left, _ = self.traced(targets)
        return w, left


def no_steps(n: int) -> Array:
    """Return the losses on a way without steps."""
    return np.zeros((n, 0), np.float32)
