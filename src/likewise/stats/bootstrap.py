"""Cluster bootstrap for statistics that are functions of column sums.

One clustering: studentized, each resample with its own standard error by the delta method from the same sums, so the
interval is asymmetric where the statistic is skewed.

Two crossed clusterings: a row is weighted by the product of its two clusters' weights (Owen 2007), which counts the
noise of a single cell three times (the product of two such weights has variance 3). So the replicates give the shape of
the interval, and the crossed jackknife its spread: they are scaled to that variance. (Subtracting the excess, 2 V_12,
left too little where clusters are few and unequal: 92 % with 50 raters and 50 units.) That interval is of percentiles,
expanded to Student's t with the effective number of clusters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import stats
from scipy.sparse import csr_array

from likewise.errors import InputError
from likewise.stats.intervals import Interval
from likewise.stats.jackknife import Codes, Floats, Statistic, covariance, effective_clusters, totals

RESAMPLES = 2000
_BLOCK = 1 << 22  # numbers held at once while resampling: 32 MB, whatever the size of the table


def draws(groups: int, *, resamples: int, seed: int, arm: int = 0, block: int | None = None) -> Iterator[Floats]:
    """Yield blocks ``[b, groups]`` of how often each cluster is drawn; every row of weights sums to ``groups``.

    Every resample has a generator of its own, so neither the size of a block nor the number of threads matters.
    ``arm`` sets apart two clusterings that are drawn independently.
    """
    size = block or max(1, _BLOCK // max(groups, 1))
    for start in range(0, resamples, size):
        rows = range(start, min(start + size, resamples))
        yield np.stack([_draw(groups, np.random.default_rng([seed, arm, row])) for row in rows])


def _draw(groups: int, rng: np.random.Generator) -> Floats:
    return np.bincount(rng.integers(0, groups, groups), minlength=groups).astype(np.float64)


def bootstrap(
    columns: Floats,
    statistic: Statistic,
    clusterings: Sequence[Codes],
    *,
    level: float,
    seed: int,
    resamples: int = RESAMPLES,
) -> Interval:
    """Return the statistic of the sums of ``columns [n, p]`` with an interval, by weights of one or two clusterings."""
    estimate = float(statistic(columns.sum(axis=0)))
    counts = [int(code.max()) + 1 for code in clusterings]
    if len(clusterings) == 1:
        return _studentized(totals(columns, clusterings[0]), statistic, level=level, seed=seed, resamples=resamples)
    replicates = statistic(_crossed_sums(columns, clusterings, resamples, seed))
    variance = float(covariance(columns, lambda total: statistic(total)[..., None], clusterings)[0, 0])
    dof = max(min(effective_clusters(code) for code in clusterings) - 1, 1.0)
    tail = float(stats.norm.cdf(stats.t.ppf((1 - level) / 2, dof)))
    scaled = scaled_to(estimate, replicates, variance)
    return percentiles(estimate, scaled, clusters=min(counts), level=level, tail=tail)


def _studentized(sums: Floats, statistic: Statistic, *, level: float, seed: int, resamples: int) -> Interval:
    """Return the interval whose ends are so many standard errors away as resamples lie from the estimate, mirrored."""
    groups, p = sums.shape
    squares = (sums[:, :, None] * sums[:, None, :]).reshape(groups, p * p)
    ones = np.ones((1, groups))
    # Not "@": its sums depend in the last digit on the number of threads.
    both = np.concatenate([sums, squares], axis=1)
    parts = [
        _with_errors(np.einsum("bg,gp->bp", weights, both), p, groups, statistic)
        for weights in (ones, *draws(groups, resamples=resamples, seed=seed))
    ]
    value, error = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    estimate, spread = float(value[0]), float(error[0])
    if spread == 0:
        return Interval(estimate, estimate, estimate, groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (value[1:] - estimate) / error[1:]
    kept = t[(error[1:] > 0) | ~np.isfinite(value[1:])]
    found = percentiles(0.0, kept, clusters=groups, level=level, tail=(1 - level) / 2)
    return Interval(estimate, estimate - found.high * spread, estimate - found.low * spread, groups)


def _with_errors(both: Floats, p: int, groups: int, statistic: Statistic) -> tuple[Floats, Floats]:
    """Return the statistic of each row of sums and its standard error by the delta method.

    ``both [b, p + p p]`` holds the sums of the columns and of their products.
    """
    total, squares = both[:, :p], both[:, p:]
    steps = np.eye(p) * (np.abs(total).max(axis=0) * 1e-5 + 1e-12)
    slope = np.stack([(statistic(total + step) - statistic(total - step)) / (2 * step.max()) for step in steps], axis=1)
    scatter = squares.reshape(-1, p, p) - total[:, :, None] * total[:, None, :] / groups
    variance = np.einsum("bi,bij,bj->b", slope, scatter, slope) * groups / (groups - 1)
    return statistic(total), np.sqrt(np.maximum(variance, 0.0))


def _crossed_sums(columns: Floats, clusterings: Sequence[Codes], resamples: int, seed: int) -> Floats:
    """Return sum_ij u_i v_j x_ij for each resample and column, ``[B, p]``, through sparse tables of i x j."""
    shape = (int(clusterings[0].max()) + 1, int(clusterings[1].max()) + 1)
    grids = [csr_array((column, (clusterings[0], clusterings[1])), shape=shape) for column in columns.T]
    block = max(1, _BLOCK // max(shape))
    first, second = (
        draws(size, resamples=resamples, seed=seed, arm=arm, block=block) for arm, size in enumerate(shape)
    )
    return np.concatenate(
        [
            np.stack([((grid @ v.T).T * u).sum(axis=1) for grid in grids], axis=1)
            for u, v in zip(first, second, strict=True)
        ]
    )


def scaled_to(estimate: float, replicates: Floats, variance: float) -> Floats:
    """Move replicates toward or away from the estimate until they have this variance around it."""
    spread = float(np.nanmean(np.square(replicates - estimate)))
    scaled: Floats = estimate + (replicates - estimate) * ((variance / spread) ** 0.5 if spread > 0 else 1.0)
    return scaled


def percentiles(
    estimate: float, replicates: Floats, *, clusters: int, level: float, tail: float | None = None
) -> Interval:
    """Return the interval between two percentiles of the replicates: ``tail`` and 1 - ``tail``.

    Without ``tail`` it is expanded for few clusters, because plain percentiles are too narrow by about (n - 1) / n and
    by z for t (Hesterberg 2015).
    """
    if clusters < 2 or not np.isfinite(replicates).all():
        bad = int((~np.isfinite(replicates)).sum())
        problem = f"The estimate does not exist in {bad} of {len(replicates)} resamples ({clusters} clusters)"
        raise InputError(problem, fix="Each group needs more clusters.")
    if tail is None:
        tail = float(stats.norm.cdf(stats.t.ppf((1 - level) / 2, clusters - 1) * (clusters / (clusters - 1)) ** 0.5))
    low, high = np.quantile(replicates, [tail, 1 - tail])
    return Interval(estimate, min(float(low), estimate), max(float(high), estimate), clusters)
