"""Precision, recall, density and coverage: whether generated images are realistic, and whether they are varied.

A set is represented by balls around its images, each reaching to the k-th nearest image of the same set. Precision is
the share of generated images in at least one ball of real ones, recall the share of real images in at least one ball of
generated ones (Kynkäänniemi et al. 2019, arXiv:1904.06991). Density counts in how many balls a generated image is,
divided by k; coverage is the share of real images whose ball holds a generated one (Naeem et al. 2020,
arXiv:2002.09797). The last two are less sensitive to single outliers.

Intervals are cluster-robust by identity of the images that are averaged; the balls of the other set are taken as given.
All four depend on k and on the number of images, so groups are compared with balls of their own size only when both
have about as many images.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from likewise.analysis.images.quality import group_table
from likewise.errors import VectorError
from likewise.stats.intervals import Interval, newcombe, share_interval
from likewise.stats.jackknife import covariance, effective_clusters, jackknife
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
        scores = manifold_scores(table.values[real], table.values[fake], k=k)
        for stat, label in STATS.items():
            mine = real if stat in ("recall", "coverage") else fake
            found = _mean(getattr(scores, stat), table.identity[mine], share=stat != "density", level=level)
            sides[stat].append(found)
            write = partial(row, features.source, label, "generated against real", str(name))
            rows.append(write(found, level=level, n=int(mine.sum()), method=_METHOD.format(k=k)))
    for stat, (one, other) in sides.items():
        write = partial(row, f"{features.source}, {stat}", "gap", "generated against real", by.label)
        method = f"{_METHOD.format(k=k)}, Newcombe"
        rows.append(write(newcombe(one, other), level=level, n=len(table.values), method=method))
    return Estimates.of(rows)


_METHOD = "k = {k}, cluster-robust by identity, neighborhoods as given"


def _mean(values: Floats, identity: Codes, *, share: bool, level: float) -> Interval:
    codes = np.unique(identity, return_inverse=True)[1].astype(np.int64)
    columns = np.column_stack([np.ones(len(values)), values])
    plain = jackknife(columns, lambda total: total[..., 1] / total[..., 0], [codes], level=level)
    if not share:
        return Interval(plain.estimate, max(plain.low, 0.0), plain.high, plain.clusters)
    variance = covariance(columns, lambda total: (total[..., 1] / total[..., 0])[..., None], [codes])[0, 0]
    effective = effective_clusters(codes)
    low, high, _ = share_interval(plain.estimate, float(variance), n=len(values), clusters=effective, level=level)
    return Interval(plain.estimate, low, high, plain.clusters)


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
