"""Orientation of scores: likewise reads scores as distances, small for one person and large for two.

A file of *similarities* read as distances reverses every finding silently, because genuine trials then lie farther
apart than impostors. The area under the ROC shows it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import stats

from likewise.errors import InputError
from likewise.tables import Ratings, Trials
from likewise.tables.checks import among

Floats = npt.NDArray[np.float64]
REVERSED = 0.4  # an AUC below this is not a weak recognizer but a reversed score
_ENOUGH = 10  # trials of each kind from which the AUC is looked at


def orientation(ratings: Ratings, trials: Trials) -> dict[str, float]:
    """Return for each rater the chance that a genuine trial has the smaller distance than an impostor trial (AUC).

    Examples
    --------
    >>> from likewise.simulation.system_ratings import VerificationTrials
    >>> ratings, trials, *_ = VerificationTrials(40, seed=0).tables()
    >>> orientation(ratings, trials)["simulated"] > 0.9
    True
    """
    same = trials.frame.set_index("trial")["same"].astype(bool)
    frame = ratings.frame.dropna(subset=["value"])
    frame = frame[among(frame["unit"], same.index)]
    found = {}
    for rater, part in frame.groupby("rater", sort=True):
        genuine = part["unit"].map(same).to_numpy(dtype=bool)
        value = part["value"].to_numpy(dtype=np.float64)
        found[str(rater)] = _auc(value[genuine], value[~genuine])
    return found


def check_orientation(genuine: Floats, impostor: Floats, quantity: str) -> None:
    """Refuse distances under which genuine trials lie farther apart than impostor trials."""
    near, far = (values[np.isfinite(values)] for values in (genuine, impostor))
    if min(len(near), len(far)) < _ENOUGH:
        return
    auc = _auc(near, far)
    if auc < REVERSED:
        problem = f"{quantity}: genuine trials lie farther apart than impostor trials (AUC {auc:.2f})"
        raise InputError(problem, fix="The scores are similarities: give distances, e.g. 1 - similarity.")


def _auc(near: Floats, far: Floats) -> float:
    if not len(near) or not len(far):
        return float("nan")
    return float(stats.mannwhitneyu(far, near).statistic) / (len(near) * len(far))
