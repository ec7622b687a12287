"""balance: how alike the two sides are in every covariate, before and after matching or weighting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from likewise.design.sample import Sample, Support, distribution_gaps
from likewise.errors import SpecError, TableError, nearest, some
from likewise.tables import Contrast, Estimates, Faces, Pairs

RULERS = ("pooled", "focal", "reference")
Weights = Mapping[str, float] | pd.Series


def balance(
    faces: Faces,
    contrast: Contrast,
    pairs: Pairs | Mapping[str, Pairs] | None = None,
    *,
    covariates: Sequence[str],
    weights: Weights | None = None,
    ruler: str = "pooled",
    level: float = 0.95,
) -> Estimates:
    """Compare the sides covariate by covariate: means with intervals, SMD, variance ratio, KS, overlap, pair distances.

    Differences are focal minus reference and are standardised by the *unmatched* spread, so that matching cannot
    shrink its own ruler: the root of the mean of the two groups' variances ("pooled"), or one group's ("focal" is
    MatchIt's choice for effects on the focal group). A column of words is shown level by level. Empty cells are left
    out, and ``n`` says how many remain. ``pairs`` may be several matchings by name; ``weights`` by image add the
    sample "weighted". In sets of one to many, every set counts once on each side.
    """
    if ruler not in RULERS:
        raise SpecError(f"ruler is one of {some(RULERS)}", got=repr(ruler), fix=nearest(ruler, RULERS))
    samples = samples_of(faces, contrast, pairs, weights)
    matched = {name: frame_of(faces, contrast, found) for name, found in _named(pairs).items()}
    rows: list[dict[str, object]] = []
    for name, column in numeric_covariates(faces, covariates).items():
        whole = [_sample(column, faces, sample) for sample in samples["all"]]
        unit = _unit(name, whole[0], whole[1], ruler)
        support = Support.of(*whole)
        for sample, sides in samples.items():
            focal, reference = (_sample(column, faces, side) for side in sides)
            if len(focal) and len(reference):
                gaps = distribution_gaps(focal, reference, support)
                rows += _rows(name, sample, focal, reference, gaps, unit, ruler, contrast, level)
                if sample in matched:
                    rows += _pair_rows(name, sample, column, matched[sample], unit, contrast)
    return Estimates.of(rows)


def _named(pairs: Pairs | Mapping[str, Pairs] | None) -> dict[str, Pairs]:
    if pairs is None:
        return {}
    return {"matched": pairs} if isinstance(pairs, Pairs) else dict(pairs)


def samples_of(
    faces: Faces, contrast: Contrast, pairs: Pairs | Mapping[str, Pairs] | None = None, weights: Weights | None = None
) -> dict[str, tuple[pd.Series, pd.Series]]:
    """Return for each sample the weights of its focal and its reference images."""
    side = contrast.side(faces)
    one = pd.Series(1.0, index=side.index)
    samples = {"all": (one[side == 1], one[side == -1])}
    for name, found in _named(pairs).items():
        if name in samples:
            raise SpecError("a matching has a name of its own", got=repr(name))
        frame = frame_of(faces, contrast, found)
        share = 1 / frame.groupby("a")["b"].transform("size")
        reference = share.groupby(frame["b"].to_numpy()).sum()
        samples[name] = (pd.Series(1.0, index=frame["a"].unique()), reference)
    if weights is not None:
        given = _weights(faces, weights)
        samples["weighted"] = (given[side[given.index] == 1], given[side[given.index] == -1])
    return samples


def frame_of(faces: Faces, contrast: Contrast, pairs: Pairs) -> pd.DataFrame:
    """Return the pairs that are between this contrast's two levels; a matching of several levels has others too."""
    pairs.check_faces(faces)
    frame: pd.DataFrame = pairs.frame
    side = contrast.side(faces)
    between = (side.loc[frame["a"]].to_numpy() == 1) & (side.loc[frame["b"]].to_numpy() == -1)
    if len(frame) and not between.any():
        raise TableError(f"pairs are between {contrast.focal!r} (a) and {contrast.reference!r} (b)", got="none of them")
    kept: pd.DataFrame = frame.loc[between]
    return kept


def _weights(faces: Faces, weights: Weights) -> pd.Series:
    given = pd.Series(weights, dtype="float64")
    strange = sorted(set(given.index) - set(faces.images))
    if strange or given.isna().any() or np.isinf(given).any() or (given < 0).any():
        got = f"some for {some(strange)}" if strange else "an empty, infinite or negative one"
        raise SpecError("weights are numbers of at least 0 by image of Faces", got=got)
    return given[given > 0]


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


def _sample(column: pd.Series, faces: Faces, weights: pd.Series) -> Sample:
    images = list(weights.index)
    values = column.loc[images]
    there = values.notna().to_numpy()
    clusters = pd.factorize(faces.identities.loc[images])[0].astype(np.int64)
    return Sample(values.to_numpy(dtype=np.float64)[there], clusters[there], weights.to_numpy()[there])


def _unit(name: str, focal: Sample, reference: Sample, ruler: str) -> float:
    if len(focal) < 2 or len(reference) < 2:
        got = f"{len(focal)} and {len(reference)} of {name!r}"
        raise TableError("a covariate has at least two values on each side", got=got)
    binary = focal.binary and reference.binary
    variances = [side.variance(binary=binary) for side in (focal, reference)]
    chosen = {"pooled": sum(variances) / 2, "focal": variances[0], "reference": variances[1]}[ruler]
    return float(np.sqrt(chosen))


def _rows(
    name: str, sample: str, focal: Sample, reference: Sample, gaps: tuple[float, float, float],
    unit: float, ruler: str, contrast: Contrast, level: float,
) -> list[dict[str, object]]:  # fmt: skip
    rows, both, binary = [], [focal, reference], focal.binary and reference.binary
    for group, side in ((str(contrast.focal), focal), (str(contrast.reference), reference)):
        low, high, method = side.interval(level)
        stat = "share" if binary else "mean"
        rows.append(row(name, stat, sample, group, side.mean, [side], low, high, level, method))
    gap = focal.mean - reference.mean
    if unit > 0 or gap == 0:
        smd = gap / unit if unit > 0 else 0.0
        rows.append(row(name, "smd", sample, contrast.label, smd, both, method=f"by the unmatched spread ({ruler})"))
    if not binary and min(map(len, both)) > 1 and reference.variance(binary=False) > 0:
        ratio = focal.variance(binary=False) / reference.variance(binary=False)
        rows.append(row(name, "variance_ratio", sample, contrast.label, ratio, both, method="focal / reference"))
    for stat, apart in zip(("ks", "ecdf_mean", "overlap"), gaps, strict=True):
        rows.append(row(name, stat, sample, contrast.label, apart, both, method="two-sample"))
    return rows


def _pair_rows(
    name: str, sample: str, column: pd.Series, frame: pd.DataFrame, unit: float, contrast: Contrast
) -> list[dict[str, object]]:
    apart = np.abs(column.loc[frame["a"]].to_numpy() - column.loc[frame["b"]].to_numpy())
    apart = apart[~np.isnan(apart)]
    if unit <= 0 or len(apart) == 0:
        return []
    told = row(name, "pair_distance", sample, contrast.label, float(apart.mean()) / unit, [], method="within pairs")
    return [{**told, "n": len(apart), "clusters": len(apart)}]


def row(
    quantity: str, stat: str, sample: str, group: str, estimate: float, sides: list[Sample],
    low: float = np.nan, high: float = np.nan, level: float = np.nan, method: str = "",
) -> dict[str, object]:  # fmt: skip
    """Return one row of Estimates; an interval that does not exist has no level either."""
    return {
        "quantity": quantity, "stat": stat, "sample": sample, "group": group,
        "estimate": float(estimate), "low": low, "high": high, "level": level,
        "n": sum(len(side) for side in sides),
        "clusters": sum(len(np.unique(side.clusters)) for side in sides), "method": method,
    }  # fmt: skip
