"""The losses on the way of each projection, kept beside the latents: whoever doubts one can look how it went down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from likewise.latents.projection import PROJECTED
from likewise.runtime.executor import Result

LOSSES = "losses.npy"


def with_losses(results: Iterable[Result], folder: Path, images: int, steps: int) -> Iterator[npt.NDArray[np.float32]]:
    """Yield the latents of the images that were projected; write their losses into the folder on the way."""
    if not steps:
        yield from (result["w"][result["state"] == PROJECTED] for result in results)
        return
    kept = np.lib.format.open_memmap(folder / LOSSES, mode="w+", dtype=np.float32, shape=(images, steps))
    row = 0
    for result in results:
        there = result["state"] == PROJECTED
        kept[row : row + int(there.sum())] = result["losses"][there]
        row += int(there.sum())
        yield result["w"][there]
    kept.flush()


def losses_of(folder: Path, row: int) -> npt.NDArray[np.float32]:
    """Return the losses of the image at a row of the latents; none where its method takes no steps."""
    path = folder / LOSSES
    return np.array(np.load(path, mmap_mode="r")[row]) if path.is_file() else np.zeros(0, np.float32)
