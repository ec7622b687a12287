"""[encode]: where images lie without a generator, by any encoder that looks at them, or by the table's own columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.cli.framing import same_family
from likewise.engine import Result
from likewise.errors import PlanError, PluginError, TableError, VectorError, some
from likewise.images import Album
from likewise.make.rate import Embedding
from likewise.plugins import Pictures, create, to_signals
from likewise.tables import Faces, Vectors

LOOKING = ("recogniser", "perceptual", "classifier")


@dataclass(frozen=True, kw_only=True)
class EncodePlan:
    """Who says where an image lies: an occupant of one of three slots, or columns of the table."""

    recogniser: str = ""
    perceptual: str = ""
    classifier: str = ""
    """One that has ``features(pictures)``, as efficientnet-lite."""
    options: dict[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    size: int = 0
    """To which size pictures are brought; 0 leaves them as they are."""

    def __post_init__(self) -> None:
        given = [*self._looking, *(["columns"] if self.columns else [])]
        if len(given) != 1:
            got = ", ".join(given) or "none of them"
            raise PlanError("[encode] says one of recogniser, perceptual, classifier, columns", got=got)
        if self.size < 0 or (self.columns and self.options) or (self.size and (self.columns or self.recogniser)):
            raise PlanError("size and options are for those who look at whole pictures", got=given[0])

    @property
    def _looking(self) -> list[str]:
        return [slot for slot in LOOKING if getattr(self, slot)]

    @property
    def slot(self) -> str:
        """The slot that the encoder sits in; empty where columns stand for it."""
        return next(iter(self._looking), "")


@dataclass(frozen=True)
class Features:
    """The work of one chunk: an encoder's features."""

    slot: str
    name: str
    options: Mapping[str, Any]
    album: Album
    size: int

    def __call__(self, images: list[str]) -> Result:
        """Encode these images."""
        encoder = create(self.slot, self.name, self.options)
        if self.size:
            return {"e": self._encoded(encoder, self.album(images, size=self.size))}
        parts = [self._encoded(encoder, pictures) for _, pictures in self.album.stacks(images)]
        if len({part.shape[1] for part in parts}) > 1:
            fix = "Set size in [encode]: pictures are then brought to it."
            raise PluginError(
                f"{self.name!r} gives all pictures as many numbers", got="pictures of many sizes", fix=fix
            )
        return {"e": np.concatenate(parts)}

    def _encoded(self, encoder: Any, pictures: Pictures) -> npt.NDArray[np.float32]:
        found = np.asarray(encoder.features(to_signals(pictures) if self.slot == "perceptual" else pictures))
        if found.ndim != 2 or len(found) != len(pictures):
            raise PluginError(f"the {self.slot} {self.name!r} encodes as [n, d]", got=f"{found.shape}")
        return found.astype(np.float32)


def encoded(job: Any) -> Vectors:
    """Return the vectors of all images that the encoder has an answer for; the others are counted by group."""
    spec, faces = job.plan.encode, job.faces()
    if spec.columns:
        return columns_as_vectors(faces, list(spec.columns))
    name = getattr(spec, spec.slot)
    encoder = job.used(create(spec.slot, name, spec.options))
    if spec.slot == "classifier" and not hasattr(encoder, "features"):
        raise PluginError(f"the classifier {name!r} encodes by features(pictures)", got="none of that name")
    album = job.album(faces)
    work: Any = Features(spec.slot, name, spec.options, album, spec.size)
    if spec.slot == "recogniser":
        work = Embedding(name, spec.options, album)
    values = np.concatenate([result["e"] for result in job.chunks("encode", work, faces.images)])
    there = np.isfinite(values).all(axis=1)
    if not there.any():
        raise VectorError(f"{encoder.name} encodes some image", got="none")
    if not there.all():
        lost = faces.frame.loc[~there, job.plan.contrast.column].value_counts().to_dict()
        job.notes.append(f"{encoder.name} has no answer for {int((~there).sum())} images; they are not matched: {lost}")
    if spec.slot == "recogniser":
        job.notes += same_family(encoder.name, encoder.family, job.plan)
    kept = [image for image, known in zip(faces.images, there, strict=True) if known]
    return Vectors(kept, values[there], source=f"{spec.slot} {encoder.name}")


def columns_as_vectors(faces: Faces, columns: list[str]) -> Vectors:
    """Return the columns as numbers, each with spread 1; words become one number a level.

    A column of k words counts as much as one of numbers: its k numbers share the weight.
    """
    parts = [_spread(faces.attribute(name)) for name in columns]
    values = np.column_stack(parts)
    there = np.isfinite(values).all(axis=1)
    if not there.any():
        raise TableError("some image has a value in every column of [encode]", got="none")
    kept = [image for image, known in zip(faces.images, there, strict=True) if known]
    return Vectors(kept, values[there], source=f"columns {some(columns, 12)}")


def _spread(column: pd.Series) -> np.ndarray:
    if pd.api.types.is_numeric_dtype(column.dtype):
        wide = column.to_numpy(dtype=np.float64)[:, None]
    else:
        wide = pd.get_dummies(column, dtype=float).to_numpy()
        wide[column.isna().to_numpy()] = np.nan
    spread = np.nanstd(wide, axis=0) * np.sqrt(wide.shape[1])
    return np.asarray((wide - np.nanmean(wide, axis=0)) / np.where(spread > 0, spread, 1.0), dtype=np.float64)
