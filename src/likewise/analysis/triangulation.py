"""Triangulation: matched pairs and counterfactual edits, on one scale, and whether they agree.

Matched pairs compare an identity with a partner of the other group. Edits change the attribute in the identity's own
images and compare the answers at edit strengths +1 and -1. Both estimate what the attribute itself does to the mean
answer, for identities that may differ (those with a partner; those that were edited), under different assumptions:
matched partners may differ in unmeasured ways, and edits may change what is associated with the attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from likewise.analysis.gaps.rating_arrays import RatingArrays, rating_arrays
from likewise.analysis.rating_table import RatingTable
from likewise.errors import TableError
from likewise.stats.intervals import bare
from likewise.stats.jackknife import Codes, Statistic, covariance, jackknife
from likewise.tables import Contrast, Estimates, Images, Matches, Ratings, Trials
from likewise.tables.checks import among
from likewise.tables.estimates import row

Floats = npt.NDArray[np.float64]
ENDS = (-1.0, 1.0)
MADE, BETWEEN = "counterfactual", "matched - counterfactual"


def edited_gaps(
    ratings: Ratings, trials: Trials | None, edited: Images, contrast: Contrast, *, level: float = 0.95
) -> Estimates:
    """Estimate how much the mean answer to a trial changes when both its images are edited from strength -1 to +1.

    ``trials`` are of counterfactual images (``edited``), both at one strength; without trials the answers are about the
    images themselves (a classifier's labels). Intervals leave out one identity at a time.
    """
    rows = []
    for quantity, changes in _changes(ratings, trials, edited):
        codes = pd.factorize(changes["identity"])[0].astype(np.int64)
        found = jackknife(_columns(changes), _ratio, [codes], level=level)
        method = "jackknife by identity"
        rows.append(row(quantity, "gap", MADE, contrast.label, found, level=level, n=len(changes), method=method))
    return Estimates.of(rows)


def compare_approaches(
    ratings: Ratings,
    trials: Trials | None,
    images: Images,
    contrast: Contrast,
    *,
    pairs: Matches,
    edited_trials: Trials | None,
    edited: Images,
    covariates: Sequence[str] = (),
    level: float = 0.95,
) -> Estimates:
    """Estimate the difference between the matched gap and the change under edits, with its p-value.

    Without trials the answers are about the images themselves. The matched gap is the adjusted one where there are
    covariates. Both rest partly on the same identities, so their covariance is estimated jointly, leaving
    out what pairs link.
    """
    changes = dict(_changes(ratings, edited_trials, edited))
    own = Ratings(ratings.frame[among(ratings.frame["unit"], images.keys if trials is None else trials.keys)])
    rows: list[dict[str, object]] = []
    for sheet in rating_arrays(RatingTable(own, trials, images, contrast), pairs, covariates):
        if sheet.quantity in changes:
            rows += _compared(sheet, changes[sheet.quantity], level)
    return Estimates.of(rows)


def standardized_gaps(estimates: Estimates, ratings: Ratings, trials: Trials, *, panel: str | None = None) -> Estimates:
    """Return every gap in standard deviations of the answers to the same question, taken as known.

    So a distance and a share of answers can stand side by side. The deviation is of single answers on all trials.
    """
    frame = ratings.frame[among(ratings.frame["unit"], trials.keys)]
    name = (frame["rater"] if panel is None else panel) + ": " + frame["question"]
    spread = frame.groupby(name)["value"].std()
    gaps = estimates.frame
    gaps = gaps[gaps["stat"].isin(["gap", "adjusted_gap"]) & gaps["quantity"].isin(spread[spread > 0].index)]
    unit = gaps["quantity"].map(spread)
    scaled = gaps.assign(**{end: gaps[end] / unit for end in ("estimate", "low", "high")})
    stat = gaps["stat"].map({"gap": "gap_in_sd", "adjusted_gap": "adjusted_gap_in_sd"})
    return Estimates(scaled.assign(stat=stat, method=gaps["method"] + ", in sd of the answers"))


def _changes(ratings: Ratings, trials: Trials | None, edited: Images) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield for each quantity the change from -1 to +1 of every trial (or image) that was answered at both."""
    rated = ratings.frame.dropna(subset=["value"]).merge(
        _edit_strengths(trials, edited), left_on="unit", right_index=True
    )
    for quantity, part in rated.groupby(rated["rater"] + ": " + rated["question"], sort=True):
        wide = part.pivot(index=["who", "identity"], columns="level", values="value")
        if set(ENDS) <= set(wide.columns):
            both = wide.dropna(subset=list(ENDS))
            change = (both[ENDS[1]] - both[ENDS[0]]).rename("change").reset_index()
            if len(change["identity"].unique()) > 1:
                yield str(quantity), change


def _edit_strengths(trials: Trials | None, edited: Images) -> pd.DataFrame:
    """Return by unit its edit strength, its identity and the images that were edited."""
    edits = edited.frame.set_index("image")
    if trials is None:
        return edits[["level", "identity"]].assign(who=edits["parent"])
    frame = trials.frame.set_index("trial")
    a, b = (edits.loc[frame[end]].set_index(frame.index) for end in ("a", "b"))
    if not (a["level"] == b["level"]).all():
        raise TableError(
            "A counterfactual trial has images at two edit strengths", fix="Edit both to the same strength."
        )
    return a[["level", "identity"]].assign(who=a["parent"] + "|" + b["parent"])


def _columns(changes: pd.DataFrame) -> Floats:
    return np.column_stack([np.ones(len(changes)), changes["change"].to_numpy()])


def _ratio(total: Floats) -> Floats:
    mean: Floats = total[..., 1] / total[..., 0]
    return mean


def _compared(sheet: RatingArrays, changes: pd.DataFrame, level: float) -> list[dict[str, object]]:
    """Return the rows of matched gap less counterfactual change: the difference, and p of its being zero."""
    joined, statistic, codes = _joined(sheet, changes)
    clusters = min(sheet.pairs, len(changes["identity"].unique()))
    found = jackknife(joined, statistic, [codes], level=level, clusters=clusters)
    variance = float(covariance(joined, lambda total: statistic(total)[..., None], [codes])[0, 0])
    p = 2 * float(stats.t.sf(abs(found.estimate) / variance**0.5, clusters - 1)) if variance > 0 else 1.0
    n, label = int((sheet.matched > 0).sum()) + len(changes), sheet.contrast.label
    return [
        row(sheet.quantity, stat, BETWEEN, label, value, level=level, n=n, method="jackknife by pair, jointly")
        for stat, value in (("design_difference", found), ("agreement_p", bare(p, clusters)))
    ]


def _joined(sheet: RatingArrays, changes: pd.DataFrame) -> tuple[Floats, Statistic, Codes]:
    """Stack the rows of both approaches, each with columns of its own, in clusters that both share."""
    columns, alike = sheet.matched_statistic()
    made = _columns(changes)
    joined = np.zeros((len(columns) + len(made), columns.shape[1] + 2))
    joined[: len(columns), :-2], joined[len(columns) :, -2:] = columns, made
    bound = pd.Series(sheet.linked, index=sheet.people[sheet.identity]).groupby(level=0).first()
    alone = int(sheet.linked.max()) + 1 + pd.factorize(changes["identity"])[0]  # identities in the sweep only
    known = bound.reindex(changes["identity"]).to_numpy(dtype=np.float64)
    codes = np.r_[sheet.linked, np.where(np.isnan(known), alone, known).astype(np.int64)]

    def statistic(total: Floats) -> Floats:
        apart: Floats = alike(total[..., :-2]) - _ratio(total[..., -2:])
        return apart

    return joined, statistic, pd.factorize(codes)[0].astype(np.int64)
