"""What people say about some of the images, for the correction of label noise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from likewise.errors import SpecError, some
from likewise.tables.io import read_frame


def read_labels(path: Path, attribute: str, share_of: str, other: Sequence[str]) -> dict[str, str]:
    """Return what people said by image, from a table by image, or from responses of a study.

    A table has the columns ``image`` and the attribute (or ``label``). Responses have ``unit``, ``rater``,
    ``question`` and ``value``: 1 for ``share_of`` and 0 for the other level; the majority of an image counts, and ties
    are left out.
    """
    frame, _ = read_frame(path, text=("image", "unit", "label", attribute))
    if {"unit", "value"} <= set(frame.columns):
        mean = pd.to_numeric(frame["value"], errors="coerce").groupby(frame["unit"].astype(str)).mean().dropna()
        if not mean.between(0, 1).all():
            raise SpecError(f"{path.name} has values beyond 0 and 1", fix=f"Code {share_of!r} as 1, others as 0.")
        rest = next((name for name in other if name != share_of), f"not {share_of}")
        return {str(unit): share_of if value > 0.5 else rest for unit, value in mean.items() if value != 0.5}
    column = attribute if attribute in frame.columns else "label"
    if missing := [name for name in ("image", column) if name not in frame.columns]:
        raise SpecError(
            f"Column {missing[0]!r} not found in {path.name} (columns: {some(frame.columns, 8)})",
            fix=f"It needs image and {attribute} (or label), or unit, rater, question and value.",
        )
    known = frame.dropna(subset=["image", column])
    torn = known.drop_duplicates(["image", column])["image"]
    if torn.duplicated().any():
        raise SpecError(f"{path.name} has different labels of {some(torn[torn.duplicated()])}",
                        fix="Give one label an image, or responses with unit, rater, question, value.")  # fmt: skip
    return dict(zip(known["image"].astype(str), known[column].astype(str), strict=True))
