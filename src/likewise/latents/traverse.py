"""traverse: draw what a direction does, step by step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from likewise.data.image_grid import sheet
from likewise.errors import VectorError
from likewise.latents.fidelity import check_latents
from likewise.latents.sampled import drawn
from likewise.runtime.registry import Generator, Pictures

Array = npt.NDArray[np.float32]


def moved(w: Array, step: npt.NDArray[np.float64], amounts: Sequence[float]) -> Array:
    """Return ``[k, n, L, D]``: latents ``w [n, L, D]`` moved by each amount of a step ``[D]``, all rows alike."""
    if w.shape[-1] != len(step):
        raise VectorError(
            f"A step of {len(step)} numbers does not fit latents of {w.shape[-1]}",
            fix="Use a direction of the same generator.",
        )
    steps = np.asarray(amounts, dtype=np.float64)[:, None, None, None] * step
    return (w[None] + steps).astype(np.float32)


def traversal(
    generator: Generator,
    w: Array,
    step: npt.NDArray[np.float64],
    amounts: Sequence[float],
    *,
    size: int,
    names: Sequence[str] = (),
) -> Pictures:
    """Draw a sheet: a row a latent, a column an amount."""
    check_latents(generator, w)
    columns = np.stack([drawn(generator, part, size) for part in moved(w, step, amounts)])  # [k, n, H, W, 3]
    return sheet(list(columns.swapaxes(0, 1)), [f"{amount:+g} sd" if amount else "0" for amount in amounts], names)
