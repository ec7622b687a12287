"""exclusion_rates: which share of each group a gate excludes, and whether the shares differ.

A gate that excludes one group more often selects the sample, so its rates are part of the result. Images of an
identity pass or fail together: shares get Wilson intervals for as many independent images
as their variance over identities is effective_size, and the test permutes whole identities between the groups.

The test statistic is the gap of the two shares over its standard error from the identities' own sums. Studentized like
that, the permutation test is right not only when the two groups are alike in everything, but also, for many identities,
when they differ in how many images a person has (Chung and Romano 2013).
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import TableError
from likewise.stats.dof import cluster_dof
from likewise.stats.intervals import Interval, bare, share_interval
from likewise.stats.jackknife import covariance, jackknife
from likewise.tables import Contrast, Estimates, Images
from likewise.tables.estimates import remarked, row

Floats = npt.NDArray[np.float64]
PERMUTATIONS = 9999
_BLOCK = 500
_TEST = "permutation of identities, studentized"


def exclusion_rates(
    gone: Collection[str], images: Images, contrast: Contrast, *,
    quantity: str, sample: str = "all", level: float = 0.95, seed: int = 0, permutations: int = PERMUTATIONS,
) -> Estimates:  # fmt: skip
    """Estimate the share of images that are ``gone`` in both groups, its gap, and the p-value of no difference."""
    side = contrast.side(images).reindex(images.keys).to_numpy()
    frame = pd.DataFrame({"gone": pd.Index(images.keys).isin(list(gone)).astype(np.float64), "side": side})
    frame = frame.assign(identity=images.frame["identity"].to_numpy())[side != 0]
    rows = [
        _share(frame[frame["side"] == sign], str(group), quantity, sample, level)
        for group, sign in ((contrast.focal, 1), (contrast.reference, -1))
    ]
    gap = _gap(frame, level)
    p = bare(_p(frame, seed=seed, permutations=permutations), gap.clusters)
    for stat, found, method in (("gap", gap, "jackknife by identity"), ("p_value", p, _TEST)):
        rows.append(row(quantity, stat, sample, contrast.label, found, level=level, n=len(frame), method=method))
    return Estimates.of(rows)


def _share(part: pd.DataFrame, group: str, quantity: str, sample: str, level: float) -> dict[str, object]:
    codes, names = pd.factorize(part["identity"])
    if len(names) < 2:
        raise TableError(
            f"Too few identities of {group!r} for {quantity!r}: {len(names)}", fix="An interval needs two."
        )
    columns = np.stack([part["gone"].to_numpy(), np.ones(len(part))], axis=1)
    share = float(columns[:, 0].mean())
    variance = float(covariance(columns, lambda s: (s[..., 0] / s[..., 1])[..., None], [codes])[0, 0])
    dof = cluster_dof([codes])
    low, high, word = share_interval(share, variance, n=len(part), clusters=len(names), level=level, dof=dof)
    method = remarked("Wilson, effective size by identity", word)
    found = Interval(share, low, high, len(names))
    return row(quantity, "left_out", sample, group, found, level=level, n=len(part), method=method)


def _gap(frame: pd.DataFrame, level: float) -> Interval:
    here = frame["side"].to_numpy() == 1
    gone = frame["gone"].to_numpy()
    columns = np.stack([gone * here, here, gone * ~here, ~here], axis=1).astype(np.float64)
    codes = pd.factorize(frame["identity"])[0]
    return jackknife(columns, lambda s: s[..., 0] / s[..., 1] - s[..., 2] / s[..., 3], [codes], level=level)


def _p(frame: pd.DataFrame, *, seed: int, permutations: int) -> float:
    """Return the two-sided p; identities with images in both groups cannot be permuted and are left out."""
    people = frame.groupby("identity").agg(
        gone=("gone", "sum"), n=("gone", "size"), one=("side", "min"), two=("side", "max")
    )
    people = people[people["one"] == people["two"]]
    sums = people[["gone", "n"]].to_numpy(np.float64)  # [G, 2]
    focal: Floats = np.where(people["one"] == 1, 1.0, 0.0)
    if not 0 < sums[:, 0].sum() < sums[:, 1].sum() or min(focal.sum(), (1 - focal).sum()) < 2:
        return 1.0  # none or all are excluded
    seen = abs(float(_studentized(focal[np.newaxis, :], sums)[0])) - 1e-9
    rng, hits = np.random.default_rng(seed), 0
    for start in range(0, permutations, _BLOCK):
        size = min(_BLOCK, permutations - start)
        order = rng.permuted(np.tile(focal, (size, 1)), axis=1)
        hits += int((np.abs(_studentized(order, sums)) >= seen).sum())
    return (hits + 1) / (permutations + 1)


def _studentized(focal: Floats, sums: Floats) -> Floats:
    """Return the gap of the shares over its standard error for each assignment ``focal [B, G]`` of identities."""
    parts = []
    for weight in (focal, 1 - focal):
        total = weight @ sums  # [B, 2]
        share = total[:, :1] / total[:, 1:]
        away = np.square(sums[None, :, 0] - share * sums[None, :, 1])  # [B, G]
        count = weight.sum(axis=1)
        parts.append((share[:, 0], (weight * away).sum(axis=1) * count / (count - 1) / np.square(total[:, 1])))
    (a, va), (b, vb) = parts
    gap, spread = a - b, np.sqrt(va + vb)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap == 0, 0.0, gap / spread)  # no spread but a gap: as far as can be
