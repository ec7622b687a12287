"""One covariate on one side of one sample: weighted mean, spread, distribution, and an interval of the mean.

The formulas are MatchIt's: a binary covariate's variance is p (1 - p); another's divides by 1 - sum of squared
weights (weights summing to one), which is n - 1 over n when all weigh the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from likewise.errors import SpecError, nearest, some
from likewise.stats.intervals import wilson
from likewise.tables import Images

Floats = npt.NDArray[np.float64]
_BINS = 10


@dataclass(frozen=True)
class Sample:
    """Values without empty ones, whose they are (codes), and how much each counts."""

    values: Floats
    clusters: npt.NDArray[np.int64]
    weights: Floats

    def __len__(self) -> int:
        return len(self.values)

    @property
    def share(self) -> Floats:
        """The weights, summing to one."""
        share: Floats = self.weights / self.weights.sum()
        return share

    @property
    def mean(self) -> float:
        """The weighted mean."""
        return float((self.share * self.values).sum())

    @property
    def binary(self) -> bool:
        """Whether only 0 and 1 occur."""
        return bool(np.isin(self.values, (0.0, 1.0)).all())

    def variance(self, *, binary: bool) -> float:
        """Return the weighted variance; whether the covariate is binary is decided on both sides together."""
        if binary:
            return self.mean * (1 - self.mean)
        return float((self.share * (self.values - self.mean) ** 2).sum() / (1 - (self.share**2).sum()))

    @property
    def effective(self) -> float:
        """Kish's effective number: how many equally weighted values are as good."""
        return float(1 / (self.share**2).sum())

    def interval(self, level: float) -> tuple[float, float, str]:
        """Return an interval of the mean, clustered by identity.

        The variance of the mean is that of the cluster totals (linearized). For shares it becomes an effective
        sample size for Wilson's interval, which stays inside 0 and 1; for other means it goes with Student's t.
        """
        mean = self.mean
        totals = np.bincount(self.clusters, weights=self.share * (self.values - mean))
        groups = len(np.unique(self.clusters))
        if groups < 2:
            return np.nan, np.nan, "one identity only"
        variance = float((totals**2).sum()) * groups / (groups - 1)
        if not self.binary:
            half = float(stats.t.ppf((1 + level) / 2, groups - 1)) * variance**0.5
            return mean - half, mean + half, "t, clustered by identity"
        effective = min(self.effective, mean * (1 - mean) / variance) if variance > 0 else groups
        return *wilson(mean, max(effective, 1.0), level=level), "Wilson, clustered by identity"


def skewed_interval(sample: Sample, level: float) -> tuple[float, float, str]:
    """Return an interval of the mean of numbers with a long tail, such as errors: Hall's transformation of t (1992).

    A mean of skewed numbers goes with its own standard error, so that Student's t is too short on the long side. The
    cubic transformation takes the skewness of the cluster totals out. Where the tail is so long that the sample may
    not hold it (fewer clusters than 28 + 25 skewness^2, Sugden and others 2000) nothing helps; the method says so.
    """
    low, high, method = sample.interval(level)
    if sample.binary or np.isnan(low):
        return low, high, method
    codes = np.unique(sample.clusters, return_inverse=True)[1]
    totals = np.bincount(codes, weights=sample.share * (sample.values - sample.mean))
    groups, spread = len(totals), float(np.sqrt((totals**2).mean()))
    skewness = float((totals**3).mean()) / spread**3 if spread > 0 else 0.0
    if abs(skewness) < 1e-6:
        return low, high, method
    t = stats.t.ppf([(1 - level) / 2, (1 + level) / 2], groups - 1) / np.sqrt(groups)
    turned = (np.cbrt(1 + skewness * (t - skewness / (6 * groups))) - 1) * 3 / skewness
    ends = sample.mean - turned[::-1] * spread * groups * np.sqrt(groups / (groups - 1))
    remark = "" if groups >= 28 + 25 * skewness**2 else "; long tail, too few for the level"
    return min(ends[0], sample.mean), max(ends[1], sample.mean), f"Hall's t, clustered by identity{remark}"


@dataclass(frozen=True)
class Support:
    """What is needed of all units, matched or not, to compare distributions: all values, and where bins end."""

    values: Floats
    edges: Floats

    @classmethod
    def of(cls, focal: Sample, reference: Sample) -> Support:
        """Return the values of all units. Bins are the values themselves if there are few, else deciles."""
        every = np.r_[focal.values, reference.values]
        values = np.unique(every)
        few = len(values) <= _BINS
        edges = values[1:] if few else np.unique(np.quantile(every, np.linspace(0, 1, _BINS + 1)[1:-1]))
        return cls(values, edges)


def distribution_gaps(focal: Sample, reference: Sample, support: Support) -> tuple[float, float, float]:
    """Return the largest and the mean distance of the two distribution functions, and the area that both share.

    Distances are over the values of all units. The area is of two histograms; the bins are those of all units, so
    that matching cannot choose them. In small samples it falls short of 1 by chance alone.
    """
    if focal.binary and reference.binary:
        gap = abs(focal.mean - reference.mean)
        return gap, gap, 1 - gap
    place = np.searchsorted(support.values, np.r_[focal.values, reference.values])
    steps = np.bincount(place, weights=np.r_[focal.share, -reference.share], minlength=len(support.values))
    apart = np.abs(np.cumsum(steps))
    return float(apart.max()), float(apart.mean()), _shared_area(focal, reference, support.edges)


def _shared_area(focal: Sample, reference: Sample, edges: Floats) -> float:
    histograms = [
        np.bincount(np.searchsorted(edges, side.values, side="right"), weights=side.share, minlength=len(edges) + 1)
        for side in (focal, reference)
    ]
    return float(np.minimum(*histograms).sum())


def numeric_covariates(faces: Images, names: Sequence[str]) -> dict[str, pd.Series]:
    """Return the covariates as numbers by image; a column of words becomes one indicator a level."""
    columns: dict[str, pd.Series] = {}
    for name in names:
        if name not in faces.attributes:
            fix = nearest(name, faces.attributes) or f"The columns are {some(faces.attributes, 8)}."
            raise SpecError(f"Covariate {name!r} not found in Images", fix=fix)
        column = faces.attribute(name)
        if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
            columns[name] = column.astype("float64")
            continue
        for word in sorted(column.dropna().unique()):
            columns[f"{name}: {word}"] = (column == word).astype("float64").where(column.notna())
    return columns
