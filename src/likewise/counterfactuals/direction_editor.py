"""The direction editor: a generator and a direction in its latent space. It needs no training of its own.

A face's latent comes from the audit's projection, or is found by projecting the picture. The strength is the target of
the attribute's score: -1 and +1 are the means of the two groups in the data that the direction was fitted on. The
step leaves the scores of the held attributes where they are (see ``directions``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import SpecError, VectorError, some
from likewise.latents.directions import Directions, shipped
from likewise.latents.projection import ProjectSpec, solver
from likewise.latents.solver import Solver
from likewise.models.ends import same_end
from likewise.runtime.registry import Array, Generator, Pictures, Signals, create, to_pictures, to_signals
from likewise.tables import Vectors
from likewise.tables.contrast import written

KEEP, LIGHT, DRAWN = "keep", "light", "drawn"
Floats = npt.NDArray[np.float64]


class DirectionEditor:
    """The component ``direction``.

    With ``detail = "light"`` the generator draws the features of the face at every strength alike, and the light on the
    skin is the photograph's own (``masked_sweep`` adds it inside the mask). With "keep" a picture gets the change
    between the face as the generator draws it and the face that it draws at the new strength: what the projection
    missed stays, and with it features of the old face. With "drawn" it is the generator's own picture. Empty is "light"
    inside a mask, and "keep" where whole pictures are edited.
    """

    def __init__(
        self, directions: str = "", attribute: str = "", hold: Sequence[str] | None = None, focal: str = "",
        generator: str = "mobilestylegan", options: dict[str, Any] | None = None, latents: str = "", size: int = 0,
        detail: str = "", perceptual: str = "pixels", method: str = "auto",
    ) -> None:  # fmt: skip
        if detail not in ("", KEEP, LIGHT, DRAWN):
            raise SpecError(f"detail is {detail!r}", fix=f"Choose '{KEEP}', '{LIGHT}' or '{DRAWN}'.")
        self.directions = Directions.read(directions) if directions else shipped(generator)
        self.attribute = attribute or self.directions.names[0]
        self.held = tuple(hold) if hold is not None else tuple(n for n in self.directions.names if n != self.attribute)
        self._step = self.directions.step(self.attribute, hold=self.held)
        self.generator: Generator = create("generator", generator, options or {})
        self._check_source()
        self._row = self.directions.names.index(self.attribute)
        self._center, self._half, self.focal = _ends(self.directions, self._row, self.generator, focal)
        self.latents = Vectors.read(latents) if latents else None
        self.resolution = size or self.generator.resolution
        self._spec = ProjectSpec(generator=generator, options=options or {}, perceptual=perceptual, method=method)
        self._last: tuple[Pictures, Array] | None = None
        self.name, self.license = f"direction:{Path(directions or generator).stem}", self.generator.license
        self.mask = getattr(self.generator, "mask", "skin")
        self.detail = detail or (LIGHT if self.mask == "skin" else KEEP)
        self.relit = self.detail == LIGHT
        self.toy = bool(getattr(self.generator, "toy", False))

    def edit(self, pictures: Pictures, level: float) -> Pictures:
        """Return pictures whose attribute stands at ``level``; beyond +-1 it is extrapolated."""
        strips: Pictures = self.sweep(pictures, (level,), None)[:, 0]
        return strips

    def sweep(self, pictures: Pictures, levels: Sequence[float], images: Sequence[str] | None) -> Pictures:
        """Return the pictures at all levels, ``[n, K, H, W, 3]``; each is projected once."""
        w = self._found(pictures, images)
        return self._moved(pictures, w, self._amounts(w, levels), self._step)

    def redraw(self, pictures: Pictures, images: Sequence[str] | None) -> Pictures:
        """Return pictures as the generator draws them, at their own strength; no detail of theirs is kept."""
        return _sized(to_pictures(self._drawn(self._found(pictures, images))), pictures)

    def random(self, pictures: Pictures, levels: Sequence[float], images: Sequence[str] | None, seed: int) -> Pictures:
        """Move faces as far as ``sweep`` does in the latents' own metric, along a direction that changes no score."""
        w = self._found(pictures, images)
        return self._moved(pictures, w, self._amounts(w, levels), self._aside(seed))

    def _amounts(self, w: Array, levels: Sequence[float]) -> Floats:
        """Return how many steps each face goes to each level, ``[n, K]``."""
        own = w.mean(axis=1) @ self.directions.gradients[self._row]
        wanted = self._center + self._half * np.asarray(levels, dtype=np.float64)
        amounts: Floats = wanted[None] - own[:, None]
        return amounts

    def _moved(self, pictures: Pictures, w: Array, amounts: Floats, step: Floats) -> Pictures:
        there = w[:, None] + (amounts[..., None, None] * step).astype(np.float32)  # [n, K, L, D]
        drawn = self._drawn(there.reshape(-1, *w.shape[1:])).reshape(
            *amounts.shape, 3, self.resolution, self.resolution
        )
        if self.detail != KEEP:
            return np.stack([_sized(to_pictures(strip), pictures) for strip in drawn])
        own = self._drawn(w)
        return np.stack(
            [_changed(picture, strip - face) for picture, strip, face in zip(pictures, drawn, own, strict=True)]
        )

    def _drawn(self, w: Array) -> Signals:
        if self.resolution == self.generator.resolution:
            return self.generator.synthesize(w)
        signals: Signals = self.generator.synthesize(w, size=self.resolution)  # type: ignore[call-arg]
        return signals

    def _found(self, pictures: Pictures, images: Sequence[str] | None) -> Array:
        """Return the latents ``[n, L, D]``: the audit's own, or found now."""
        if self.latents is None or images is None:
            return self._projected(pictures)
        missing = [image for image in images if image not in self.latents]
        if missing:
            raise VectorError(f"{len(missing)} images have no latent: {some(missing)}", fix="Project them first.")
        values = self.latents.take(list(images))
        return values if values.ndim == 3 else np.repeat(values[:, None], self.generator.rows, axis=1)

    def _projected(self, pictures: Pictures) -> Array:
        """Project pictures; those of the last call, which the next arm asks for again, only once."""
        if self._last is None or not np.array_equal(self._last[0], pictures):
            w, _ = self._solver(to_signals(_sized(pictures, size=self.generator.resolution)))
            self._last = (pictures.copy(), w)
        return self._last[1]

    @cached_property
    def _solver(self) -> Solver:
        return solver(self._spec)[2]

    def __getstate__(self) -> dict[str, Any]:
        """A copy for another process makes its own solver."""
        return {**{name: part for name, part in self.__dict__.items() if name != "_solver"}, "_last": None}

    def _aside(self, seed: int) -> Floats:
        """Draw a step like the latents vary, of the same size in their metric, that changes none of the scores."""
        covariance, gradients = self.directions.covariance, self.directions.gradients
        drawn = np.random.default_rng(seed).multivariate_normal(np.zeros(len(covariance)), covariance, method="svd")
        spread = covariance @ gradients.T
        aside = drawn - spread @ np.linalg.lstsq(gradients @ spread, gradients @ drawn, rcond=None)[0]
        inverse = np.linalg.pinv(covariance)
        own, other = (float(step @ inverse @ step) for step in (self._step, aside))
        return np.asarray(aside * (own / max(other, 1e-12)) ** 0.5)

    def _check_source(self) -> None:
        if self.directions.gradients.shape[1] != self.generator.dim:
            width, dim = self.directions.gradients.shape[1], self.generator.dim
            problem = (
                f"Directions of {width} numbers ({self.directions.source}) do not fit {self.generator.name} ({dim})"
            )
            raise SpecError(problem, fix="Use directions that were fitted for this generator.")


def _ends(directions: Directions, row: int, generator: Generator, focal: str) -> tuple[float, float, str]:
    """Return where the score's middle lies, how far +1 is from it, and which level +1 looks like."""
    positive = directions.skills[row].positive
    if directions.ends is not None:
        low, high = (float(end) for end in directions.ends[row])
    else:  # one standard deviation to each side of the mean face
        middle = float(generator.mean_w().astype(np.float64) @ directions.gradients[row])
        low, high = middle - 1, middle + 1
    same = same_end(written(focal), written(positive)) if focal and positive else True
    reverse = not same if same is not None else written(focal) != written(positive)
    half = (low - high) / 2 if reverse else (high - low) / 2
    return (low + high) / 2, half, focal or positive


def _changed(picture: Pictures, change: Signals) -> Pictures:
    """Add changes ``[K, 3, s, s]``, brought to the picture's size, to one picture."""
    signals = to_signals(picture[None])
    if change.shape[2:] != picture.shape[:2]:
        import torch  # noqa: PLC0415  # only photographs need it
        import torch.nn.functional as F  # noqa: N812, PLC0415

        size = (picture.shape[0], picture.shape[1])
        change = F.interpolate(torch.from_numpy(change), size, mode="bilinear", antialias=True).numpy()
    return to_pictures(signals + change)


def _sized(pictures: Pictures, like: Pictures | None = None, *, size: int = 0) -> Pictures:
    from PIL import Image  # noqa: PLC0415

    height, width = like.shape[1:3] if like is not None else (size, size)
    if pictures.shape[1:3] == (height, width):
        return pictures
    resized = [Image.fromarray(picture).resize((width, height), Image.Resampling.LANCZOS) for picture in pictures]
    return np.stack([np.asarray(picture) for picture in resized])
