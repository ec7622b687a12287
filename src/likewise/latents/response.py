"""How the encoder reads a step: what an attribute alone changes in the latents of the images that were drawn with it.

A conditional step raises one score of a *drawn* latent and holds the others. The latent that an encoder returns for the
image is another matter: it may read a face as younger when only its gender was changed. Who then balances encoded
scores pairs older people of one group with younger ones of the other. So the step is measured where it is used: faces
are drawn at both ends of it and encoded, and the mean difference is the direction that belongs to the attribute.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from likewise.errors import SpecError
from likewise.latents.encoder import BATCH, SHOWN, Start
from likewise.models.generators.mobilestylegan import MobileStyleGAN
from likewise.runtime.registry import Generator
from likewise.tables import Vectors

REACH, TRUNCATION = 1.5, 0.6  # standard deviations to each side, and truncation of the faces toward the mean latent
KEY = "step"


def encoded_step(generator: Generator, step: npt.ArrayLike, *, faces: int, seed: int) -> Vectors:
    """Return the mean change of the encoded latents for one unit of ``step``, as Vectors with one row ``[1, L, D]``.

    Parameters
    ----------
    generator : Generator
        A generator with an encoder of its own (``mobilestylegan``).
    step : array of shape ``[D]``
        A step in W, e.g. ``Directions.step(attribute, hold=others)``.
    faces : int
        Number of faces, each of which is drawn twice.
    seed : int
        For the faces.
    """
    if faces < 2:
        raise SpecError(f"faces is {faces}", fix="Use 2 or more: the change is a mean over faces.")
    along = np.asarray(step, dtype=np.float64)
    base = generator.mean_w() + TRUNCATION * (generator.sample_w(faces, seed) - generator.mean_w())  # [n, D]
    start = Start(generator)
    assert isinstance(generator, MobileStyleGAN)  # Start refuses others
    ends = [_encoded(generator, start, base + sign * REACH * along) for sign in (1, -1)]
    change = (ends[0] - ends[1]).mean(axis=0, keepdims=True) / (2 * REACH)
    return Vectors([KEY], change.astype(np.float32), source=f"response to a step, {faces} faces")


def _encoded(generator: MobileStyleGAN, start: Start, w: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
    """Draw latents ``[n, D]`` and encode the drawings."""
    parts = []
    for at in range(0, len(w), BATCH):
        rows = np.repeat(w[at : at + BATCH, None].astype(np.float32), generator.rows, axis=1)
        drawn = np.clip(generator.synthesize(rows, SHOWN), -1, 1).astype(np.float32)
        parts.append(start(torch.from_numpy(drawn)).cpu().numpy())
    return np.concatenate(parts)
