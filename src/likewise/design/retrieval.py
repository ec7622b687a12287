"""retrieval: which distance preserves what. The nearest neighbors of a sample of images, by each distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from likewise.design.balance.covariate_summary import Floats, Sample, skewed_interval
from likewise.design.balance.table import row
from likewise.design.constraints import Near, Rule
from likewise.design.search.metric import Euclid
from likewise.design.search.points import Index, Points
from likewise.design.search.scan import Scan
from likewise.errors import SpecError, nearest, some
from likewise.tables import Estimates, Images, Vectors


@dataclass(frozen=True)
class Limited:
    """A distance under a condition: by ``vectors``, among those nearer than ``limit`` by ``second``."""

    vectors: Vectors
    second: Vectors
    limit: float


def retrieval(
    faces: Images,
    distances: Mapping[str, Vectors | Limited],
    *,
    covariates: Sequence[str],
    queries: int = 1000,
    neighbors: int = 10,
    seed: int = 0,
    level: float = 0.95,
) -> Estimates:
    """Say how far the nearest images by each distance differ from the query in each covariate, and in identity.

    Numbers: mean absolute difference; words and 0/1: share that disagrees. A query counts once, with the mean over its
    neighbors. Intervals are over the draw of queries, clustered by identity, with the other images as given. Errors
    have a long tail: images at the edge have no near neighbors. The intervals allow for skewness, and ``method`` says
    when there are too few queries for the tail (120 queries, normal covariate: 95 % intervals covered 91 %). The
    identity error is over queries that have another image of the same person to be found. All distances are asked the
    same queries, over the images that all of them have. A query that a limit leaves without neighbors is left out
    there, and ``n`` says how many remain.

    Parameters
    ----------
    faces : Images
        The images.
    distances : mapping
        Vectors by the name of the distance, or ``Limited`` vectors (with a limit on a second distance).
    covariates : sequence of str
        Columns that are compared between a query and its neighbors.
    queries, neighbors : int
        The number of queries, drawn at random, and of nearest images of each.
    seed : int
        For the draw of queries.
    level : float
        The confidence level.

    Returns
    -------
    Estimates
        One row a distance and covariate, and the identity error.

    Examples
    --------
    >>> import likewise as lw
    >>> images, factors = lw.World(identities=40, seed=1).draw()
    >>> vectors = lw.Vectors(images.keys, factors, source="factors")
    >>> found = lw.retrieval(images, {"factors": vectors}, covariates=["perceived_age"], queries=60, neighbors=5)
    >>> len(found) > 0
    True
    """
    images = _common(faces, distances)
    unknown = [name for name in covariates if name not in faces.attributes]
    if unknown:
        fix = nearest(unknown[0], faces.attributes)
        raise SpecError(f"Covariate {unknown[0]!r} not found in Images", fix=fix)
    if neighbors < 1 or len(images) <= neighbors:
        raise SpecError(
            f"{neighbors} neighbors of {len(images)} images do not exist", fix="Use more images than neighbors."
        )
    rng = np.random.default_rng(seed)
    asked = np.sort(rng.choice(len(images), min(queries, len(images)), replace=False))
    rows: list[dict[str, object]] = []
    for name, distance in distances.items():
        found = _neighbors(images, distance, asked, neighbors)
        rows += _identity_rows(name, faces, images, asked, found, level)
        for covariate in covariates:
            rows += _rows(name, covariate, faces, images, asked, found, level)
    return Estimates.of(rows)


def _common(faces: Images, distances: Mapping[str, Vectors | Limited]) -> list[str]:
    if not distances:
        raise SpecError("No distances were given to compare", fix="Give vectors by name.")
    every = [
        part for given in distances.values()
        for part in ((given.vectors, given.second) if isinstance(given, Limited) else (given,))
    ]  # fmt: skip
    images = [image for image in sorted(faces.keys) if all(image in vectors for vectors in every)]
    if len(images) < 2:
        raise SpecError(
            f"The distances are of different images: {some(images)}", fix="Compute all of them for the same images."
        )
    return images


def _neighbors(images: list[str], distance: Vectors | Limited, asked: Index, most: int) -> list[Index]:
    """Return for each query its nearest other images, exactly, ties by key."""
    vectors = distance.vectors if isinstance(distance, Limited) else distance
    queries = [images[index] for index in asked]
    rules: list[Rule] = [_Others(asked)]
    if isinstance(distance, Limited):
        rules.append(Near("within", _euclid(distance.second, queries, images), distance.limit))
    scan = Scan(_euclid(vectors, queries, images), rules)
    return scan.nearest_exactly(np.arange(len(asked)), scan.everyone, most)


@dataclass(frozen=True)
class _Others:
    """An image is not its own neighbor."""

    asked: Index
    name: str = "another image"

    def mask(self, rows: Index, columns: Index) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
        """Return all images but the query."""
        different: np.ndarray[tuple[int, int], np.dtype[np.bool_]] = self.asked[rows][:, None] != columns[None, :]
        return different


def _euclid(vectors: Vectors, queries: list[str], images: list[str]) -> Euclid:
    left, right = (Points(vectors.values, vectors.rows(names)) for names in (queries, images))
    return Euclid(left, right, keep=2**30)


def _rows(
    name: str, covariate: str, faces: Images, images: list[str], asked: Index, found: list[Index], level: float
) -> list[dict[str, object]]:
    column = faces.attribute(covariate).loc[images]
    number = pd.api.types.is_numeric_dtype(column.dtype) and not column.dropna().isin((0, 1)).all()
    codes = column.to_numpy(dtype=np.float64) if number else _codes(column)
    errors = [_error(codes, query, others, number) for query, others in zip(asked.tolist(), found, strict=True)]
    stat = "neighbor_error" if number else "neighbor_disagreement"
    return _message(covariate, stat, name, faces, images, asked, np.array(errors), level)


def _codes(column: pd.Series) -> Floats:
    codes = pd.factorize(column)[0].astype(np.float64)
    codes[codes < 0] = np.nan
    return codes


def _error(codes: Floats, query: int, others: Index, number: bool) -> float:
    apart = codes[others] - codes[query]
    apart = apart[~np.isnan(apart)]
    if len(apart) == 0:
        return np.nan
    return float(np.abs(apart).mean() if number else (apart != 0).mean())


def _identity_rows(
    name: str, faces: Images, images: list[str], asked: Index, found: list[Index], level: float
) -> list[dict[str, object]]:
    who = pd.factorize(faces.identities.loc[images])[0]
    several = np.bincount(who)[who] > 1
    errors = np.array(
        [
            float(who[others[0]] != who[query]) if len(others) and several[query] else np.nan
            for query, others in zip(asked.tolist(), found, strict=True)
        ]
    )
    return _message("identity", "identity_error", name, faces, images, asked, errors, level)


def _message(
    quantity: str, stat: str, name: str, faces: Images, images: list[str], asked: Index, errors: Floats, level: float
) -> list[dict[str, object]]:
    there = ~np.isnan(errors)
    if not there.any():
        return []
    people = pd.factorize(faces.identities.loc[[images[index] for index in asked]])[0].astype(np.int64)
    sample = Sample(errors[there], people[there], np.ones(int(there.sum())))
    low, high, method = skewed_interval(sample, level)
    return [row(quantity, stat, name, "all", sample.mean, [sample], low, high, level, method)]
