"""Described attributes as numbers that are balanced beside those of the vectors."""

from __future__ import annotations

import numpy as np
import pandas as pd

from likewise.audit.context import attribute_of
from likewise.audit.plan.model import Plan
from likewise.errors import PlanError
from likewise.rating.encode import columns_as_vectors
from likewise.tables import Images, Vectors

_MISSING = "measured_missing"


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


def described_numbers(images: Images, plan: Plan) -> Vectors:
    """Return the described columns as standardized numbers of every image.

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
        filled = filled.with_attribute(name, column.fillna(column.mean() if numeric else "none"))
        kept.append(name)
    if empty.any():
        filled = filled.with_attribute(_MISSING, pd.Series(empty.astype(float), index=images.keys))
        kept.append(_MISSING)
    return columns_as_vectors(filled, kept)
