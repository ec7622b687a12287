"""legs: what find and make answer to one question, on one scale, and whether they agree.

*Find* compares a person with a look-alike on the other side. *Make* turns the attribute of the person's own pictures
and compares the answers at +1 and -1. Both estimate what the attribute itself does to the mean answer, for people who
may differ (those who have a look-alike; those who were edited), by means that may fail differently: look-alikes are not
twins, and edits carry along what goes with the attribute. Where the two agree, one need not trust either alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from likewise.analyse.asked import Asked
from likewise.analyse.gaps import Sheet, sheets
from likewise.analyse.resample import Codes, Statistic, covariance, jackknife
from likewise.analyse.rows import bare, row
from likewise.errors import TableError
from likewise.tables import Contrast, Estimates, Faces, Pairs, Ratings

Floats = npt.NDArray[np.float64]
ENDS = (-1.0, 1.0)
MADE, BETWEEN = "counterfactual", "matched - counterfactual"


def turned_gaps(
    ratings: Ratings, trials: Pairs | None, turned: Faces, contrast: Contrast, *, level: float = 0.95
) -> Estimates:
    """Estimate how much the mean answer to a trial changes when both its pictures are turned from -1 to +1.

    ``trials`` are of counterfactual faces (``turned``), both at one level; without trials the answers are about the
    faces themselves (a classifier's labels). Intervals leave out one identity at a time.
    """
    rows = []
    for quantity, changes in _changes(ratings, trials, turned):
        codes = pd.factorize(changes["identity"])[0].astype(np.int64)
        found = jackknife(_columns(changes), _ratio, [codes], level=level)
        method = "jackknife by identity"
        rows.append(row(quantity, "gap", MADE, contrast.label, found, level=level, n=len(changes), method=method))
    return Estimates.of(rows)


def agreement_of_legs(
    ratings: Ratings,
    trials: Pairs | None,
    faces: Faces,
    contrast: Contrast,
    *,
    pairs: Pairs,
    turned_trials: Pairs | None,
    turned: Faces,
    covariates: Sequence[str] = (),
    level: float = 0.95,
) -> Estimates:
    """Estimate by how much the two legs differ, with p of their being equal.

    Without trials the answers are about the faces themselves. The matched gap is the adjusted one where there are
    covariates. Both legs rest partly on the same people, so their covariance is estimated jointly, leaving out what
    pairs bind together.
    """
    changes = dict(_changes(ratings, turned_trials, turned))
    own = Ratings(ratings.frame[ratings.frame["unit"].isin(faces.images if trials is None else trials.frame["pair"])])
    rows: list[dict[str, object]] = []
    for sheet in sheets(Asked(own, trials, faces, contrast), pairs, covariates):
        if sheet.quantity in changes:
            rows += _compared(sheet, changes[sheet.quantity], level)
    return Estimates.of(rows)


def on_one_scale(estimates: Estimates, ratings: Ratings, trials: Pairs, *, panel: str | None = None) -> Estimates:
    """Return every gap in standard deviations of the answers to the same question, taken as known.

    So a distance and a share of answers can stand side by side. The deviation is of single answers on all trials.
    """
    frame = ratings.frame[ratings.frame["unit"].isin(trials.frame["pair"])]
    name = (frame["rater"] if panel is None else panel) + ": " + frame["question"]
    spread = frame.groupby(name)["value"].std()
    gaps = estimates.frame
    gaps = gaps[gaps["stat"].isin(["gap", "adjusted_gap"]) & gaps["quantity"].isin(spread[spread > 0].index)]
    unit = gaps["quantity"].map(spread)
    scaled = gaps.assign(**{end: gaps[end] / unit for end in ("estimate", "low", "high")})
    stat = gaps["stat"].map({"gap": "gap_in_sd", "adjusted_gap": "adjusted_gap_in_sd"})
    return Estimates(scaled.assign(stat=stat, method=gaps["method"] + ", in sd of the answers"))


def _changes(ratings: Ratings, trials: Pairs | None, turned: Faces) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield for each quantity the change from -1 to +1 of every trial (or face) that was answered at both."""
    told = ratings.frame.dropna(subset=["value"]).merge(_stands(trials, turned), left_on="unit", right_index=True)
    for quantity, part in told.groupby(told["rater"] + ": " + told["question"], sort=True):
        wide = part.pivot(index=["who", "identity"], columns="level", values="value")
        if set(ENDS) <= set(wide.columns):
            both = wide.dropna(subset=list(ENDS))
            change = (both[ENDS[1]] - both[ENDS[0]]).rename("change").reset_index()
            if len(change["identity"].unique()) > 1:
                yield str(quantity), change


def _stands(trials: Pairs | None, turned: Faces) -> pd.DataFrame:
    """Return by unit the level at which it stands, the identity it is of, and the pictures that were turned."""
    faces = turned.frame.set_index("image")
    if trials is None:
        return faces[["level", "identity"]].assign(who=faces["parent"])
    frame = trials.frame.set_index("pair")
    a, b = (faces.loc[frame[end]].set_index(frame.index) for end in ("a", "b"))
    if not (a["level"] == b["level"]).all():
        raise TableError("both pictures of a counterfactual trial stand at one level", got="two levels in one trial")
    return a[["level", "identity"]].assign(who=a["parent"] + "|" + b["parent"])


def _columns(changes: pd.DataFrame) -> Floats:
    return np.column_stack([np.ones(len(changes)), changes["change"].to_numpy()])


def _ratio(total: Floats) -> Floats:
    mean: Floats = total[..., 1] / total[..., 0]
    return mean


def _compared(sheet: Sheet, changes: pd.DataFrame, level: float) -> list[dict[str, object]]:
    """Return the rows of matched gap less counterfactual change: the difference, and p of its being zero."""
    joined, statistic, codes = _joined(sheet, changes)
    clusters = min(sheet.pairs, len(changes["identity"].unique()))
    found = jackknife(joined, statistic, [codes], level=level, clusters=clusters)
    variance = float(covariance(joined, lambda total: statistic(total)[..., None], [codes])[0, 0])
    p = 2 * float(stats.t.sf(abs(found.estimate) / variance**0.5, clusters - 1)) if variance > 0 else 1.0
    n, label = int((sheet.matched > 0).sum()) + len(changes), sheet.contrast.label
    return [
        row(sheet.quantity, stat, BETWEEN, label, value, level=level, n=n, method="jackknife by pair, jointly")
        for stat, value in (("leg_difference", found), ("agreement_p", bare(p, clusters)))
    ]


def _joined(sheet: Sheet, changes: pd.DataFrame) -> tuple[Floats, Statistic, Codes]:
    """Put the rows of both legs under one another, each with columns of its own, in clusters that both share."""
    columns, alike = sheet.alike()
    made = _columns(changes)
    joined = np.zeros((len(columns) + len(made), columns.shape[1] + 2))
    joined[: len(columns), :-2], joined[len(columns) :, -2:] = columns, made
    bound = pd.Series(sheet.linked, index=sheet.people[sheet.identity]).groupby(level=0).first()
    alone = int(sheet.linked.max()) + 1 + pd.factorize(changes["identity"])[0]  # somebody who is in the sweep only
    known = bound.reindex(changes["identity"]).to_numpy(dtype=np.float64)
    codes = np.r_[sheet.linked, np.where(np.isnan(known), alone, known).astype(np.int64)]

    def statistic(total: Floats) -> Floats:
        apart: Floats = alike(total[..., :-2]) - _ratio(total[..., -2:])
        return apart

    return joined, statistic, pd.factorize(codes)[0].astype(np.int64)
