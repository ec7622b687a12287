"""Degrees of freedom of cluster-robust variances.

A count of clusters overstates how well a variance is known when clusters differ in size: the largest dominate. The
effective number of clusters, G* = (sum n)^2 / sum n^2, equals the count for clusters of one size and less otherwise
(docs/coverage.md: with 1 to 28 images per identity, G* - 1 raised the coverage of 95 % intervals from 92 to 94-95 %).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from likewise.stats.jackknife import Codes, Floats, Statistic, covariance, effective_clusters

__all__ = ["cluster_dof", "effective_clusters", "together_dof", "welch"]


def cluster_dof(clusterings: Sequence[Codes], size: Floats | None = None) -> float:
    """Return the degrees of freedom of a variance over one or several clusterings: the smallest G* - 1, at least 1.

    Parameters
    ----------
    clusterings
        Codes ``[n]`` from 0, one array a clustering.
    size
        How much each row counts ``[n]``; alike unless given.

    Examples
    --------
    >>> cluster_dof([np.repeat(np.arange(10), 3)])
    9.0
    """
    return max(min(effective_clusters(codes, size) for codes in clusterings) - 1, 1.0)


def together_dof(codes: Codes) -> float:
    """Return the degrees of freedom of a mean over rows when the rows of a cluster move together (Satterthwaite).

    A cluster's sum then varies by its size n, and the variance of the mean is a sum of n^2 times equal variances: (sum
    n^2)^2 / sum n^4, at least 1. ``cluster_dof`` lies between this and the count of clusters; in the far tail, where
    decisions about many labels are made, it is too large.

    Examples
    --------
    >>> together_dof(np.repeat(np.arange(10), 3)), round(together_dof(np.repeat(np.arange(10), [28] + [2] * 9)), 2)
    (9.0, 1.09)
    """
    n = np.bincount(codes).astype(np.float64)
    return float(max(min(np.square(n).sum() ** 2 / (n**4).sum(), len(n) - 1), 1.0))


def welch(
    columns: Floats,
    means: Sequence[Statistic],
    own: Sequence[npt.NDArray[np.bool_]],
    codes: Codes,
    size: Floats | None = None,
) -> float:
    """Return the degrees of freedom of a difference of two means (Welch-Satterthwaite).

    ``own`` says which rows each mean is of. Each group's variance has G* - 1 degrees of freedom.
    """
    variances, known = [], []
    for mean, mine in zip(means, own, strict=True):
        code = np.unique(codes[mine], return_inverse=True)[1]
        known.append(cluster_dof([code], None if size is None else size[mine]))
        one = covariance(columns[mine], lambda total, mean=mean: mean(total)[..., None], [code])  # type: ignore[misc]
        variances.append(float(one[0, 0]))
    spread = sum(variances)
    if not spread > 0:
        return float(min(known))
    return float(spread**2 / sum(v**2 / k for v, k in zip(variances, known, strict=True)))
