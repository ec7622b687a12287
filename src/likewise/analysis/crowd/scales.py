"""scales: answers in steps (not sure, fairly, completely), kept as steps.

The mean of the steps is what papers print; it takes the steps for equal. The superiority does not: it is the chance
that a focal answer is higher than a reference one, ties split, and needs only their order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import SpecError, TableError
from likewise.stats.dof import cluster_dof
from likewise.stats.intervals import Interval, share_interval
from likewise.stats.jackknife import Statistic, covariance, jackknife
from likewise.tables import Contrast, Estimates, Images, Ratings
from likewise.tables.estimates import remarked, row

Floats = npt.NDArray[np.float64]
_BY = "jackknife by image and rater"


def scales(
    ratings: Ratings, images: Images, by: Contrast, *, question: str, column: str = "value", level: float = 0.95
) -> Estimates:
    """Estimate the mean step and the share of each step by group, and the superiority of focal over reference.

    ``column`` is ``"value"``, or ``"confidence"`` for how sure people said they were of their answer.
    """
    if column not in ("value", "confidence"):
        raise SpecError(f"Unknown column {column!r} (known: 'value', 'confidence')")
    frame = _answers(ratings, images, by, question, column)
    steps = np.unique(frame[column])
    if len(steps) < 2:
        raise TableError(f"Answers to {question!r} take {len(steps)} distinct values", fix="A scale needs two.")
    laid = _laid(frame, images, column, steps, level)
    for sign, name in ((1, by.focal), (-1, by.reference)):
        if not (laid.side == sign).any():
            fix = "Check the question's name and the units of the responses."
            raise TableError(f"No answers to {question!r} about {name!r}", fix=fix)
    quantity = f"people: {question}" + (", confidence" if column == "confidence" else "")
    rows = [laid.row(quantity, "superiority", by.label, _superiority, (1, -1))]
    for group, (sign, name) in enumerate(((1, by.focal), (-1, by.reference))):
        rows.append(laid.row(quantity, "mean", str(name), _mean(group, steps), (sign,)))
        rows += [
            laid.row(quantity, "share", f"{name}, step {step:g}", _share(group, k), (sign,))
            for k, step in enumerate(steps)
        ]
    return Estimates.of(rows)


def _answers(ratings: Ratings, images: Images, by: Contrast, question: str, column: str) -> pd.DataFrame:
    """Return the answers about the two groups, with their side."""
    ratings.check_units(images.keys)
    frame = ratings.frame
    if column not in frame.columns:
        raise TableError("Ratings has no column 'confidence'", fix="Collect confidence, or use column='value'.")
    frame = frame.assign(side=frame["unit"].map(by.side(images)))
    return frame[(frame["question"] == question) & frame[column].notna() & (frame["side"] != 0)]


def _laid(frame: pd.DataFrame, images: Images, column: str, steps: Floats, level: float) -> _Laid:
    """Lay the answers out as columns of counts, focal before reference."""
    side = frame["side"].to_numpy()
    hit = frame[column].to_numpy()[:, None] == steps  # [n, S]
    columns = np.concatenate([hit & (side == sign)[:, None] for sign in (1, -1)], axis=1).astype(np.float64)
    names = (frame["unit"].map(images.identities), frame["rater"])
    return _Laid(columns, side, [pd.factorize(each)[0].astype(np.int64) for each in names], level)


@dataclass(frozen=True)
class _Laid:
    """The answers as columns of counts, with the side and the clusters of each row."""

    columns: Floats
    side: npt.NDArray[np.int64]
    codes: list[npt.NDArray[np.int64]]
    level: float

    def row(
        self, quantity: str, stat: str, group: str, function: Statistic, signs: tuple[int, ...]
    ) -> dict[str, object]:
        """Estimate a statistic from the rows of the sides it is about; others are no clusters of it."""
        mine = np.isin(self.side, signs)
        own = [pd.factorize(code[mine])[0].astype(np.int64) for code in self.codes]
        fewest = min(len(np.unique(code[self.side == sign])) for code in self.codes for sign in signs)
        found, word = _interval(stat, self.columns[mine], function, own, self.level, fewest)
        method, n = remarked(_BY, word), int(mine.sum())
        return row(quantity, stat, "all", group, found, level=self.level, n=n, method=method)


def _interval(
    stat: str, columns: Floats, function: Statistic, codes: list[npt.NDArray[np.int64]], level: float, fewest: int
) -> tuple[Interval, str]:
    """Leave out images and raters; a share gets Wilson's interval for its effective sample size."""
    found = jackknife(columns, function, codes, level=level, clusters=fewest)
    if stat != "share":
        return found, ""
    variance = float(covariance(columns, lambda t: function(t)[..., None], codes)[0, 0])
    n = float(columns.sum())
    dof = cluster_dof(codes)
    low, high, word = share_interval(found.estimate, variance, n=n, clusters=found.clusters, level=level, dof=dof)
    return Interval(found.estimate, low, high, found.clusters), word


def _halves(total: Floats) -> tuple[Floats, Floats]:
    half = total.shape[-1] // 2
    return total[..., :half], total[..., half:]


def _mean(group: int, steps: Floats) -> Statistic:
    return lambda total: _halves(total)[group] @ steps / _halves(total)[group].sum(axis=-1)


def _share(group: int, k: int) -> Statistic:
    return lambda total: _halves(total)[group][..., k] / _halves(total)[group].sum(axis=-1)


def _superiority(total: Floats) -> Floats:
    focal, reference = (half / half.sum(axis=-1, keepdims=True) for half in _halves(total))
    below = np.cumsum(reference, axis=-1) - reference / 2
    chance: Floats = (focal * below).sum(axis=-1)
    return chance
