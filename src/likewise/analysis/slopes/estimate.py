"""slopes: how label rates change along counterfactual edits of the attribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import SpecError, TableError, some
from likewise.stats.dof import cluster_dof
from likewise.stats.intervals import Interval, share_interval
from likewise.stats.jackknife import Statistic, covariance, jackknife
from likewise.tables import Estimates, Images, Ratings
from likewise.tables.estimates import remarked, row

Floats = npt.NDArray[np.float64]
Threshold = float | Mapping[str, float]
"""One for all raters, or one for each."""
RARE = 5  # people whose images carry the label at the middle step; with fewer, a ratio to it means nothing


def slopes(
    ratings: Ratings,
    counterfactuals: Images,
    *,
    threshold: Threshold,
    level: float = 0.95,
    sample: str = "counterfactual",
) -> Estimates:
    """Estimate for each rater and label the rate y_k at every strength, and the slope of z_k = y_k / y_c over them.

    The strength c is the middle one. All edits of an image, and all images of an identity, are clustered: intervals
    leave out one identity at a time. A label that is rare at the middle strength gets the slope of its rate
    (``rate_slope``) instead of the slope of a ratio.

    Parameters
    ----------
    ratings
        Labels of the edited images.
    counterfactuals
        The edited images, with ``parent`` and ``level`` (the edit strength).
    threshold
        The score from which a label is present; a mapping has one by rater. NaN: the answer itself is averaged, as for
        a vision-language model, whose answers are shares and numbers from 0 to 1.
    level
        Confidence level.
    sample
        Name of the sample in the estimates.

    Returns
    -------
    Estimates
        For each rater and label the rate at every strength, and the slope.

    Examples
    --------
    >>> from likewise.simulation.system_ratings import EditedLabels
    >>> labels, edits = EditedLabels(60, seed=1, slope=0.1).tables()
    >>> found = slopes(labels, edits, threshold=0.5)
    >>> bool(found.where(stat="slope").frame["low"].iloc[0] > 0)
    True
    """
    rows: list[dict[str, object]] = []
    for grid in grids(ratings, counterfactuals, threshold=threshold):
        rows += _label_rows(grid, level, sample)
    return Estimates.of(rows)


@dataclass(frozen=True)
class Grid:
    """One label of one rater: the images that were seen at every level, and at which they carry it."""

    quantity: str
    levels: Floats
    present: Floats
    """1 where the label is there, or the answer itself, ``[n, K]``."""
    parents: list[str]
    identity: npt.NDArray[np.int64]

    @property
    def middle(self) -> int:
        """Which level is the middle one."""
        return int(np.argmin(np.abs(self.levels)))

    @property
    def rare(self) -> bool:
        """Whether the label hardly occurs at the middle level."""
        return len(np.unique(self.identity[self.present[:, self.middle] > 0])) < RARE

    @property
    def columns(self) -> Floats:
        """The columns whose sums make the rates: the label at each level, and a one, ``[n, K + 1]``."""
        return np.column_stack([self.present, np.ones(len(self.present))])


def grids(ratings: Ratings, counterfactuals: Images, *, threshold: Threshold) -> list[Grid]:
    """Lay out the answers label by label; images that were not rated at every level are left out."""
    made = counterfactuals.frame.set_index("image")
    if "level" not in made.columns or made["level"].nunique() < 3:
        raise TableError("Counterfactuals at fewer than three edit strengths", fix="A slope needs three.")
    ratings.check_units(made.index)
    frame = ratings.frame.dropna(subset=["value"])
    place = made.index.get_indexer(pd.Index(frame["unit"]))
    for name in ("parent", "level", "identity"):
        frame[name] = made[name].array[place]
    frame["present"] = presence(frame, threshold)
    parts = frame.groupby(["rater", "question"], sort=True)
    return [_grid(f"{rater}: {label}", part) for (rater, label), part in parts]


def presence(frame: pd.DataFrame, threshold: Threshold) -> pd.Series:
    """Return 1 where a label is present and 0 elsewhere; the answer itself where its rater has no threshold (NaN)."""
    limit = limits(frame["rater"], threshold)
    present = (frame["value"] >= limit).astype("float64")
    return present.where(limit.notna(), frame["value"])


def limits(raters: pd.Series, threshold: Threshold) -> pd.Series:
    """Return for each rating from which score on the label is present."""
    if not isinstance(threshold, Mapping):
        return pd.Series(float(threshold), index=raters.index)
    missing = sorted(set(raters) - set(threshold))
    if missing:
        raise SpecError(f"No threshold for {some(missing)}", fix="Give one for each rater.")
    return raters.map(dict(threshold))


def _grid(quantity: str, part: pd.DataFrame) -> Grid:
    wide = part.pivot(index="parent", columns="level", values="present").dropna()
    identity = part.drop_duplicates("parent").set_index("parent")["identity"].reindex(wide.index)
    if identity.nunique() < 2:
        fix = "An interval needs images of two identities, each rated at every edit strength."
        raise TableError(f"{quantity}: {identity.nunique()} identities were rated at every edit strength", fix=fix)
    codes = pd.factorize(identity)[0].astype(np.int64)
    return Grid(quantity, wide.columns.to_numpy(dtype=np.float64), wide.to_numpy(), wide.index.tolist(), codes)


def _label_rows(grid: Grid, level: float, sample: str) -> list[dict[str, object]]:
    n, by = len(grid.present), "jackknife by identity"
    write = partial(row, grid.quantity, sample=sample, level=level, n=n)
    rows = []
    for k, step in enumerate(grid.levels):
        found, word = _rate_interval(grid, k, level)
        rows.append(write("rate", group=f"level {step:+g}", found=found, method=remarked(by, word)))
    stat, statistic = slope_of(grid)
    found = jackknife(grid.columns, statistic, [grid.identity], level=level, dof=known(grid))
    word = "no image ever changes" if found.low == found.high else ""
    return [*rows, write(stat, group="attribute", found=found, method=remarked(by, word))]


def _rate_interval(grid: Grid, k: int, level: float) -> tuple[Interval, str]:
    """Return a rate with Wilson's interval for its effective sample size."""
    share, clusters = float(grid.present[:, k].mean()), int(grid.identity.max()) + 1
    variance = float(covariance(grid.columns, lambda total: _rate(k)(total)[..., None], [grid.identity])[0, 0])
    dof = cluster_dof([grid.identity])
    low, high, word = share_interval(share, variance, n=len(grid.present), clusters=clusters, level=level, dof=dof)
    return Interval(share, low, high, clusters), word


def slope_of(grid: Grid) -> tuple[str, Statistic]:
    """Return which slope the label gets, and its function of the column sums."""
    return ("rate_slope", _slope(grid.levels, None)) if grid.rare else ("slope", _slope(grid.levels, grid.middle))


def known(*grids: Grid) -> float:
    """Return the degrees of freedom of a slope: a rare label's varies only with the few people who ever carry it."""
    bearing = [len(np.unique(grid.identity[grid.present.any(axis=1)])) for grid in grids if grid.rare]
    return float(max(min([int(grid.identity.max()) + 1 for grid in grids] + bearing) - 1, 1))


def _rate(k: int) -> Statistic:
    return lambda total: total[..., k] / total[..., -1]


def _slope(levels: Floats, middle: int | None) -> Statistic:
    """Return the least-squares slope of z (or of y, without a middle) over the levels."""
    centered = levels - levels.mean()

    def statistic(total: Floats) -> Floats:
        y = total[..., :-1] / total[..., -1:]
        z = y if middle is None else y / y[..., middle : middle + 1]
        slope: Floats = z @ centered / (centered @ centered)
        return slope

    return statistic
