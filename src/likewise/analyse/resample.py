"""Intervals that respect clusters, by leaving them out one at a time.

Rows of one identity (or pair, or rater) are not independent, so the unit of resampling is the cluster. Every
statistic here is a function of column sums over rows; leaving a cluster out subtracts its sums, so no table is ever
copied and all replicates are computed at once. The spread of the replicates gives the variance (the delete-one
jackknife, which errs to the wide side when clusters are few).

Rows that are crossed (people x identities) have two clusterings; then V = V_1 + V_2 - V_12, and never less than V_1
or V_2 alone. Intervals use Student's t with the smaller number of clusters less one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from likewise.errors import InputError

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Statistic = Callable[[Floats], Floats]
"""Takes column sums ``[..., p]`` to values ``[...]``."""


@dataclass(frozen=True)
class Interval:
    """An estimate with both ends, and how many independent clusters stand behind it."""

    estimate: float
    low: float
    high: float
    clusters: int


def jackknife(
    columns: Floats,
    statistic: Statistic,
    clusterings: Sequence[Codes],
    *,
    level: float,
    clusters: int | None = None,
) -> Interval:
    """Return the statistic of the sums of ``columns [n, p]`` with an interval.

    One clustering, or two crossed ones, as codes ``[n]`` from 0. ``clusters`` is given when fewer clusters than the
    codes have bear on the statistic (the rest only steady a regression), and sets the degrees of freedom.
    """
    codes = list(clusterings)
    if len(codes) == 2:
        codes.append(np.unique(codes[0] * (codes[1].max() + 1) + codes[1], return_inverse=True)[1].astype(np.int64))
    whole = columns.sum(axis=0)
    estimate = float(statistic(whole))
    variances = [_variance(_totals(columns, code), whole, statistic, estimate) for code in codes]
    crossed = variances[0] + variances[1] - variances[2] if len(variances) == 3 else 0.0
    count = min([int(code.max()) + 1 for code in codes[:2]] + ([clusters] if clusters else []))
    half = float(stats.t.ppf((1 + level) / 2, count - 1)) * max(*variances[:2], crossed) ** 0.5
    if not np.isfinite([estimate, half]).all():
        fix = "A group needs two clusters at least, and covariates may not determine one another."
        raise InputError("the estimate exists, also without any one cluster", got=f"{estimate} +- {half}", fix=fix)
    return Interval(estimate, estimate - half, estimate + half, count)


def _totals(columns: Floats, codes: Codes) -> Floats:
    groups = int(codes.max()) + 1
    return np.stack([np.bincount(codes, weights=column, minlength=groups) for column in columns.T], axis=1)  # [G, p]


def _variance(totals: Floats, whole: Floats, statistic: Statistic, estimate: float) -> float:
    groups = len(totals)
    if groups < 2:
        return np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        replicates = statistic(whole - totals)  # [G]
    return float((groups - 1) / groups * np.square(replicates - estimate).sum())


def solve(gram: Floats, moment: Floats) -> Floats:
    """Solve least squares from ``gram [..., k, k]`` and ``moment [..., k]``; a column without variation gets 0."""
    scale = np.sqrt(np.maximum(np.einsum("...ii->...i", gram), 1e-300))
    scaled = gram / scale[..., :, None] / scale[..., None, :]
    inverse: Floats = np.linalg.pinv(scaled, rcond=1e-9, hermitian=True)
    slopes: Floats = np.einsum("...ij,...j->...i", inverse, moment / scale) / scale
    return slopes
