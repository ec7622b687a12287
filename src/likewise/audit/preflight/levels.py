"""Values of the contrast's column that are probably a level in another spelling."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd

from likewise.errors import nearest
from likewise.tables import Contrast, Images
from likewise.tables.contrast import written


def counted_values(images: Images, column: str, most: int = 8, *, but: Collection[str] = ()) -> str:
    """Return the values of a column with their counts, ``'female' (120), 'FEMALE' (2)``; without those in ``but``."""
    values = images.frame[column].map(written, na_action="ignore").astype(object).fillna("").astype(str)
    counts = values[~values.isin(list(but))].value_counts()
    shown = [f"{repr(value[:40]) if value else 'empty'} ({count})" for value, count in _plain(counts).items()]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")


def _plain(counts: pd.Series) -> dict[str, int]:
    return {str(value): int(count) for value, count in counts.items()}


def missing_levels(images: Images, contrast: Contrast) -> list[tuple[str, str]]:
    """Return a problem and a fix for each level of the contrast that no cell has."""
    values = [written(value) for value in images.frame[contrast.column].dropna().unique()]
    found = []
    for level in (contrast.focal, contrast.reference):
        if written(level) not in values:
            near = _same_word(str(level), values) or nearest(str(level), values)
            fix = f"Its values are {counted_values(images, contrast.column)}. {near}".strip()
            found.append((f"No cell of {contrast.column!r} is {str(level)!r}", fix))
    return found


def values_in_no_group(images: Images, contrast: Contrast) -> str:
    """Return the values that are neither level, with their counts; empty where there are none."""
    return counted_values(images, contrast.column, but=[written(contrast.focal), written(contrast.reference)])


def other_spellings(images: Images, contrast: Contrast) -> str:
    """Return a sentence about cells that differ from a level only in case or spaces; empty where there are none."""
    levels = {written(level) for level in (contrast.focal, contrast.reference)}
    plain = {level.strip().casefold(): level for level in levels}
    column = images.frame[contrast.column].dropna().map(written).astype("str")
    others = column[~column.isin(levels) & column.str.strip().str.casefold().isin(plain)].value_counts()
    if others.empty:
        return ""
    shown = ", ".join(f"{v!r} ({n}, probably {plain[v.strip().casefold()]!r})" for v, n in _plain(others).items())
    return f"{int(others.sum())} cells of {contrast.column!r} are in no group because of their spelling: {shown}"


def _same_word(level: str, values: list[str]) -> str:
    same = [value for value in values if value.strip().casefold() == level.strip().casefold()]
    return f"Did you mean {same[0]!r}?" if same else ""
