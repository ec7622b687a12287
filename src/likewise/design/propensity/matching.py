"""The propensity scores of a matching: fitted or given, with the caliper in the score's own unit."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from likewise.design.constraints import spread
from likewise.design.eligible import check_keys
from likewise.design.propensity.scores import Fit, given_fit, overlap_note, propensity
from likewise.errors import SpecError, some
from likewise.tables import Contrast, Images, MatchSpec, Vectors
from likewise.tables.matching.caliper import Width
from likewise.tables.matching.match_spec import SCORE_CALIPER

Scores = Mapping[str, float] | pd.Series


@dataclass(frozen=True)
class Scored:
    """Propensity scores by image, the caliper on them in their own unit, and what to say about their overlap."""

    scores: pd.Series
    limit: float
    note: str


def scored_by(
    faces: Images, vectors: Vectors | None, contrast: Contrast, spec: MatchSpec, scores: Scores | None
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
    faces: Images, vectors: Vectors | None, contrast: Contrast, spec: MatchSpec, scores: Scores | None = None
) -> Fit:
    """Return the fit behind the scores of a matching: on its columns or the vectors, or the given scores as one."""
    if scores is not None:
        return given_fit(faces, contrast, _own_scores(faces, scores), spec.score)
    seen = on_columns(faces, spec.score_on) if spec.score_on else vectors
    assert seen is not None
    check_keys(faces, seen)
    return propensity(faces, seen, contrast, folds=spec.folds, seed=spec.seed)


def common_support(scores: pd.Series, side: pd.Series, discard: str) -> list[tuple[str, Container[str]]]:
    """Return which units stay when those outside the other group's range of scores are discarded."""
    if discard == "none":
        return []
    sides = side.loc[scores.index]
    outside = pd.Series(False, index=scores.index)
    for name, sign in (("focal", 1), ("reference", -1)):
        other = scores[sides == -sign]
        if discard in (name, "both") and len(other):
            outside |= (sides == sign) & ((scores < other.min()) | (scores > other.max()))
    return [("outside the common support", set(scores.index[~outside]))]


def on_columns(faces: Images, columns: Sequence[str]) -> Vectors:
    """Return the columns as vectors of the images that have them all; words become one number a level."""
    wide = pd.DataFrame({name: faces.attribute(name) for name in columns}, index=pd.Index(faces.keys)).dropna()
    words = [name for name in columns if not pd.api.types.is_numeric_dtype(wide[name].dtype)]
    plain = pd.get_dummies(wide, columns=words, drop_first=True, dtype=float) if words else wide
    return Vectors(list(wide.index), plain.to_numpy(dtype=np.float32), source=f"columns {', '.join(columns)}")


def _own_scores(faces: Images, scores: Scores) -> pd.Series:
    values = pd.Series(scores, dtype="float64").dropna()
    values.index = values.index.astype("str")
    strange = sorted(set(values.index) - set(faces.keys))
    if strange or values.index.has_duplicates or np.isinf(values).any():
        what = f"are of unknown units: {some(strange)}" if strange else "hold a unit twice, or an infinite number"
        raise SpecError(f"The scores {what}", fix="Give one finite number for each unit.")
    return values
