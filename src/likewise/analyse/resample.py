"""Intervals that respect clusters: leave them out one at a time, or weigh them at random.

Rows of one identity (or pair, or rater) are not independent, so the unit of resampling is the cluster. Every
statistic here is a function of column sums over rows; leaving a cluster out subtracts its sums and drawing it twice
counts them twice, so no table is ever copied.

- ``jackknife``: for smooth statistics (means, ratios, regressions). It needs no seed, and errs to the wide side when
  clusters are few.
- ``bootstrap``: for skewed answers. Studentised: each resample's own standard error (by the delta method, from the same
  sums) goes with it, so the interval leans to the side where the long tail is.
- ``sign_flip``: a test, not an interval: within a pair the two sides might as well have been swapped.

Rows that are crossed (people x identities) have two clusterings. The jackknife then takes V = V_1 + V_2 - V_12, and
never less than V_1 or V_2 alone. The bootstrap weighs a row by the product of its two clusters' weights (Owen 2007),
which counts the noise of a single cell three times (the product of two such weights has variance 3); the excess,
2 V_12, is taken off by drawing the replicates towards the estimate. That interval is of percentiles, widened to
Student's t because plain ones are too narrow by about (n - 1) / n and by z for t (Hesterberg 2015).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.sparse import csr_array

from likewise.errors import InputError

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Statistic = Callable[[Floats], Floats]
"""Takes column sums ``[..., p]`` to values ``[...]``."""
RESAMPLES = 2000
_BLOCK = 1 << 22  # numbers held at once while resampling: 32 MB, whatever the size of the table
_EXACT = 14  # pairs up to which all 2^n swaps are gone through


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
    freedom: float | None = None,
) -> Interval:
    """Return the statistic of the sums of ``columns [n, p]`` with an interval.

    One clustering, or two crossed ones, as codes ``[n]`` from 0. ``clusters`` is given when fewer clusters than the
    codes have bear on the statistic (the rest only steady a regression), and sets the degrees of freedom. ``freedom``
    is given when they are fewer still, because one of two groups is small (see ``welch``).
    """
    estimate = float(statistic(columns.sum(axis=0)))
    variance = float(covariance(columns, lambda total: statistic(total)[..., None], clusterings)[0, 0])
    count = min([int(code.max()) + 1 for code in clusterings] + ([clusters] if clusters else []))
    known = count - 1 if freedom is None else min(freedom, count - 1)
    half = float(stats.t.ppf((1 + level) / 2, known)) * variance**0.5
    if not np.isfinite([estimate, half]).all():
        fix = "A group needs two clusters at least, and covariates may not determine one another."
        raise InputError("the estimate exists, also without any one cluster", got=f"{estimate} +- {half}", fix=fix)
    return Interval(estimate, estimate - half, estimate + half, count)


def welch(columns: Floats, means: Sequence[Statistic], own: Sequence[npt.NDArray[np.bool_]], codes: Codes) -> float:
    """Return the degrees of freedom of a difference of two means (Welch, Satterthwaite): few, if a small group rules.

    ``own`` says which rows each mean is of; a group's variance is known as well as it has clusters.
    """
    variances, known = [], []
    for mean, mine in zip(means, own, strict=True):
        code = np.unique(codes[mine], return_inverse=True)[1]
        known.append(max(int(code.max()), 1))
        one = covariance(columns[mine], lambda total, mean=mean: mean(total)[..., None], [code])  # type: ignore[misc]
        variances.append(float(one[0, 0]))
    spread = sum(variances)
    if not spread > 0:
        return float(min(known))
    return float(spread**2 / sum(v**2 / k for v, k in zip(variances, known, strict=True)))


def covariance(columns: Floats, statistic: Statistic, clusterings: Sequence[Codes]) -> Floats:
    """Return the jackknife covariance ``[q, q]`` of a statistic with several values ``[..., q]``.

    Of crossed clusterings the larger of V_1 + V_2 - V_12, V_1 and V_2 is meant, larger by the trace.
    """
    whole = columns.sum(axis=0)
    estimate = np.atleast_1d(statistic(whole))
    parts = [_scatter(totals(columns, code), whole, statistic, estimate) for code in clusterings]
    if len(parts) == 2:
        cell = _scatter(totals(columns, _cells(clusterings)), whole, statistic, estimate)
        with np.errstate(invalid="ignore"):
            parts.append(parts[0] + parts[1] - cell)
    return max(parts, key=lambda part: float(np.nan_to_num(np.trace(part), nan=np.inf)))


def totals(columns: Floats, codes: Codes) -> Floats:
    """Return the column sums of each cluster, ``[G, p]``."""
    groups = int(codes.max()) + 1
    return np.stack([np.bincount(codes, weights=column, minlength=groups) for column in columns.T], axis=1)


def _cells(clusterings: Sequence[Codes]) -> Codes:
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
        return _studentised(totals(columns, clusterings[0]), statistic, level=level, seed=seed, resamples=resamples)
    replicates = statistic(_crossed_sums(columns, clusterings, resamples, seed))
    noise = float(covariance(columns, lambda total: statistic(total)[..., None], [_cells(clusterings)])[0, 0])
    drawn_in = towards(estimate, replicates, excess=2 * noise)
    return percentiles(estimate, drawn_in, clusters=min(counts), level=level)


def _studentised(sums: Floats, statistic: Statistic, *, level: float, seed: int, resamples: int) -> Interval:
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
    found = percentiles(0.0, t[(error[1:] > 0) | ~np.isfinite(value[1:])], clusters=groups, level=level, widened=False)
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


def towards(estimate: float, replicates: Floats, *, excess: float) -> Floats:
    """Draw replicates towards the estimate until their variance is less by ``excess`` (at most by two thirds)."""
    spread = float(np.nanmean(np.square(replicates - estimate)))
    keep = max(1 - excess / spread, 1 / 3) if spread > 0 else 1.0
    drawn: Floats = estimate + (replicates - estimate) * keep**0.5
    return drawn


def percentiles(estimate: float, replicates: Floats, *, clusters: int, level: float, widened: bool = True) -> Interval:
    """Return the interval between two percentiles of the replicates, ``widened`` for few clusters."""
    if clusters < 2 or not np.isfinite(replicates).all():
        got = f"{clusters} clusters, {int((~np.isfinite(replicates)).sum())} of {len(replicates)} resamples without it"
        raise InputError("the estimate exists in every resample", got=got, fix="A group needs more clusters.")
    t = stats.t.ppf((1 - level) / 2, clusters - 1) * (clusters / (clusters - 1)) ** 0.5
    tail = float(stats.norm.cdf(t)) if widened else (1 - level) / 2
    low, high = np.quantile(replicates, [tail, 1 - tail])
    return Interval(estimate, min(float(low), estimate), max(float(high), estimate), clusters)


def sign_flip(differences: npt.ArrayLike, *, seed: int, resamples: int = 9999) -> float:
    """Return the two-sided p of the mean difference when each pair's sides might as well be swapped.

    Up to 14 pairs all swaps are gone through; beyond, a random sample of them, the one that happened included.
    """
    d = np.asarray(differences, dtype=np.float64)
    if len(d) == 0 or not np.isfinite(d).all():
        raise InputError("a randomisation test needs pairs with finite differences", got=f"{len(d)} pairs")
    seen = abs(d.sum()) - 1e-9 * np.abs(d).sum()  # equal sums must count as equal, however they were added up
    if len(d) <= _EXACT:
        signs = 1.0 - 2.0 * ((np.arange(2 ** len(d))[:, None] >> np.arange(len(d))) & 1)
        return float(np.mean(np.abs(signs @ d) >= seen))
    hits, size = 0, max(1, _BLOCK // len(d))
    for start in range(0, resamples, size):
        shape = (min(size, resamples - start), len(d))
        swapped = np.random.default_rng([seed, start]).integers(0, 2, shape, dtype=np.int8)
        hits += int((np.abs(d.sum() - 2.0 * np.einsum("bn,n->b", swapped, d)) >= seen).sum())
    return float(hits + 1) / (resamples + 1)


def solve(gram: Floats, moment: Floats) -> Floats:
    """Solve least squares from ``gram [..., k, k]`` and ``moment [..., k]``; a column without variation gets 0."""
    scale = np.sqrt(np.maximum(np.einsum("...ii->...i", gram), 1e-300))
    scaled = gram / scale[..., :, None] / scale[..., None, :]
    inverse: Floats = np.linalg.pinv(scaled, rcond=1e-9, hermitian=True)
    slopes: Floats = np.einsum("...ij,...j->...i", inverse, moment / scale) / scale
    return slopes
