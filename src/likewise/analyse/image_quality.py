"""image_quality: how generated images differ from real ones by group, from features that were computed elsewhere.

Each group's generated images are compared with the same group's real ones. Images of one identity go together: they
are left out together, and permutations move them together.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from likewise.analyse.features import frechet_limit, inception_columns, kernel_distance, log_inception
from likewise.analyse.resample import Interval, jackknife, totals
from likewise.analyse.rows import bare, row
from likewise.errors import TableError, VectorError
from likewise.tables import Contrast, Estimates, Faces, Vectors

Floats = npt.NDArray[np.float64]


def feature_distances(
    features: Vectors,
    faces: Faces,
    by: Contrast,
    *,
    made_by: str,
    generated: str,
    level: float = 0.95,
    permutations: int = 199,
    seed: int = 0,
) -> Estimates:
    """Estimate FID and KID of each group's generated images from its real ones, and the gap in KID.

    The p-value of each gap moves the group labels of identities at random, within generated and within real images.
    """
    table = _table(features, faces, by, made_by, generated)
    kid = [table.kid(side) for side in (1, -1)]
    fid = [frechet_limit(table.part(side, True), table.part(side, False), seed=seed) for side in (1, -1)]
    rows = []
    for (value, variance), far, side, name in zip(kid, fid, (1, -1), (by.focal, by.reference), strict=True):
        n = table.count(side)
        people = table.people(side)
        write = partial(row, features.source, sample="generated against real", group=str(name), n=sum(n))
        found = _skewed(value, variance, people, level)
        rows.append(write("kid", found=found, level=level, method="U-statistic, jackknife by identity"))
        rows.append(write("fid", found=bare(far, people), level=np.nan, method="carried on to 1 / n = 0"))
    smallest = min(table.people(side) for side in (1, -1))
    gap = _normal(kid[0][0] - kid[1][0], kid[0][1] + kid[1][1], smallest, level)
    write = partial(row, sample="generated against real", group=by.label, n=len(table.values))
    rows.append(write(f"{features.source}, kid", "gap", found=gap, level=level, method="jackknife by identity"))
    for stat, p in _permuted(table, fid[0] - fid[1], permutations, seed).items():
        method = f"{permutations} permutations"
        rows.append(
            write(f"{features.source}, {stat}", "p_value", found=bare(p, smallest), level=np.nan, method=method)
        )
    return Estimates.of(rows)


def inception_scores(
    logits: Vectors, faces: Faces, by: Contrast, *, made_by: str, generated: str, level: float = 0.95
) -> Estimates:
    """Estimate the Inception Score of each group's real and generated images, and the gap in log score."""
    table = _table(logits, faces, by, made_by, generated)
    rows = []
    for fake, sample in ((True, "generated"), (False, "real")):
        logs = []
        for side, name in ((1, by.focal), (-1, by.reference)):
            found, n = _score(table, side, fake, level)
            logs.append(found)
            ends = np.exp([found.estimate, found.low, found.high])
            score = Interval(float(ends[0]), float(ends[1]), float(ends[2]), found.clusters)
            method = "jackknife by identity, bias taken off"
            rows.append(
                row(logits.source, "inception_score", sample, str(name), score, level=level, n=n, method=method)
            )
        gap = logs[0].estimate - logs[1].estimate
        half = np.hypot(logs[0].high - logs[0].estimate, logs[1].high - logs[1].estimate)
        found = Interval(gap, gap - float(half), gap + float(half), min(one.clusters for one in logs))
        quantity = f"{logits.source}, log inception score"
        n = int((table.fake == fake).sum())
        rows.append(row(quantity, "gap", sample, by.label, found, level=level, n=n, method="jackknife by identity"))
    return Estimates.of(rows)


class _Table:
    """Features with the side, the kind and the identity of each image."""

    def __init__(
        self, values: Floats, side: Floats, fake: npt.NDArray[np.bool_], identity: npt.NDArray[np.int64]
    ) -> None:
        self.values, self.side, self.fake, self.identity = values, side, fake, identity

    def part(self, side: int, fake: bool, labels: Floats | None = None) -> Floats:
        """Return the features of one side's generated or real images."""
        mine: Floats = self.values[((self.side if labels is None else labels) == side) & (self.fake == fake)]
        return mine

    def kid(self, side: int, labels: Floats | None = None) -> tuple[float, float]:
        """Return the kernel distance of one side's generated images from its real ones, and its variance."""
        mine = [((self.side if labels is None else labels) == side) & (self.fake == fake) for fake in (True, False)]
        return kernel_distance(*(self.values[rows] for rows in mine), *(self.identity[rows] for rows in mine))

    def people(self, side: int) -> int:
        """Return how many identities the smaller of a side's generated and real images shows."""
        kinds = (self.identity[(self.side == side) & (self.fake == fake)] for fake in (True, False))
        return min(len(np.unique(kind)) for kind in kinds)

    def count(self, side: int) -> tuple[int, int]:
        """Return how many generated and real images a side has."""
        return len(self.part(side, True)), len(self.part(side, False))


def _table(vectors: Vectors, faces: Faces, by: Contrast, made_by: str, generated: str) -> _Table:
    if vectors.values.ndim != 2:
        raise VectorError("features are one row of numbers an image, [n, D]", got=f"shape {vectors.values.shape}")
    side = by.side(faces).reindex(vectors.images).fillna(0)
    keys = [key for key in vectors.images if side[key] != 0]
    fake = (faces.attribute(made_by).astype(str) == generated).reindex(keys).to_numpy(dtype=bool)
    identity = pd.factorize(faces.identities.reindex(keys))[0].astype(np.int64)
    table = _Table(vectors.take(keys).astype(np.float64), side[keys].to_numpy(dtype=np.float64), fake, identity)
    for sign, name in ((1, by.focal), (-1, by.reference)):
        if min(table.count(sign)) < 3:
            raise TableError(
                "each group has three generated and three real images", got=f"{table.count(sign)} for {name!r}"
            )
    return table


def _score(table: _Table, side: int, fake: bool, level: float) -> tuple[Interval, int]:
    """Return the log score less its jackknife bias, (G - 1) (mean of replicates - estimate)."""
    mine = (table.side == side) & (table.fake == fake)
    columns = inception_columns(table.values[mine])
    codes = pd.factorize(table.identity[mine])[0].astype(np.int64)
    found = jackknife(columns, log_inception, [codes], level=level)
    sums = totals(columns, codes)
    bias = (len(sums) - 1) * float(np.mean(log_inception(columns.sum(axis=0) - sums)) - found.estimate)
    return Interval(found.estimate - bias, found.low - bias, found.high - bias, found.clusters), int(mine.sum())


def _normal(value: float, variance: float, clusters: int, level: float) -> Interval:
    half = float(stats.t.ppf((1 + level) / 2, clusters - 1)) * variance**0.5
    return Interval(value, value - half, value + half, clusters)


def _skewed(value: float, variance: float, clusters: int, level: float) -> Interval:
    """Return an interval for a KID, which leans to the right: its spread grows with its size.

    The ends are those of asinh(KID / se), near 0 a plain scale and far from it a logarithm; but the upper one is never
    below the plain one, because near 0 the spread does not fall with the value. (The plain interval missed on the right
    in 5 to 9 of 100 worlds, and hardly ever on the left.)
    """
    plain = _normal(value, variance, clusters, level)
    error = variance**0.5
    if not error > 0:
        return plain
    half = (plain.high - value) / np.hypot(value, error)
    middle = np.arcsinh(value / error)
    low, high = (float(error * np.sinh(middle + sign * half)) for sign in (-1, 1))
    return Interval(value, low, max(high, plain.high), clusters)


def _permuted(table: _Table, fid: float, permutations: int, seed: int) -> dict[str, float]:
    """Return the two-sided p of each gap: how often labels at random give one as large.

    The gap in KID is measured in its standard errors. Permuting the bare gap tests whether the groups are drawn *and
    look* alike; groups that differ in size and spread, both drawn perfectly, it called apart in one world of three. FID
    has no standard error, so its p is of that stronger hypothesis.
    """
    seen = {"kid": _in_errors(table, None), "fid": fid}
    hits = dict.fromkeys(seen, 0)
    for k in range(permutations):
        labels = _shuffled(table, np.random.default_rng([seed, k]))
        parts = [(table.part(side, True, labels), table.part(side, False, labels)) for side in (1, -1)]
        gaps = {
            "kid": _in_errors(table, labels),
            "fid": frechet_limit(*parts[0], seed=seed) - frechet_limit(*parts[1], seed=seed),
        }
        for stat, value in gaps.items():
            hits[stat] += abs(value) >= abs(seen[stat])
    return {stat: (count + 1) / (permutations + 1) for stat, count in hits.items()}


def _in_errors(table: _Table, labels: Floats | None) -> float:
    (one, v), (other, u) = table.kid(1, labels), table.kid(-1, labels)
    return float((one - other) / max(v + u, 1e-300) ** 0.5)


def _shuffled(table: _Table, rng: np.random.Generator) -> Floats:
    labels = table.side.copy()
    for fake in (True, False):
        people, first = np.unique(table.identity[table.fake == fake], return_index=True)
        given = table.side[table.fake == fake][first]
        fresh = dict(zip(people, rng.permutation(given), strict=True))
        mine = np.flatnonzero(table.fake == fake)
        labels[mine] = [fresh[person] for person in table.identity[mine]]
    return labels
