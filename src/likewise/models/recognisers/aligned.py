"""A recogniser of aligned faces: find, crop, embed in batches; a face that is not found is a row of NaN."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from likewise.errors import ImageError, PluginError, SpecError, nearest, some
from likewise.models.batches import in_batches
from likewise.models.intake import Intake
from likewise.plugins import Array, Pictures

DISTANCES = ("euclidean", "cosine", "angle")
BATCH = 8  # crops a forward pass: more gains nothing on a CPU, and fits every cache worse


@dataclass(frozen=True, kw_only=True)
class Card:
    """What has to be known about a recogniser besides its weights."""

    name: str
    family: str
    """Networks of one family share weights or training, so one of them may not judge what another chose."""
    licence: str
    intake: Intake = field(repr=False)
    distance: str = "cosine"
    """euclidean; cosine: 1 - cos; angle: in degrees."""
    unit: bool = True
    """Whether embeddings are brought to length 1."""
    threshold: float
    """Two faces that are nearer than this are called the same person."""
    set_on: str
    """The data that the threshold was set on, and by whom."""

    def __post_init__(self) -> None:
        if self.distance not in DISTANCES:
            fix = nearest(self.distance, DISTANCES)
            raise SpecError(f"the distance is one of {some(DISTANCES)}", got=repr(self.distance), fix=fix)
        if self.distance != "euclidean" and not self.unit:
            raise SpecError("cosine and angle go with embeddings of length 1", got="unit = false")
        if not self.set_on:
            raise SpecError("a threshold names the data that it was set on", got="an empty set_on")


class AlignedRecogniser:
    """The part that all recognisers share; a subclass says how a batch of crops is embedded."""

    def __init__(self, card: Card, *, batch: int = BATCH) -> None:
        if batch < 1:
            raise SpecError("a batch has at least 1 face", got=str(batch))
        self.card, self.intake, self._batch = card, card.intake, batch
        self.name, self.family, self.licence = card.name, card.family, card.licence
        self.finder = card.intake.finder
        """Who finds the faces for it: whose licence is noted, too."""
        self.threshold, self.set_on = card.threshold, card.set_on
        self.dim = 0
        """How many numbers an embedding has; subclasses set it."""

    def embed(self, pictures: Pictures) -> Array:
        """Return the embeddings ``[n, d]`` of the central faces; a row of NaN where none is found."""
        crops, there = self.intake.crops(_checked(pictures))
        embedded = np.full((len(pictures), self.dim), np.nan, dtype=np.float32)
        embedded[there] = self.embed_crops(crops)
        return embedded

    def embed_crops(self, crops: Pictures) -> Array:
        """Return the embeddings of faces that are cropped already, ``[m, size, size, 3]``."""
        parts = in_batches(self.forward, crops, self._batch)
        embedded = np.concatenate([np.zeros((0, self.dim), np.float32), *parts]).astype(np.float32)
        if embedded.shape != (len(crops), self.dim):
            raise PluginError(f"{self.name} gives {self.dim} numbers a face", got=f"{embedded.shape}")
        if not self.card.unit:
            return embedded
        lengths = np.maximum(np.linalg.norm(embedded, axis=1, keepdims=True), np.float32(1e-12))
        return np.asarray(embedded / lengths, dtype=np.float32)

    def forward(self, crops: Pictures) -> Array:
        """Embed one batch of crops."""
        raise NotImplementedError

    def as_euclidean(self, limit: float) -> float:
        """Return the Euclidean distance of two embeddings that are ``limit`` apart: what a matching can look up."""
        if self.card.distance == "euclidean":
            return limit
        return float(2 * np.sin(np.radians(limit) / 2)) if self.card.distance == "angle" else float(np.sqrt(2 * limit))

    def distance(self, a: Array, b: Array) -> Array:
        """Return the distances of embeddings row by row; NaN where one of them is."""
        x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        if self.card.distance == "euclidean":
            return np.asarray(np.linalg.norm(x - y, axis=1), dtype=np.float32)
        lengths = np.maximum(np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1), 1e-24)
        cosine = np.clip((x * y).sum(axis=1) / lengths, -1, 1)
        apart = 1 - cosine if self.card.distance == "cosine" else np.degrees(np.arccos(cosine))
        return np.asarray(apart, dtype=np.float32)


def _checked(pictures: Pictures) -> Pictures:
    """Return pictures as RGB: grey ones are repeated, a fourth channel (alpha) is left out."""
    given = np.asarray(pictures)
    if given.dtype != np.uint8 or given.ndim not in (3, 4):
        raise ImageError("pictures are bytes [n, H, W, 3]", got=f"{given.dtype} {given.shape}")
    if given.ndim == 3:
        given = given[..., None]
    if given.shape[-1] == 1:
        return np.repeat(given, 3, axis=-1)
    if given.shape[-1] not in (3, 4):
        raise ImageError("pictures have 1, 3 or 4 channels", got=f"{given.shape[-1]}")
    return given[..., :3]
