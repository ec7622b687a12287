"""Delete-one-cluster jackknife for statistics that are functions of column sums.

Rows of one identity (or matched pair, or rater) are dependent, so the unit that is left out is the cluster. Leaving a
cluster out subtracts its sums, so no table is ever copied. The jackknife needs no seed and is conservative when
clusters are few.

Crossed rows (raters x identities) have two clusterings. Their variance is V = V_1 + V_2 - V_12, and never less than V_1
or V_2 alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy import stats

from likewise.errors import InputError
from likewise.stats.intervals import Interval

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Statistic = Callable[[Floats], Floats]
"""Maps column sums ``[..., p]`` to values ``[...]``."""


def jackknife(
    columns: Floats,
    statistic: Statistic,
    clusterings: Sequence[Codes],
    *,
    level: float,
    clusters: int | None = None,
    dof: float | None = None,
    size: Floats | None = None,
) -> Interval:
    """Return the statistic of the sums of ``columns [n, p]`` with an interval.

    Parameters
    ----------
    columns
        What is summed, ``[n, p]``.
    statistic
        Maps sums ``[..., p]`` to values ``[...]``.
    clusterings
        One clustering, or two crossed ones, as codes ``[n]`` from 0.
    level
        Confidence level.
    clusters
        Number of clusters that bear on the statistic, when the codes have more (the rest only steady a regression).
    dof
        Degrees of freedom, when they are fewer than clusters allow, because one of two groups is small (see ``welch``).
    size
        How much each row counts ``[n]``, for the effective number of clusters. Rows that count 0 bear on nothing.

    Examples
    --------
    >>> rows = np.column_stack([np.ones(6), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
    >>> found = jackknife(rows, lambda total: total[..., 1] / total[..., 0], [np.arange(6)], level=0.95)
    >>> round(found.estimate, 2), found.clusters
    (3.5, 6)
    """
    estimate = float(statistic(columns.sum(axis=0)))
    variance = float(covariance(columns, lambda total: statistic(total)[..., None], clusterings)[0, 0])
    count = min([int(code.max()) + 1 for code in clusterings] + ([clusters] if clusters else []))
    known = max(min([effective_clusters(code, size) for code in clusterings] + [count]) - 1, 1.0)
    known = known if dof is None else min(dof, known)
    half = float(stats.t.ppf((1 + level) / 2, known)) * variance**0.5
    if not np.isfinite([estimate, half]).all():
        fix = "Each group needs at least two clusters, and covariates must not be collinear."
        raise InputError("The jackknife estimate is not finite", fix=fix)
    return Interval(estimate, estimate - half, estimate + half, count)


def effective_clusters(codes: Codes, size: Floats | None = None) -> float:
    """Return the effective number of clusters, G* = (sum n)^2 / sum n^2, of clusters with n (weighted) rows.

    Examples
    --------
    >>> effective_clusters(np.array([0, 0, 1, 1])), round(effective_clusters(np.array([0, 0, 0, 1])), 2)
    (2.0, 1.6)
    """
    n = np.bincount(codes, weights=size)
    return float(n.sum() ** 2 / np.square(n).sum()) if n.any() else 1.0


def covariance(columns: Floats, statistic: Statistic, clusterings: Sequence[Codes]) -> Floats:
    """Return the jackknife covariance ``[q, q]`` of a statistic with several values ``[..., q]``.

    Of crossed clusterings the larger of V_1 + V_2 - V_12, V_1 and V_2 is meant, larger by the trace; no variance on its
    diagonal is below those of V_1 and V_2 (V_1 + V_2 - V_12 can be negative for one value and large for another).
    """
    whole = columns.sum(axis=0)
    estimate = np.atleast_1d(statistic(whole))
    parts = [_scatter(totals(columns, code), whole, statistic, estimate) for code in clusterings]
    if len(parts) == 2:
        cell = _scatter(totals(columns, cells(clusterings)), whole, statistic, estimate)
        with np.errstate(invalid="ignore"):
            parts.append(parts[0] + parts[1] - cell)
    largest = max(parts, key=lambda part: float(np.nan_to_num(np.trace(part), nan=np.inf))).copy()
    np.fill_diagonal(largest, np.max([np.diag(part) for part in parts], axis=0))
    return largest


def totals(columns: Floats, codes: Codes) -> Floats:
    """Return the column sums of each cluster, ``[G, p]``."""
    groups = int(codes.max()) + 1
    return np.stack([np.bincount(codes, weights=column, minlength=groups) for column in columns.T], axis=1)


def cells(clusterings: Sequence[Codes]) -> Codes:
    """Return the code of each row's cell of two crossed clusterings."""
    first, second = clusterings
    return np.unique(first * (second.max() + 1) + second, return_inverse=True)[1].astype(np.int64)


def _scatter(sums: Floats, whole: Floats, statistic: Statistic, estimate: Floats) -> Floats:
    groups = len(sums)
    if groups < 2:
        return np.full((len(estimate), len(estimate)), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        away = statistic(whole - sums) - estimate  # [G, q]
    scatter: Floats = (groups - 1) / groups * (away.T @ away)
    return scatter
