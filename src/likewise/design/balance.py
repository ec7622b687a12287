"""balance: how alike the two sides are in every covariate, before and after matching."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from likewise.errors import SpecError, TableError, nearest
from likewise.tables import Contrast, Estimates, Faces, Pairs

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Side:
    """The values of one covariate on one side of one sample, and whose they are."""

    values: Floats
    clusters: npt.NDArray[np.int64]


def balance(
    faces: Faces,
    contrast: Contrast,
    pairs: Pairs | None = None,
    *,
    covariates: Sequence[str],
    level: float = 0.95,
) -> Estimates:
    """Compare the sides covariate by covariate: means with intervals, SMD, variance ratio, KS.

    Differences are focal minus reference and are standardised by the *unmatched* spread (the root of the mean of
    the two groups' variances), so that matching cannot shrink its own ruler. A column of words is shown level by
    level. Empty cells are left out, and ``n`` says how many remain.
    """
    side = contrast.side(faces)
    samples = {"all": (list(side.index[side == 1]), list(side.index[side == -1]))}
    if pairs is not None:
        pairs.check_faces(faces)
        samples["matched"] = (pairs.frame["a"].tolist(), pairs.frame["b"].tolist())
    rows: list[dict[str, object]] = []
    for name, column in numeric_covariates(faces, covariates).items():
        ruler = _spread(*(_side(column, faces, images).values for images in samples["all"]))
        for sample, images in samples.items():
            focal, reference = (_side(column, faces, keys) for keys in images)
            if len(focal.values) and len(reference.values):
                rows += _rows(name, sample, focal, reference, ruler, contrast, level)
    return Estimates.of(rows)


def numeric_covariates(faces: Faces, names: Sequence[str]) -> dict[str, pd.Series]:
    """Return the covariates as numbers by image; a column of words becomes one indicator a level."""
    columns: dict[str, pd.Series] = {}
    for name in names:
        if name not in faces.attributes:
            raise SpecError("covariates are columns of Faces", got=repr(name), fix=nearest(name, faces.attributes))
        column = faces.attribute(name)
        if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
            columns[name] = column.astype("float64")
            continue
        for word in sorted(column.dropna().unique()):
            columns[f"{name}: {word}"] = (column == word).astype("float64").where(column.notna())
    return columns


def _side(column: pd.Series, faces: Faces, images: list[str]) -> _Side:
    values = column.loc[images]
    there = values.notna().to_numpy()
    return _Side(values.to_numpy()[there], pd.factorize(faces.identities.loc[images])[0].astype(np.int64)[there])


def _spread(focal: Floats, reference: Floats) -> float:
    """Return the ruler: a binary covariate's variance is p (1 - p), another's has n - 1 below it."""
    if len(focal) < 2 or len(reference) < 2:
        raise TableError("a covariate has at least two values on each side", got=f"{len(focal)} and {len(reference)}")
    return float(np.sqrt((_variance(focal) + _variance(reference)) / 2))


def _variance(values: Floats) -> float:
    return float(values.mean() * (1 - values.mean())) if _binary(values) else float(values.var(ddof=1))


def _binary(values: Floats) -> bool:
    return bool(np.isin(values, (0.0, 1.0)).all())


def _rows(
    name: str, sample: str, focal: _Side, reference: _Side, ruler: float, contrast: Contrast, level: float
) -> list[dict[str, object]]:
    rows = []
    for group, side in ((str(contrast.focal), focal), (str(contrast.reference), reference)):
        low, high, method = mean_interval(side.values, side.clusters, level)
        stat = "share" if _binary(side.values) else "mean"
        rows.append(_row(name, stat, sample, group, side.values.mean(), [side], low, high, level, method))
    gap = focal.values.mean() - reference.values.mean()
    smd = gap / ruler if ruler > 0 else (0.0 if gap == 0 else np.copysign(np.inf, gap))
    both = [focal, reference]
    if np.isfinite(smd):
        rows.append(_row(name, "smd", sample, contrast.label, smd, both, method="by the unmatched spread"))
    if (
        not _binary(np.r_[focal.values, reference.values])
        and min(len(s.values) for s in both) > 1
        and _variance(reference.values) > 0
    ):
        ratio = _variance(focal.values) / _variance(reference.values)
        rows.append(_row(name, "variance_ratio", sample, contrast.label, ratio, both, method="focal / reference"))
    ks = _ks(focal.values, reference.values)
    rows.append(_row(name, "ks", sample, contrast.label, ks, both, method="two-sample"))
    return rows


def _row(
    quantity: str, stat: str, sample: str, group: str, estimate: float, sides: list[_Side],
    low: float = np.nan, high: float = np.nan, level: float = np.nan, method: str = "",
) -> dict[str, object]:  # fmt: skip
    return {
        "quantity": quantity, "stat": stat, "sample": sample, "group": group,
        "estimate": float(estimate), "low": low, "high": high, "level": level,
        "n": sum(len(side.values) for side in sides),
        "clusters": sum(len(np.unique(side.clusters)) for side in sides), "method": method,
    }  # fmt: skip


def _ks(focal: Floats, reference: Floats) -> float:
    """Return the largest distance between the two distribution functions."""
    steps = np.union1d(focal, reference)
    below = [np.searchsorted(np.sort(values), steps, side="right") / len(values) for values in (focal, reference)]
    return float(np.abs(below[0] - below[1]).max())


def mean_interval(values: Floats, clusters: npt.NDArray[np.int64], level: float) -> tuple[float, float, str]:
    """Return an interval of a mean that knows that the images of one identity go together.

    The variance of the mean is that of the cluster totals (linearised). For shares it becomes an effective sample
    size for Wilson's interval, which stays inside 0 and 1; for other means it goes with Student's t.
    """
    n, mean = len(values), float(values.mean())
    totals = np.bincount(clusters, weights=values - mean)
    counts = np.bincount(clusters)
    groups = int((counts > 0).sum())
    if groups < 2:
        return np.nan, np.nan, "one identity only"
    variance = float((totals**2).sum()) / n**2 * groups / (groups - 1)
    if not _binary(values):
        half = float(stats.t.ppf((1 + level) / 2, groups - 1)) * variance**0.5
        return mean - half, mean + half, "t, clustered by identity"
    simple = mean * (1 - mean) / n
    effective = min(n, n * simple / variance) if variance > 0 else groups
    return *_wilson(mean, max(effective, 1.0), level), "Wilson, clustered by identity"


def _wilson(share: float, n: float, level: float) -> tuple[float, float]:
    z = float(stats.norm.ppf((1 + level) / 2))
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * (share * (1 - share) / n + z**2 / (4 * n**2)) ** 0.5
    return min(centre - half, share), max(centre + half, share)
