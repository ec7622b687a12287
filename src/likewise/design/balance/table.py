"""balance: how comparable the two groups are in every covariate, before and after matching or weighting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from likewise.design.balance.covariate_summary import Sample, Support, distribution_gaps, numeric_covariates
from likewise.design.units import parts_of, trial_units
from likewise.errors import SpecError, TableError, nearest, some
from likewise.stats.intervals import Interval
from likewise.tables import Contrast, Estimates, Images, Matches, MatchSpec, Trials, Vectors
from likewise.tables.estimates import row as estimates_row

RULERS = ("pooled", "focal", "reference")
Weights = Mapping[str, float] | pd.Series


def balance(
    faces: Images,
    contrast: Contrast,
    pairs: Matches | Mapping[str, Matches] | None = None,
    *,
    covariates: Sequence[str] = (),
    units: Trials | None = None,
    vectors: Vectors | None = None,
    weights: Weights | None = None,
    ruler: str = "pooled",
    level: float = 0.95,
) -> Estimates:
    """Compare the groups covariate by covariate, before and after matching or weighting.

    Parameters
    ----------
    faces, contrast
        The images and the two groups. Differences are focal minus reference.
    pairs
        One matching (the sample "matched") or several by name.
    covariates
        Columns of the images. A text column is shown level by level. Empty cells are left out; ``n`` counts the rest.
    units
        The trials that were matched. Every covariate then has two rows: its mean over the two images of a trial
        (``age (mean)``) and their absolute difference (``age (difference)``).
    vectors
        Few numbers an image (scores) that are shown as covariates too.
    weights
        By unit; adds the sample "weighted".
    ruler
        Differences are standardized by the *unmatched* standard deviation, so that matching cannot change its own unit:
        the root of the mean of the two variances ("pooled"), or that of one group ("focal" is MatchIt's for the ATT).
    level
        The confidence level of the intervals.

    Returns
    -------
    Estimates
        Means with cluster-robust intervals, SMD, variance ratio, KS, overlap, and distances within pairs. In sets of
        one to many, every set counts once on each side.

    Examples
    --------
    >>> import pandas as pd, likewise as lw
    >>> rows = {"image": list("1234"), "identity": list("abcd"), "sex": list("FFMM"), "age": [30, 40, 20, 30]}
    >>> found = lw.balance(lw.Images(pd.DataFrame(rows)), lw.Contrast("sex", "F", "M"), covariates=["age"])
    >>> round(float(found.where(stat="smd").frame["estimate"].iloc[0]), 2)
    1.41
    """
    if ruler not in RULERS:
        raise SpecError(f"ruler = {ruler!r} is unknown", fix=nearest(ruler, RULERS) or f"Known: {some(RULERS)}.")
    shown, columns = described_units(faces, contrast, covariates, units, vectors)
    if not columns:
        raise SpecError("There is nothing to compare", fix="Name covariates or give vectors.")
    _check_units(pairs, units)
    samples = samples_of(shown, contrast, pairs, weights)
    matched = {name: frame_of(shown, contrast, found) for name, found in _named(pairs).items()}
    rows: list[dict[str, object]] = []
    for name, column in columns.items():
        whole = [_sample(column, shown, sample) for sample in samples["all"]]
        unit = _unit(name, whole[0], whole[1], ruler)
        support = Support.of(*whole)
        for sample, sides in samples.items():
            focal, reference = (_sample(column, shown, side) for side in sides)
            if len(focal) and len(reference):
                gaps = distribution_gaps(focal, reference, support)
                rows += _rows(name, sample, focal, reference, gaps, unit, ruler, contrast, level)
                if sample in matched:
                    rows += _pair_rows(name, sample, column, matched[sample], unit, contrast)
    return Estimates.of(rows)


def described_units(
    faces: Images, contrast: Contrast, covariates: Sequence[str], units: Trials | None, vectors: Vectors | None = None
) -> tuple[Images, dict[str, pd.Series]]:
    """Return the units in the form of Images, and their covariates and scores as numbers by unit."""
    columns = numeric_covariates(faces, covariates)
    if vectors is not None:
        flat = np.asarray(vectors.values, dtype=np.float64).reshape(len(vectors), -1)
        scored = {f"score {place + 1}": pd.Series(flat[:, place], index=vectors.keys) for place in range(flat.shape[1])}
        columns |= {name: column.reindex(faces.keys) for name, column in scored.items()}
    if units is None:
        return faces, columns
    made = trial_units(faces, units, contrast, MatchSpec(both_sides="drop"))  # describes a sample, chooses none
    ends = [made.ends[end].to_numpy() for end in ("a", "b")]
    found: dict[str, pd.Series] = {}
    for name, column in columns.items():
        x, y = (column.loc[end].to_numpy() for end in ends)
        for part, values in zip(parts_of(name), ((x + y) / 2, np.abs(x - y)), strict=True):
            found[part] = pd.Series(values, index=made.ends.index)
    shown = made.images.subset([key for key in made.images.keys if key in made.one_side])
    return shown, {name: column.loc[shown.keys] for name, column in found.items()}


def unit_images(faces: Images, contrast: Contrast, covariates: Sequence[str], units: Trials) -> Images:
    """Return the trials in the form of Images, with mean and difference of each covariate as columns."""
    shown, columns = described_units(faces, contrast, covariates, units)
    extra = pd.DataFrame({name: column.to_numpy() for name, column in columns.items()})
    return Images(pd.concat([shown.frame, extra], axis=1))


def _check_units(pairs: Matches | Mapping[str, Matches] | None, units: Trials | None) -> None:
    wanted = "image" if units is None else "trial"
    for name, found in _named(pairs).items():
        if found.unit != wanted:
            fix = "Give units=, the trials that were matched." if units is None else "Match with units=, or remove it."
            raise SpecError(f"The matching {name!r} is of {found.unit}s, and balance is of {wanted}s", fix=fix)


@dataclass(frozen=True)
class Verdict:
    """Whether a design is balanced, and where it is not."""

    balanced: bool
    sentence: str
    apart: dict[str, float]
    """The standardized differences beyond the limit, largest first."""

    def __str__(self) -> str:
        return self.sentence


def verdict(estimates: Estimates, *, sample: str = "matched", max_smd: float = 0.1) -> Verdict:
    """Assess the balance of a sample by the standardized mean differences of its table.

    Examples
    --------
    >>> import pandas as pd, likewise as lw
    >>> from likewise.design.balance.table import verdict
    >>> rows = {"image": list("1234"), "identity": list("abcd"), "sex": list("FFMM"), "age": [30, 40, 20, 30]}
    >>> found = lw.balance(lw.Images(pd.DataFrame(rows)), lw.Contrast("sex", "F", "M"), covariates=["age"])
    >>> print(verdict(found, sample="all"))
    Not balanced within 0.1: age (1.41).
    """
    frame = estimates.frame
    rows = frame[(frame["stat"] == "smd") & (frame["sample"] == sample)]
    if rows.empty:
        raise TableError(f"No standardized differences of the sample {sample!r}", fix="Compute them with balance().")
    smd = rows.set_index("quantity")["estimate"]
    beyond = smd[smd.abs() > max_smd + 1e-9].sort_values(key=np.abs, ascending=False)
    apart = {str(name): float(value) for name, value in beyond.items()}
    if not apart:
        return Verdict(True, f"Balanced: every standardized mean difference is within {max_smd:g}.", {})
    shown = ", ".join(f"{name} ({value:.2f})" for name, value in list(apart.items())[:6])
    more = f" and {len(apart) - 6} more" if len(apart) > 6 else ""
    return Verdict(False, f"Not balanced within {max_smd:g}: {shown}{more}.", apart)


def _named(pairs: Matches | Mapping[str, Matches] | None) -> dict[str, Matches]:
    if pairs is None:
        return {}
    return {"matched": pairs} if isinstance(pairs, Matches) else dict(pairs)


def samples_of(
    faces: Images,
    contrast: Contrast,
    pairs: Matches | Mapping[str, Matches] | None = None,
    weights: Weights | None = None,
) -> dict[str, tuple[pd.Series, pd.Series]]:
    """Return for each sample the weights of its focal and its reference images."""
    side = contrast.side(faces)
    one = pd.Series(1.0, index=side.index)
    samples = {"all": (one[side == 1], one[side == -1])}
    for name, found in _named(pairs).items():
        if name in samples:
            raise SpecError(f"A matching cannot be called {name!r}", fix="Give it another name.")
        frame = frame_of(faces, contrast, found)
        share = 1 / frame.groupby("a")["b"].transform("size")
        reference = share.groupby(frame["b"].to_numpy()).sum()
        samples[name] = (pd.Series(1.0, index=frame["a"].unique()), reference)
    if weights is not None:
        given = _weights(faces, weights)
        samples["weighted"] = (given[side[given.index] == 1], given[side[given.index] == -1])
    return samples


def frame_of(faces: Images, contrast: Contrast, pairs: Matches) -> pd.DataFrame:
    """Return the pairs that are between this contrast's two levels; a matching of several levels has others too."""
    frame: pd.DataFrame = pairs.frame
    unknown = sorted({*frame["a"], *frame["b"]} - set(faces.keys))
    if unknown:
        raise TableError(
            f"Matches name {len(unknown)} {pairs.unit}s that are not there: {some(unknown)}",
            fix="Use the units that were matched.",
        )
    side = contrast.side(faces)
    between = (side.loc[frame["a"]].to_numpy() == 1) & (side.loc[frame["b"]].to_numpy() == -1)
    if len(frame) and not between.any():
        raise TableError(
            f"No pair is between {contrast.focal!r} (a) and {contrast.reference!r} (b)",
            fix="These matches are of another contrast: match again.",
        )
    kept: pd.DataFrame = frame.loc[between]
    return kept


def _weights(faces: Images, weights: Weights) -> pd.Series:
    given = pd.Series(weights, dtype="float64")
    strange = sorted(set(given.index) - set(faces.keys))
    if strange or given.isna().any() or np.isinf(given).any() or (given < 0).any():
        what = f"are of unknown units: {some(strange)}" if strange else "hold an empty, infinite or negative number"
        raise SpecError(f"The weights {what}", fix="Give a number of at least 0 for each unit.")
    return given[given > 0]


def _sample(column: pd.Series, faces: Images, weights: pd.Series) -> Sample:
    images = list(weights.index)
    values = column.loc[images]
    there = values.notna().to_numpy()
    clusters = pd.factorize(faces.identities.loc[images])[0].astype(np.int64)
    return Sample(values.to_numpy(dtype=np.float64)[there], clusters[there], weights.to_numpy()[there])


def _unit(name: str, focal: Sample, reference: Sample, ruler: str) -> float:
    if len(focal) < 2 or len(reference) < 2:
        sizes = f"{len(focal)} and {len(reference)}"
        raise TableError(f"{name!r} has {sizes} values on the two sides", fix="At least two on each are needed.")
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
    message = row(name, "pair_distance", sample, contrast.label, float(apart.mean()) / unit, [], method="within pairs")
    return [{**message, "n": len(apart), "clusters": len(apart)}]


def row(
    quantity: str, stat: str, sample: str, group: str, estimate: float, sides: list[Sample],
    low: float = np.nan, high: float = np.nan, level: float = np.nan, method: str = "",
) -> dict[str, object]:  # fmt: skip
    """Return one row of Estimates; an interval that does not exist has no level either."""
    clusters = sum(len(np.unique(side.clusters)) for side in sides)
    found = Interval(float(estimate), low, high, clusters)
    n = sum(len(side) for side in sides)
    return estimates_row(quantity, stat, sample, group, found, level=level, n=n, method=method)
