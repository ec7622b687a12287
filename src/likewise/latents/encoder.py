"""Encode: projection without descent, by the encoder that was trained for the embedded generator.

Some hundred times cheaper than descent and much less faithful: for a start, for many faces, for what needs only the
semantics of a latent. What is left is measured at the generator's exit of 128 px, of many images on a part: a full
drawing would cost more than all the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from zlib import crc32

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from likewise.errors import SpecError
from likewise.latents.directions import shipped, shipped_names
from likewise.latents.solver import Floats, Solver, no_steps
from likewise.models.generators.encoder import FAMILY, FeatureExtractor, encode, encoder_of
from likewise.models.generators.mobilestylegan import MobileStyleGAN
from likewise.runtime.registry import Array, Generator, Perceptual, Signals
from likewise.tables import Vectors

SHOWN, COMPARED = 256, 128  # px at which images are wanted, and at which they are compared with what is drawn
BATCH = 8
REACH, TRUNCATION = 1.5, 0.6  # standard deviations to each side, and truncation of the faces toward the mean latent
KEY = "step"
EYES = (0.40, 0.60), (0.20, 0.80)  # rows and columns of the band of the eyes


class Start:
    """The encoder at work: opened once, used for many images."""

    def __init__(self, generator: Generator) -> None:
        self._encoder = encoder_of(generator)
        assert isinstance(generator, MobileStyleGAN)  # encoder_of refuses others
        self._eye = FeatureExtractor(str(generator.device))

    def __call__(self, images: Tensor) -> Tensor:
        """Return latents of images ``[n, 3, s, s]``."""
        return encode(self._encoder, self._eye, images)


def eyes_in(images: Tensor) -> Tensor:
    """Return the band of the eyes in images ``[n, 3, s, s]`` of the embedded generator's frame."""
    rows, columns = (slice(*(int(end * images.shape[-1]) for end in ends)) for ends in EYES)
    return images[..., rows, columns]


class Eyeglasses:
    """Eyeglasses that the encoder suspects and that descent alone would not find: the slope toward them is too flat.

    A score between ``SUSPECTED`` and ``WORN`` along the shipped direction says that there may be some. Of 216
    photographs that are not reported 11 of 12 with eyeglasses score above 0.4, and 15 % of the others; a start at 1.2
    shows them (docs/projection.md). Whether they stay is decided by what is drawn, not by the score.
    """

    SUSPECTED, WORN = 0.4, 1.2  # standard deviations of the score of drawn faces

    def __init__(self, generator: MobileStyleGAN) -> None:
        known, name = shipped("mobilestylegan"), "predicted_eyeglasses"
        others = [other for other in known.names if other not in (name, "measured_background")]
        parts = known.gradients[known.names.index(name)], known.step(name, hold=others), generator.mean_w()
        self._score, self._step, self._mean = (
            torch.from_numpy(np.asarray(part, dtype=np.float32)).to(generator.device) for part in parts
        )

    def suspected(self, w: Tensor) -> Tensor:
        """Tell which latents ``[n, L, D]`` may lack the eyeglasses of their image, ``[n]``."""
        score = self._scores(w)
        return (score > self.SUSPECTED) & (score < self.WORN)

    def put_on(self, w: Tensor) -> Tensor:
        """Return the latents moved to the score of a face that wears some."""
        return w + (self.WORN - self._scores(w))[:, None, None] * self._step

    def _scores(self, w: Tensor) -> Tensor:
        return (w.mean(dim=1) - self._mean) @ self._score

    def band(self, images: Tensor) -> Tensor:
        """Return the eyes in images ``[n, 3, s, s]``, enlarged for networks that need more pixels."""
        return F.interpolate(eyes_in(images), scale_factor=2.0)


def eyeglasses_of(generator: Generator) -> Eyeglasses | None:
    """Return what suspects eyeglasses; None without the directions' file, which who may not use it deletes."""
    fits = isinstance(generator, MobileStyleGAN) and "mobilestylegan" in shipped_names()
    return Eyeglasses(generator) if fits else None  # type: ignore[arg-type]


def encoder_solver(generator: Generator, perceptual: Perceptual, *, every: int = 1) -> Solver:
    """Return what takes signals to latents by the encoder alone; about one in ``every`` is compared with its image."""
    words = f"features of {FAMILY}"
    return sampled_solver(generator, perceptual, Start(generator), every=every, words=words, families=(FAMILY,))


def sampled_solver(
    generator: Generator, perceptual: Perceptual, guess: Callable[[Tensor], Tensor], *, every: int, words: str,
    families: tuple[str, ...],
) -> Solver:  # fmt: skip
    """Return what takes signals to the latents ``guess`` finds; about one in ``every`` is compared with its image.

    Which ones depends on their pixels alone, so that neither order nor batches change it.
    """
    assert isinstance(generator, MobileStyleGAN)  # Start refuses others

    def solve(targets: Signals) -> tuple[Array, Floats, Array]:
        parts = [
            torch.from_numpy(targets[at : at + BATCH]).to(generator.device) for at in range(0, len(targets), BATCH)
        ]
        w = torch.cat([guess(part) for part in parts]).cpu().numpy()
        chosen = _chosen(targets, every)
        drawn = generator.synthesize(w[chosen], COMPARED) if chosen.any() else mean[:0]
        return w, apart(drawn, targets, chosen), no_steps(len(w))

    def apart(drawn: Signals, targets: Signals, chosen: npt.NDArray[np.bool_]) -> Floats:
        found = np.full(len(targets), np.nan)
        if chosen.any():
            small = torch.nn.functional.adaptive_avg_pool2d(torch.from_numpy(targets[chosen]), COMPARED).numpy()
            found[chosen] = perceptual.distance(drawn, small)
        return found

    mean = generator.synthesize(generator.mean_w()[None], COMPARED)  # drawn once, compared with every image

    def from_mean(targets: Signals) -> Floats:
        chosen = _chosen(targets, every)
        return apart(np.repeat(mean, int(chosen.sum()), axis=0), targets, chosen)

    return Solver(SHOWN, solve, from_mean, words=words, families=families, batch=BATCH, sampled=every > 1)


def _chosen(targets: Signals, every: int) -> npt.NDArray[np.bool_]:
    """Choose about one in ``every`` images by its pixels."""
    return np.array([crc32(target[:, ::16, ::16].tobytes()) % every == 0 for target in targets], dtype=bool)


def encoded_step(generator: Generator, step: npt.ArrayLike, *, faces: int, seed: int) -> Vectors:
    """Return the mean change of the encoded latents for one unit of ``step``, as Vectors with one row ``[1, L, D]``.

    A conditional step raises one score of a *drawn* latent and holds the others. The latent that the encoder returns
    for the image is another matter: it may read a face as younger when only its gender was changed. Who then balances
    encoded scores pairs older people of one group with younger ones of the other. So the step is measured where it is
    used: faces are drawn at both ends of it and encoded, and the mean difference belongs to the attribute.

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


def encoded_signals(generator: Generator, signals: Signals) -> Array:
    """Return the latents ``[n, L, D]`` that the encoder gives to signals ``[n, 3, s, s]``."""
    start = Start(generator)
    parts = [start(torch.from_numpy(signals[at : at + BATCH])).cpu().numpy() for at in range(0, len(signals), BATCH)]
    return np.concatenate(parts)


def _encoded(generator: MobileStyleGAN, start: Start, w: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
    """Draw latents ``[n, D]`` and encode the drawings."""
    parts = []
    for at in range(0, len(w), BATCH):
        rows = np.repeat(w[at : at + BATCH, None].astype(np.float32), generator.rows, axis=1)
        drawn = np.clip(generator.synthesize(rows, SHOWN), -1, 1).astype(np.float32)
        parts.append(start(torch.from_numpy(drawn)).cpu().numpy())
    return np.concatenate(parts)
