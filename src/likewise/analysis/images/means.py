"""image_means: what was said about single images, by group: means and their gap, clustered by identity."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import TableError
from likewise.stats.dof import welch
from likewise.stats.intervals import Interval
from likewise.stats.jackknife import Statistic, jackknife
from likewise.tables import Contrast, Estimates, Images, Ratings
from likewise.tables.estimates import row

Floats = npt.NDArray[np.float64]
_METHOD = "jackknife by identity"


def image_means(
    ratings: Ratings, images: Images, contrast: Contrast, *, sample: str = "all", level: float = 0.95
) -> Estimates:
    """Estimate for each rater and question the mean in both groups and the gap; images without an answer are left out.

    Several images of a person are not independent, so the interval leaves out identities.
    """
    ratings.check_units(images.keys)
    side = pd.Series(contrast.side(images), index=images.keys)
    frame = ratings.frame.dropna(subset=["value"])
    frame = frame.assign(side=frame["unit"].map(side), identity=frame["unit"].map(images.identities))
    frame = frame[frame["side"] != 0]
    rows: list[dict[str, object]] = []
    for (rater, question), part in frame.groupby(["rater", "question"], sort=True):
        rows += _rows(f"{rater}: {question}", part, contrast, sample, level)
    if not rows:
        raise TableError(
            "No image of either group has an answer", fix="Check that units of the ratings are images of the table."
        )
    return Estimates.of(rows)


def overall_means(ratings: Ratings, images: Images, *, sample: str = "all", level: float = 0.95) -> Estimates:
    """Estimate for each rater and question the mean over all images, whatever their group."""
    ratings.check_units(images.keys)
    frame = ratings.frame.dropna(subset=["value"])
    rows = []
    for (rater, question), part in frame.groupby(["rater", "question"], sort=True):
        identity = part["unit"].map(images.identities)
        if identity.nunique() < 2:
            raise TableError(
                f"Too few identities with {question!r}: {identity.nunique()}", fix="An interval needs two."
            )
        found, n = _mean(part["value"].to_numpy(np.float64), identity, level), len(part)
        rows.append(row(f"{rater}: {question}", "mean", sample, "all", found, level=level, n=n, method=_METHOD))
    return Estimates.of(rows)


def _rows(quantity: str, part: pd.DataFrame, contrast: Contrast, sample: str, level: float) -> list[dict[str, object]]:
    value, identity = part["value"].to_numpy(np.float64), part["identity"]
    sides = {contrast.focal: part["side"].to_numpy() == 1, contrast.reference: part["side"].to_numpy() == -1}
    rows = []
    for group, here in sides.items():
        if identity[here].nunique() < 2:
            count = identity[here].nunique()
            raise TableError(
                f"Too few identities of {group!r} with {quantity!r}: {count}", fix="An interval needs two."
            )
        found = _mean(value[here], identity[here], level)
        rows.append(row(quantity, "mean", sample, str(group), found, level=level, n=int(here.sum()), method=_METHOD))
    columns = np.stack([column for here in sides.values() for column in (value * here, here)], axis=1).astype(
        np.float64
    )
    codes = pd.factorize(identity)[0].astype(np.int64)
    means: list[Statistic] = [lambda s: s[..., 0] / s[..., 1], lambda s: s[..., 2] / s[..., 3]]
    gap = jackknife(
        columns, lambda s: means[0](s) - means[1](s), [codes],
        level=level, dof=welch(columns, means, list(sides.values()), codes),
    )  # fmt: skip
    people = min(int(identity[here].nunique()) for here in sides.values())  # a gap rests on the smaller group
    write = partial(row, quantity, "gap", sample, contrast.label, level=level, n=len(value), method=_METHOD)
    return [*rows, write(gap, clusters=people)]


def _mean(value: Floats, identity: pd.Series[str], level: float) -> Interval:
    columns = np.stack([value, np.ones(len(value))], axis=1)
    return jackknife(columns, lambda s: s[..., 0] / s[..., 1], [pd.factorize(identity)[0]], level=level)
