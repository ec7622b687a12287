"""Described attributes as numbers that are balanced beside those of the vectors, less what they owe to the contrast."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.audit.context import attribute_of
from likewise.audit.plan.model import Plan
from likewise.data.describe_spec import TEXT, THINGS, DescribeSpec
from likewise.errors import PlanError
from likewise.rating.encode import columns_as_vectors
from likewise.tables import Images, Vectors

RESPONSE, FACES = "described_response.json", 40
"""The file of the responses, and the number of drawn faces that they are measured on."""
_MISSING = "measured_missing"
_REACH, _TRUNCATION = 1.5, 0.6  # steps to each side, and truncation of the faces toward the mean latent


@dataclass(frozen=True)
class OwnPart:
    """What described columns owe to the contrast's own attribute: its score, times the response of each column.

    A network reads men as older, and eyes with make-up are wider open. To balance such a column as it is would pair
    older people of one group with younger ones of the other. The response is the column's change for one unit of the
    attribute's score, with everything else held: measured on faces that are drawn at both ends of the conditional step.
    """

    score: pd.Series
    """The attribute's score of each image."""
    response: Mapping[str, float]

    def freed(self, column: pd.Series) -> pd.Series:
        """Return a numeric column without its part."""
        rate = self.response.get(str(column.name), 0.0)
        return column - rate * (self.score.reindex(column.index) - self.score.mean())


def described_columns(plan: Plan) -> list[str]:
    """Return the columns that [describe] adds, but for those about the contrast's own attribute."""
    if plan.describe is None:
        raise PlanError("described = true in [units] needs described columns", fix="Add [describe], or remove it.")
    own = attribute_of(plan.contrast.column)
    found = [name for name in plan.describe.columns if attribute_of(name) != own]
    if not found:
        fix = "Add columns to [describe], or remove described."
        raise PlanError("described = true in [units], but [describe] has only the contrast's own attribute", fix=fix)
    return found


def described_numbers(images: Images, plan: Plan, own: OwnPart | None = None) -> Vectors:
    """Return the described columns as standardized numbers of every image, without their known ``own`` part.

    An image in which no face was found has empty cells. It is balanced as such, with the mean in place of each number
    and a further number that says so: to leave it out would take failures to acquire out of the matched sample.
    """
    names, empty = described_columns(plan), np.zeros(len(images), dtype=bool)
    filled, kept = images, list[str]()
    for name in names:
        column = images.attribute(name)
        empty |= column.isna().to_numpy()
        if column.isna().all():
            continue
        numeric = pd.api.types.is_numeric_dtype(column.dtype)
        column = own.freed(column.rename(name)) if own is not None and numeric else column
        filled = filled.with_attribute(name, column.fillna(column.mean() if numeric else "none"))
        kept.append(name)
    if empty.any():
        filled = filled.with_attribute(_MISSING, pd.Series(empty.astype(float), index=images.keys))
        kept.append(_MISSING)
    return columns_as_vectors(filled, kept)


def own_part(path: Path, latents: Vectors, gradient: npt.ArrayLike) -> OwnPart | None:
    """Read the responses that describe measured; None where there are none."""
    if not path.is_file():
        return None
    values = np.asarray(latents.values, dtype=np.float64)
    mean = values.mean(axis=1) if values.ndim == 3 else values
    score = pd.Series(mean @ np.asarray(gradient, dtype=np.float64), index=latents.keys)
    return OwnPart(score, json.loads(path.read_text(encoding="utf-8")))


def measured_response(
    generator: Any,
    step: npt.ArrayLike,
    gradient: npt.ArrayLike,
    spec: DescribeSpec,
    *,
    faces: int = FACES,
    seed: int = 0,
) -> dict[str, float]:
    """Return by numeric column its mean change for one unit of the score along ``gradient``, on drawn faces.

    Faces are drawn at both ends of the conditional ``step``. The unit is that of the encoded score where the generator
    has an encoder, because that is how photographs are scored. Columns about things have no response: a drawn face that
    gets a hat with the attribute wears one.
    """
    from likewise.data.describe import describer  # noqa: PLC0415  # networks load late
    from likewise.runtime.registry import to_pictures  # noqa: PLC0415

    along, score = (np.asarray(part, dtype=np.float64) for part in (step, gradient))
    base = generator.mean_w() + _TRUNCATION * (generator.sample_w(faces, seed) - generator.mean_w())  # [n, D]
    found, heights = [], []
    for sign in (1, -1):
        signals = _drawn(generator, base + sign * _REACH * along)
        found.append(describer(spec)(to_pictures(signals)))
        heights.append(_scores(generator, signals, base + sign * _REACH * along, score))
    change = float(np.mean(heights[0] - heights[1]))
    numeric = [name for name in spec.columns if name not in (*TEXT, *THINGS)]
    if abs(change) < 1e-9:
        return dict.fromkeys(numeric, 0.0)
    return {name: float(np.nanmean(found[0][name] - found[1][name])) / change for name in numeric}


def _drawn(generator: Any, w: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
    rows = np.repeat(w[:, None].astype(np.float32), generator.rows, axis=1)
    return np.asarray(np.clip(generator.synthesize(rows, 256), -1, 1), dtype=np.float32)


def _scores(
    generator: Any, signals: npt.NDArray[np.float32], w: npt.NDArray[np.floating], gradient: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the scores of drawn faces ``[n]``: of their encoded latents, or of the latents themselves."""
    from likewise.models.generators.encoder import has_encoder  # noqa: PLC0415

    if not has_encoder(generator):
        return np.asarray(w @ gradient)
    from likewise.latents.encoder import encoded_signals  # noqa: PLC0415

    return np.asarray(encoded_signals(generator, signals).mean(axis=1) @ gradient)
