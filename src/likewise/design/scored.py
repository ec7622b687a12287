"""The propensity scores that a matching goes by: fitted or given, with the caliper in the score's own unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from likewise.design.propensity import Fit, given_fit, overlap_note, propensity
from likewise.design.rules import spread
from likewise.design.sides import check_keys
from likewise.errors import SpecError, some
from likewise.tables import Contrast, Faces, MatchSpec, Vectors
from likewise.tables.caliper import Width
from likewise.tables.spec import SCORE_CALIPER

Scores = Mapping[str, float] | pd.Series


@dataclass(frozen=True)
class Scored:
    """Propensity scores by image, the caliper on them in their own unit, and what to say about their overlap."""

    scores: pd.Series
    limit: float
    note: str


def scored_by(
    faces: Faces, vectors: Vectors | None, contrast: Contrast, spec: MatchSpec, scores: Scores | None
) -> Scored:
    """Fit the scores, or check the given ones."""
    note = ""
    if scores is None:
        fit = fitted(faces, vectors, contrast, spec)
        values, note = fit.on(spec.score), overlap_note(fit.auc)
    else:
        values = _own_scores(faces, scores)
    width = Width.of(dict(spec.caliper).get("score", SCORE_CALIPER))
    unit = spread(values, contrast.side(faces).loc[values.index], "score") if width.in_sd else 1.0
    return Scored(values, width.value * unit, note)


def fitted(
    faces: Faces, vectors: Vectors | None, contrast: Contrast, spec: MatchSpec, scores: Scores | None = None
) -> Fit:
    """Return the fit behind the scores of a matching: on its columns or the vectors, or the given scores as one."""
    if scores is not None:
        return given_fit(faces, contrast, _own_scores(faces, scores), spec.score)
    seen = on_columns(faces, spec.score_on) if spec.score_on else vectors
    assert seen is not None
    check_keys(faces, seen)
    return propensity(faces, seen, contrast, folds=spec.folds, seed=spec.seed)


def on_columns(faces: Faces, columns: Sequence[str]) -> Vectors:
    """Return the columns as vectors of the images that have them all; words become one number a level."""
    wide = pd.DataFrame({name: faces.attribute(name) for name in columns}, index=pd.Index(faces.images)).dropna()
    words = [name for name in columns if not pd.api.types.is_numeric_dtype(wide[name].dtype)]
    plain = pd.get_dummies(wide, columns=words, drop_first=True, dtype=float) if words else wide
    return Vectors(list(wide.index), plain.to_numpy(dtype=np.float32), source=f"columns {', '.join(columns)}")


def _own_scores(faces: Faces, scores: Scores) -> pd.Series:
    values = pd.Series(scores, dtype="float64").dropna()
    values.index = values.index.astype("str")
    strange = sorted(set(values.index) - set(faces.images))
    if strange or values.index.has_duplicates or np.isinf(values).any():
        got = f"some for {some(strange)}" if strange else "an image twice, or an infinite score"
        raise SpecError("scores are finite numbers by image of Faces", got=got)
    return values
