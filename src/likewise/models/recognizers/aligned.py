"""A recognizer of aligned faces: detect, crop, embed in batches; an image without a face is a row of NaN."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from likewise.errors import ImageError, PluginError, SpecError, nearest
from likewise.models.preprocessing import Preprocessing
from likewise.runtime.registry import Array, Pictures
from likewise.runtime.threads import in_batches

DISTANCES = ("euclidean", "cosine", "angle")
BATCH = 8  # crops a forward pass: more gains nothing on a CPU, and fits every cache worse


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """The model card of a recognizer: all that is needed besides its weights."""

    name: str
    family: str
    """Networks of one family share weights or training, so one of them must not evaluate what another selected."""
    license: str
    preprocessing: Preprocessing = field(repr=False)
    distance: str = "cosine"
    """euclidean; cosine: 1 - cos; angle: in degrees."""
    unit: bool = True
    """Whether embeddings are scaled to length 1."""
    threshold: float
    """Two faces at a smaller distance are a match."""
    set_on: str
    """The data on which the threshold was set, and its source."""

    def __post_init__(self) -> None:
        if self.distance not in DISTANCES:
            fix = nearest(self.distance, DISTANCES)
            raise SpecError(f"Unknown distance {self.distance!r}", fix=fix)
        if self.distance != "euclidean" and not self.unit:
            raise SpecError(
                f"unit = false does not fit the distance {self.distance!r}, which needs embeddings of length 1",
                fix="Set unit = true, or distance = 'euclidean'.",
            )
        if not self.set_on:
            raise SpecError("set_on is empty", fix="Name the data on which the threshold was set.")


class AlignedRecognizer:
    """What all recognizers share; a subclass embeds a batch of crops."""

    def __init__(self, card: ModelCard, *, batch: int = BATCH) -> None:
        if batch < 1:
            raise SpecError(f"batch is {batch}; it must be at least 1")
        self.card, self.preprocessing, self._batch = card, card.preprocessing, batch
        self.name, self.family, self.license = card.name, card.family, card.license
        self.detector = card.preprocessing.detector
        """The detector, whose license is recorded, too."""
        self.threshold, self.set_on = card.threshold, card.set_on
        self.dim = 0
        """The dimension of an embedding; subclasses set it."""

    def embed(self, pictures: Pictures) -> Array:
        """Return the embeddings ``[n, d]`` of the central faces; a row of NaN where none is found."""
        crops, there = self.preprocessing.crops(_checked(pictures))
        embedded = np.full((len(pictures), self.dim), np.nan, dtype=np.float32)
        embedded[there] = self.embed_crops(crops)
        return embedded

    def embed_crops(self, crops: Pictures) -> Array:
        """Return the embeddings of faces that are cropped already, ``[m, size, size, 3]``."""
        parts = in_batches(self.forward, crops, self._batch)
        embedded = np.concatenate([np.zeros((0, self.dim), np.float32), *parts]).astype(np.float32)
        if embedded.shape != (len(crops), self.dim):
            raise PluginError(
                f"{self.name} returned embeddings of shape {embedded.shape}, not [n, {self.dim}]",
                fix="Return one row per image, or correct dim.",
            )
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
    """Return pictures as RGB: gray ones are repeated, a fourth channel (alpha) is left out."""
    given = np.asarray(pictures)
    if given.dtype != np.uint8 or given.ndim not in (3, 4):
        raise ImageError(f"Images are {given.dtype} {list(given.shape)}; they must be uint8 [n, H, W, 3]")
    if given.ndim == 3:
        given = given[..., None]
    if given.shape[-1] == 1:
        return np.repeat(given, 3, axis=-1)
    if given.shape[-1] not in (3, 4):
        raise ImageError(f"Images have {given.shape[-1]} channels; they must have 1, 3 or 4")
    return given[..., :3]
