"""Feature vectors without a generator: of any component with features, or from columns of the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import PluginError, TableError, some
from likewise.runtime.executor import Result
from likewise.runtime.pixels import ImageFolder
from likewise.runtime.registry import Pictures, create, to_signals
from likewise.tables import Images, Vectors


@dataclass(frozen=True)
class Features:
    """The work of one chunk: the features of an encoder."""

    kind: str
    name: str
    options: Mapping[str, Any]
    album: ImageFolder
    size: int

    def __call__(self, images: list[str]) -> Result:
        """Encode these images."""
        encoder = create(self.kind, self.name, self.options)
        if self.size:
            return {"e": self._encoded(encoder, self.album(images, size=self.size))}
        parts = [self._encoded(encoder, pictures) for _, pictures in self.album.stacks(images)]
        if len({part.shape[1] for part in parts}) > 1:
            fix = "Set size in [encode]: pictures are then scaled to it."
            raise PluginError(f"Pictures of different sizes give {self.name!r} features of different lengths", fix=fix)
        return {"e": np.concatenate(parts)}

    def _encoded(self, encoder: Any, pictures: Pictures) -> npt.NDArray[np.float32]:
        found = np.asarray(encoder.features(to_signals(pictures) if self.kind == "perceptual" else pictures))
        if found.ndim != 2 or len(found) != len(pictures):
            fix = f"It has to return [{len(pictures)}, d]."
            raise PluginError(f"The {self.kind} {self.name!r} returned features of shape {found.shape}", fix=fix)
        return found.astype(np.float32)


def columns_as_vectors(images: Images, columns: list[str]) -> Vectors:
    """Return the columns as standardized numbers; a categorical column becomes one indicator a level.

    A column of k levels has the same weight as a numeric one: its k indicators share it.
    """
    parts = [_spread(images.attribute(name)) for name in columns]
    values = np.column_stack(parts)
    there = np.isfinite(values).all(axis=1)
    if not there.any():
        raise TableError(
            f"No image has a value in all of these columns: {some(columns, 12)}",
            fix="Fill them, or leave out the emptiest column.",
        )
    kept = [image for image, known in zip(images.keys, there, strict=True) if known]
    return Vectors(kept, values[there], source=f"columns {some(columns, 12)}")


def _spread(column: pd.Series) -> np.ndarray:
    if pd.api.types.is_numeric_dtype(column.dtype):
        wide = column.to_numpy(dtype=np.float64)[:, None]
    else:
        wide = pd.get_dummies(column, dtype=float).to_numpy(copy=True)
        wide[column.isna().to_numpy()] = np.nan
    spread = np.nanstd(wide, axis=0) * np.sqrt(wide.shape[1])
    return np.asarray((wide - np.nanmean(wide, axis=0)) / np.where(spread > 0, spread, 1.0), dtype=np.float64)
