"""Precision, recall, density and coverage: whether generated images are realistic, and whether they are varied.

A set is represented by balls around its images, each reaching to the k-th nearest image of the same set. Precision is
the share of generated images in at least one ball of real ones, recall the share of real images in at least one ball of
generated ones (Kynkäänniemi et al. 2019, arXiv:1904.06991). Density counts in how many balls a generated image is,
divided by k; coverage is the share of real images whose ball holds a generated one (Naeem et al. 2020,
arXiv:2002.09797). The last two are less sensitive to single outliers.

Both sets are samples: other images would be averaged, and other balls would be there. So the variance is that of a
jackknife over groups of identities in either set, added up; it is on the safe side (docs/coverage.md). Taking the balls
as given would call a difference between two samples of the same images significant in up to a fifth of the cases. All
four depend on k and on the number of images, so groups are compared with balls of their own size only when both have
about as many images.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.stats import t

from likewise.analysis.images.quality import group_table
from likewise.errors import VectorError
from likewise.stats.intervals import Interval, bare, newcombe, share_interval
from likewise.tables import Contrast, Estimates, Images, Vectors
from likewise.tables.estimates import row

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
_CHUNK = 1024  # rows of a distance matrix at a time
STATS = {
    "precision": "manifold_precision",
    "recall": "manifold_recall",
    "density": "manifold_density",
    "coverage": "manifold_coverage",
}


@dataclass(frozen=True)
class ManifoldScores:
    """The contribution of each image; the statistics are their means."""

    precision: Floats
    """``[m]``, of generated images: 1 in a ball of real images, else 0."""
    recall: Floats
    """``[n]``, of real images: 1 in a ball of generated images, else 0."""
    density: Floats
    """``[m]``, of generated images: how many balls of real images they are in, divided by k."""
    coverage: Floats
    """``[n]``, of real images: 1 where their ball holds a generated image, else 0."""


def manifold_scores(real: Floats, fake: Floats, *, k: int = 5) -> ManifoldScores:
    """Compute the four scores of generated images against real ones.

    Parameters
    ----------
    real
        Features of real images, ``[n, d]``.
    fake
        Features of generated images, ``[m, d]``.
    k
        The neighbor that a ball reaches to.

    Returns
    -------
    ManifoldScores
        The contribution of each image.

    Examples
    --------
    >>> real = np.arange(6.0)[:, None]
    >>> found = manifold_scores(real, np.array([[0.5], [2.0], [9.0]]), k=1)
    >>> found.precision.tolist(), found.coverage.tolist()
    ([1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    """
    if real.ndim != 2 or fake.ndim != 2 or real.shape[1] != fake.shape[1]:
        raise VectorError(
            f"Features have the shapes {real.shape} and {fake.shape}; they must be [n, d] and [m, d]",
            fix="Give two arrays with one row per image and equal widths.",
        )
    if not 1 <= k < min(len(real), len(fake)):
        fix = "Choose a smaller k, or add images."
        raise VectorError(f"k is {k}, with {len(real)} real and {len(fake)} generated images", fix=fix)
    of_real, of_fake = _radii(real, k), _radii(fake, k)  # [n], [m]
    density, recall, covered = np.zeros(len(fake)), np.zeros(len(real)), np.zeros(len(real))
    for start in range(0, len(real), _CHUNK):
        rows = slice(start, start + _CHUNK)
        apart = _squared(real[rows], fake)  # [chunk, m]
        within = apart <= of_real[rows, None]
        density += within.sum(axis=0)
        covered[rows] = within.any(axis=1)
        recall[rows] = (apart <= of_fake).any(axis=1)
    return ManifoldScores((density > 0).astype(np.float64), recall, density / k, covered)


def manifold_estimates(
    features: Vectors,
    images: Images,
    by: Contrast,
    *,
    made_by: str,
    generated: str,
    k: int = 5,
    level: float = 0.95,
) -> Estimates:
    """Estimate the four statistics of each group's generated images against its real ones, and the gaps.

    Parameters
    ----------
    features
        Features of all images, e.g. of the component ``inception``.
    images
        The images, with the contrast's column and ``made_by``.
    by
        The contrast; gaps are focal - reference.
    made_by, generated
        The column that names the source of an image, and its level for generated ones.
    k
        The neighbor that a ball reaches to.
    level
        Confidence level.
    """
    table = group_table(features, images, by, made_by, generated)
    sides: dict[str, list[Interval]] = {stat: [] for stat in STATS}
    rows: list[dict[str, object]] = []
    for side, name in ((1, by.focal), (-1, by.reference)):
        real, fake = ((table.side == side) & (table.fake == kind) for kind in (False, True))
        sets = [(table.values[mask], table.identity[mask]) for mask in (real, fake)]
        scores, spread = _means(sets[0][0], sets[1][0], k), _variances(sets, k)
        for stat, label in STATS.items():
            n, clusters = int(real.sum() if stat in _OF_REAL else fake.sum()), spread.clusters
            found = _interval(scores[stat], spread.variance[stat], stat, n=n, clusters=clusters, level=level)
            sides[stat].append(found)
            write = partial(row, features.source, label, "generated against real", str(name))
            rows.append(write(found, level=level, n=n, method=_METHOD.format(k=k)))
    for stat, (one, other) in sides.items():
        write = partial(row, f"{features.source}, {stat}", "gap", "generated against real", by.label)
        method = f"{_METHOD.format(k=k)}, Newcombe"
        rows.append(write(newcombe(one, other), level=level, n=len(table.values), method=method))
    return Estimates.of(rows)


_METHOD = "k = {k}, jackknife by groups of identities in both sets"
_OF_REAL = ("recall", "coverage")
_GROUPS = 10  # of identities, in either set: each is left out once, and everything is computed again


@dataclass(frozen=True)
class _Spread:
    """The variance of each statistic, and the number of identities of the set that has fewer."""

    variance: dict[str, float]
    clusters: int


def _means(real: Floats, fake: Floats, k: int) -> dict[str, float]:
    scores = manifold_scores(real, fake, k=k)
    return {stat: float(getattr(scores, stat).mean()) for stat in STATS}


def _variances(sets: list[tuple[Floats, Codes]], k: int) -> _Spread:
    """Leave out each group of identities of either set; NaN where a set has too few."""
    total, fewest = dict.fromkeys(STATS, 0.0), min(len(np.unique(who)) for _, who in sets)
    for position, (_, who) in enumerate(sets):
        group = _grouped(who)
        count = int(group.max()) + 1
        if count < 3 or min(np.sum(group != each) for each in range(count)) <= k:
            return _Spread(dict.fromkeys(STATS, np.nan), fewest)
        left = []
        for each in range(count):
            values = [x[group != each] if index == position else x for index, (x, _) in enumerate(sets)]
            left.append(_means(values[0], values[1], k))
        for stat in STATS:
            total[stat] += (count - 1) * float(np.var([found[stat] for found in left]))
    return _Spread(total, fewest)


def _grouped(who: Codes) -> Codes:
    """Put identities into groups at random, the same at every call."""
    people, code = np.unique(who, return_inverse=True)
    group = np.arange(len(people)) % min(_GROUPS, len(people))
    return np.random.default_rng(0).permutation(group)[code].astype(np.int64)


def _interval(estimate: float, variance: float, stat: str, *, n: int, clusters: int, level: float) -> Interval:
    if not np.isfinite(variance):
        return bare(estimate, clusters)
    dof = min(clusters, _GROUPS) - 1
    if stat != "density":
        low, high, _ = share_interval(estimate, variance, n=n, clusters=clusters, level=level, dof=dof)
        return Interval(estimate, low, high, clusters)
    half = float(t.ppf((1 + level) / 2, dof)) * variance**0.5
    return Interval(estimate, max(estimate - half, 0.0), estimate + half, clusters)


def _radii(x: Floats, k: int) -> Floats:
    """Return the squared distance ``[n]`` of each row to its k-th nearest other row."""
    found = np.empty(len(x))
    for start in range(0, len(x), _CHUNK):
        apart = _squared(x[start : start + _CHUNK], x)
        apart[np.arange(len(apart)), start + np.arange(len(apart))] = np.inf  # itself
        found[start : start + _CHUNK] = np.partition(apart, k - 1, axis=1)[:, k - 1]
    return found


def _squared(x: Floats, y: Floats) -> Floats:
    """Return the squared distances ``[n, m]``, never below 0."""
    apart = np.square(x).sum(axis=1)[:, None] + np.square(y).sum(axis=1) - 2 * x @ y.T
    return np.asarray(np.maximum(apart, 0.0))
