"""Paired prompts, "female doctor" and "doctor": the same seeds, two prompts, and what differs between their images."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import TableError, some
from likewise.stats.jackknife import jackknife
from likewise.tables import Estimates, Images
from likewise.tables.estimates import row

Floats = npt.NDArray[np.float64]
_FEWEST = 2  # images of a pair, or pairs, that an interval needs


def paired_prompts(
    images: Images, *, value: str, pair: str = "pair", variant: str = "variant", seed: str = "seed", level: float = 0.95
) -> Estimates:
    """Estimate the difference of ``value`` between the two prompts of each pair ("female doctor" less "doctor").

    Images of one pair and one seed are compared with each other. The interval is a jackknife over seeds within a pair,
    and over pairs for the mean of all pairs.
    """
    frame = pd.DataFrame({name: images.attribute(name) for name in (value, pair, variant, seed)}).dropna()
    variants = sorted(frame[variant].astype(str).unique())
    if len(variants) != 2:
        raise TableError(
            f"Column {variant!r} must have two levels, not {len(variants)} ({some(variants)})",
            fix="Keep two variants, or compare them two by two.",
        )
    wide = frame.assign(**{value: pd.to_numeric(frame[value], errors="coerce")}).pivot_table(
        index=[pair, seed], columns=variant, values=value
    )
    gap = (wide[variants[1]] - wide[variants[0]]).dropna()
    if gap.empty:
        raise TableError(
            "No pair of prompts has an image of both variants with the same seed",
            fix="Draw both variants with the same seeds.",
        )
    group, rows = f"{variants[1]} - {variants[0]}", []
    for name, part in gap.groupby(level=0, sort=True):
        if len(part) >= _FEWEST:
            rows.append(_mean_row(value, f"{name}: {group}", part.to_numpy(), np.arange(len(part)), "seed", level))
    codes = pd.factorize(gap.index.get_level_values(0))[0]
    if codes.max() >= 1:
        rows.append(_mean_row(value, f"all pairs: {group}", gap.to_numpy(), codes, "pair", level))
    return Estimates.of(rows)


def _mean_row(
    value: str, group: str, values: Floats, codes: npt.NDArray[np.int64], by: str, level: float
) -> dict[str, object]:
    columns = np.column_stack([np.ones(len(values)), values])
    found = jackknife(columns, lambda total: total[..., 1] / total[..., 0], [codes], level=level)
    return row(value, "gap", "paired prompts", group, found, n=len(values), method=f"jackknife by {by}", level=level)
