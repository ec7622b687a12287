"""What every method of projection gives: something that takes images to latents, and says how close it came."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.plugins import Array, Signals

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Solver:
    """Takes signals ``[n, 3, size, size]`` to latents ``[n, L, D]``, and says the perceptual distance left of each."""

    size: int
    """Pixels at which the images are wanted."""
    solve: Callable[[Signals], tuple[Array, Floats]]
    from_mean: Callable[[Signals], Floats]
    """Returns the perceptual distance of each image to the generator's mean face, measured like the one left."""
    words: str = ""
    """What had a part in it beyond the objective, for the vectors' source."""
    families: tuple[str, ...] = ()
    """The families of recognisers that had a part in it: those under audit should be others."""

    def __call__(self, targets: Signals) -> tuple[Array, Floats]:
        """Return latents and distances."""
        return self.solve(targets)
