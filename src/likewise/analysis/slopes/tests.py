"""slope_tests: which labels move, whether in a straight line, more than by chance and more than in a placebo arm.

The paper fits a line through K rates and takes its p, as if the K points were independent; they share every image. That
p stands here under its own name (``ols_p``) beside one that leaves out identities.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from likewise.analysis.slopes.estimate import Grid, Threshold, grids, known, slope_of
from likewise.errors import InputError, TableError
from likewise.stats.dof import together_dof
from likewise.stats.intervals import Interval, bare
from likewise.stats.jackknife import covariance, jackknife
from likewise.stats.logit import coefficient
from likewise.tables import Estimates, Images, Ratings
from likewise.tables.estimates import remarked, row

Floats = npt.NDArray[np.float64]


def slope_tests(
    ratings: Ratings,
    counterfactuals: Images,
    *,
    threshold: Threshold,
    level: float = 0.95,
) -> Estimates:
    """Test for each rater and label whether its rate moves with the attribute.

    Rows of a label: ``ols_p`` (the paper's), ``p_value`` (of the slope, by identity), ``q_bh`` and ``q_by`` (over all
    labels of all raters), ``log_odds_slope`` (a logistic regression on the level, clustered by identity) and
    ``linearity_p``. A label that is always or never there has no log odds; its row is left out and its p is 1.
    """
    found = grids(ratings, counterfactuals, threshold=threshold)
    p = np.array([_slope_p(grid) for grid in found])
    rows: list[dict[str, object]] = []
    for grid, own, bh, by in zip(found, p, *_false_discovery(p), strict=True):
        write = partial(row, grid.quantity, sample="counterfactual", group="attribute", n=len(grid.present))
        clusters = int(grid.identity.max()) + 1
        many = f"over {len(p)} labels"
        rows += [
            write("ols_p", found=bare(_ols_p(grid), len(grid.levels)), level=np.nan, method="line through the rates"),
            write("p_value", found=bare(float(own), clusters), level=np.nan, method="jackknife by identity"),
            write("q_bh", found=bare(float(bh), clusters), level=np.nan, method=f"Benjamini-Hochberg {many}"),
            write("q_by", found=bare(float(by), clusters), level=np.nan, method=f"Benjamini-Yekutieli {many}"),
            write(
                "linearity_p", found=bare(_linearity_p(grid), clusters), level=np.nan, method="Hotelling by identity"
            ),
        ]
        odds, word = _log_odds(grid, level)
        rows.append(write("log_odds_slope", found=odds, level=level, method=remarked("GEE logit", word)))
    return Estimates.of(rows)


def excess_over_placebo(
    ratings: Ratings,
    counterfactuals: Images,
    placebo: Ratings,
    placebo_images: Images,
    *,
    threshold: Threshold,
    level: float = 0.95,
    arm: str = "placebo",
) -> Estimates:
    """Estimate each label's slope less its slope in a placebo arm (reconstruct only, mask only, random direction).

    Both arms are swept over the same images and levels, so they are compared image by image: an identity is left out of
    both at once.
    """
    others = {grid.quantity: grid for grid in grids(placebo, placebo_images, threshold=threshold)}
    rows: list[dict[str, object]] = []
    for grid in grids(ratings, counterfactuals, threshold=threshold):
        if grid.quantity not in others:
            raise TableError(
                f"{grid.quantity} was not rated in the placebo arm",
                fix="Rate the placebo arms with the same classifier.",
            )
        rows.append(_excess(*_aligned(grid, others[grid.quantity]), level, arm))
    return Estimates.of(rows)


def sensitive_labels(estimates: Estimates, tests: Estimates, *, p: float = 0.001, slope: float = 0.03) -> Estimates:
    """Return the paper's tables: labels whose ``ols_p`` is below ``p`` and whose slope is beyond ``slope``.

    Sorted by rater and then by slope: the most negative slopes come first.
    """
    low = tests.where(stat="ols_p").frame
    kept = set(low.loc[low["estimate"] < p, "quantity"])
    frame = estimates.frame
    frame = frame[frame["stat"].eq("slope") & frame["quantity"].isin(kept) & (frame["estimate"].abs() > slope)]
    order = frame.assign(rater=frame["quantity"].str.split(": ").str[0]).sort_values(["rater", "estimate"]).index
    return Estimates(frame.loc[order])


def _slope_p(grid: Grid) -> float:
    """Return the two-sided p of the slope of the rates (z is y on another scale, so the p serves both).

    Only identities whose answers change bear on the slope, and those with many images more than others. With a head
    count of identities (1 to 28 images), p was below 0.006 in 1.5 to 2.2 % of worlds without a slope.
    """
    weights = grid.levels - grid.levels.mean()
    spread = covariance(
        grid.columns, lambda total: (total[..., :-1] @ weights / total[..., -1])[..., None], [grid.identity]
    )
    estimate, variance = float(grid.present.mean(axis=0) @ weights), float(spread[0, 0])
    if variance == 0:
        return 1.0
    return float(2 * stats.t.sf(abs(estimate) / variance**0.5, _bearing(grid)))


def _bearing(grid: Grid) -> float:
    """Return the degrees of freedom of a slope of rates: those of the identities whose answers change."""
    change = np.unique(grid.identity[np.ptp(grid.present, axis=1) > 0])
    return max(min(together_dof(grid.identity), len(change) - 1.0), 1.0)


def _ols_p(grid: Grid) -> float:
    rates = grid.present.mean(axis=0)
    if np.ptp(rates) == 0:
        return 1.0
    return float(stats.linregress(grid.levels, rates).pvalue)


def _linearity_p(grid: Grid) -> float:
    """Return the p of all rates lying on a line: Hotelling's T^2 of the contrasts beyond the straight ones.

    Contrasts in which no identity ever differs carry no news and are left out.
    """
    line = np.vander(grid.levels, 2)
    hessian = np.linalg.svd(line, full_matrices=True)[0][:, 2:]  # [K, K - 2]
    spread = covariance(grid.columns, lambda total: total[..., :-1] @ hessian / total[..., -1:], [grid.identity])
    rank = int(np.linalg.matrix_rank(spread, tol=1e-12)) if spread.any() else 0
    groups = int(grid.identity.max()) + 1
    if rank == 0 or groups <= rank:
        return 1.0
    away = grid.present.mean(axis=0) @ hessian
    t2 = float(away @ np.linalg.pinv(spread, rcond=1e-9, hermitian=True) @ away)
    return float(stats.f.sf(t2 * (groups - rank) / (rank * (groups - 1)), rank, groups - rank))


def _false_discovery(p: Floats) -> tuple[Floats, Floats]:
    if not len(p):
        raise InputError(
            "No ratings of counterfactuals: there is no label to test",
            fix="Rate the images of the counterfactual stage.",
        )
    return stats.false_discovery_control(p, method="bh"), stats.false_discovery_control(p, method="by")


def _log_odds(grid: Grid, level: float) -> tuple[Interval, str]:
    n, k = grid.present.shape
    x = np.column_stack([np.ones(n * k), np.tile(grid.levels, n)])
    return coefficient(x, grid.present.ravel(), [np.repeat(grid.identity, k)], 1, level=level)


def _aligned(grid: Grid, other: Grid) -> tuple[Grid, Grid]:
    if not np.array_equal(grid.levels, other.levels):
        raise TableError(
            f"{grid.quantity}: the arms have different edit strengths, {grid.levels} and {other.levels}",
            fix="Make all arms with the same strengths.",
        )
    place = pd.Index(other.parents).get_indexer(pd.Index(grid.parents))
    mine = np.flatnonzero(place >= 0)
    if len(mine) < 2:
        raise TableError(
            f"{grid.quantity}: {len(mine)} of {len(grid.parents)} images are in both arms", fix="Two are needed."
        )
    codes = pd.factorize(grid.identity[mine])[0].astype(np.int64)
    parents = [grid.parents[index] for index in mine]
    return (
        Grid(grid.quantity, grid.levels, grid.present[mine], parents, codes),
        Grid(grid.quantity, grid.levels, other.present[place[mine]], parents, codes),
    )


def _excess(grid: Grid, other: Grid, level: float, arm: str) -> dict[str, object]:
    columns = np.column_stack([grid.columns, other.columns])
    width = len(grid.levels) + 1
    rare = grid.rare or other.rare
    weights = grid.levels - grid.levels.mean()

    def rate_slope(total: Floats) -> Floats:
        slope: Floats = total[..., :-1] @ weights / total[..., -1] / (weights @ weights)
        return slope

    (_, first), (_, second) = (("", rate_slope),) * 2 if rare else (slope_of(grid), slope_of(other))

    def apart(total: Floats) -> Floats:
        return first(total[..., :width]) - second(total[..., width:])

    found = jackknife(columns, apart, [grid.identity], level=level, dof=known(grid, other))
    method = remarked(f"jackknife by identity, less {arm}", "rare: slopes of plain rates" if rare else "")
    n = len(grid.present)
    return row(grid.quantity, "slope_excess", "counterfactual", arm, found, level=level, n=n, method=method)
