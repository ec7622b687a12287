"""Taking out of a fader's code what is still linear in the attributes, in closed form, when the training is over.

A discriminator that stands at chance may be fooled rather than robbed: a fresh classifier still reads the attribute.
What a *linear* one can read needs no training to be found. With S the covariance of the code and C its covariance
with the attributes, the code minus C (C' S^-1 C)^-1 C' S^-1 (code - mean) has no covariance with them: the best linear
reading of it is a constant, and no other affine map that reaches this changes the code less (Belrose et al. 2023,
"LEACE: perfect linear concept erasure in closed form", arXiv:2306.03819). What is not linear stays; so the card
measures with a network.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import torch

from likewise.models.fader.data import Lessons
from likewise.models.fader.network import Eraser, Fader
from likewise.runtime.registry import to_signals

_BATCH = 64
_FIRM = 1e-3  # of the code's variance, added to S: units that hardly vary would make it singular
Floats = npt.NDArray[np.float64]


def erased(fader: Fader, lessons: Lessons) -> Fader:
    """Return the network with an eraser at the end of its encoder, found on the pictures it has learned from."""
    code, attributes = codes(fader, lessons), lessons.attributes.astype(np.float64)
    mean, reading, writing = eraser(code, attributes)
    made = Fader(replace(fader.shape, erased=True)).to(next(fader.parameters()).device)
    made.load_state_dict(fader.state_dict(), strict=False)  # all but the eraser's own
    last = made.encoder[-1]
    assert isinstance(last, Eraser)
    for buffer, value in ((last.mean, mean), (last.reading, reading), (last.writing, writing)):
        buffer.copy_(torch.from_numpy(value))
    return made.eval()


def codes(fader: Fader, lessons: Lessons) -> Floats:
    """Return E(x) of the pictures, ``[n, units]``."""
    fader.eval()
    device = next(fader.parameters()).device
    parts = [lessons.pictures[start : start + _BATCH] for start in range(0, len(lessons.pictures), _BATCH)]
    with torch.inference_mode():
        rows = [fader.encoder(torch.from_numpy(to_signals(part)).to(device)).flatten(1).cpu() for part in parts]
    return torch.cat(rows).double().numpy()


def eraser(code: Floats, attributes: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean ``[u]``, what to read ``[k, u]`` and what to take away for it ``[u, k]``."""
    mean = code.mean(axis=0)
    centered, wanted = code - mean, attributes - attributes.mean(axis=0)
    spread = centered.T @ centered / len(code)
    spread[np.diag_indices_from(spread)] += _FIRM * np.trace(spread) / len(spread)
    both = centered.T @ wanted / len(code)  # C [u, k]
    read = np.linalg.solve(spread, both).T  # C' S^-1 [k, u]
    return mean, np.linalg.solve(read @ both, read), both
