"""Consensus: one answer from those of several raters.

``majority`` counts. ``dawid_skene`` (1979) estimates in turn how likely each answer is for each unit and how each
rater confuses answers, until neither changes; a hundredth of an answer is added to every cell of a confusion table so
that no rater is taken for infallible. ``glad`` and ``mace`` come from the extra ``likewise[crowd]``.
"""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.errors import LikewiseWarning, SpecError, TableError, some
from likewise.tables import Ratings

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
_SMOOTH = 0.01


@dataclass(frozen=True)
class Votes:
    """Answers to one question as codes: which unit, which rater, which value."""

    units: list[str]
    raters: list[str]
    values: Floats
    unit: Codes
    rater: Codes
    value: Codes

    @classmethod
    def of(cls, ratings: Ratings, question: str) -> Votes:
        """Code the answers to a question; no answer is no vote."""
        frame = ratings.frame
        frame = frame[(frame["question"] == question) & frame["value"].notna()]
        if frame.empty:
            known = some(ratings.frame["question"].unique())
            raise TableError(
                f"No answers to the question {question!r} (questions: {known})", fix="Name one of these questions."
            )
        (unit, units), (rater, raters), (value, values) = (
            pd.factorize(frame[name], sort=True) for name in ("unit", "rater", "value")
        )
        codes = [array.astype(np.int64) for array in (unit, rater, value)]
        return cls(units.tolist(), raters.tolist(), values.to_numpy(dtype=np.float64), *codes)

    def without(self, rater: int) -> Votes:
        """Leave out one rater's votes, and the units that only it has seen."""
        keep = self.rater != rater
        unit, left = pd.factorize(self.unit[keep], sort=True)
        units = [self.units[code] for code in left]
        return Votes(units, self.raters, self.values, unit.astype(np.int64), self.rater[keep], self.value[keep])

    def counts(self) -> Floats:
        """Return how often each unit got each value, ``[U, K]``."""
        k = len(self.values)
        return np.bincount(self.unit * k + self.value, minlength=len(self.units) * k).reshape(-1, k).astype(float)

    def table(self, chances: Floats) -> pd.DataFrame:
        """Return chances with their units and values."""
        return pd.DataFrame(chances, index=pd.Index(self.units, name="unit"), columns=pd.Index(self.values))


def majority(votes: Votes) -> pd.DataFrame:
    """Return each unit's share of votes by value; units whose first two tie have no winner and are left out."""
    counts = votes.counts()
    best = np.sort(counts, axis=1)
    clear = best[:, -1] > (best[:, -2] if best.shape[1] > 1 else 0)
    return votes.table(counts / counts.sum(axis=1, keepdims=True))[clear]


def dawid_skene(votes: Votes, *, rounds: int = 10_000, tolerance: float = 1e-6) -> pd.DataFrame:
    """Return each unit's chance of every value, by expectation maximization until it has converged.

    Parameters
    ----------
    votes
        The answers.
    rounds
        The most iterations. If they do not suffice, a ``LikewiseWarning`` says so.
    tolerance
        Converged when no chance moves by more.
    """
    chances = votes.counts()
    chances /= chances.sum(axis=1, keepdims=True)
    for _ in range(rounds):
        fresh = _expected(votes, chances, _confusion(votes, chances))
        moved, chances = float(np.abs(fresh - chances).max()), fresh
        if moved < tolerance:
            return votes.table(chances)
    problem = f"Dawid-Skene has not converged after {rounds:,} iterations (last change {moved:.1e}); raise rounds."
    warnings.warn(problem, LikewiseWarning, stacklevel=2)
    return votes.table(chances)


def _confusion(votes: Votes, chances: Floats) -> Floats:
    """Return log P(rater answers l | truth is k), ``[R, K, K]``."""
    k, raters = len(votes.values), len(votes.raters)
    cell = votes.rater * k + votes.value
    seen = np.stack([np.bincount(cell, weights=chances[votes.unit, t], minlength=raters * k) for t in range(k)])
    smoothed = seen.reshape(k, raters, k).transpose(1, 0, 2) + _SMOOTH
    log: Floats = np.log(smoothed / smoothed.sum(axis=2, keepdims=True))
    return log


def _expected(votes: Votes, chances: Floats, confusion: Floats) -> Floats:
    prior = np.log(np.maximum(chances.mean(axis=0), 1e-12))
    heard = confusion[votes.rater, :, votes.value]  # [n, K]
    sums = np.stack([np.bincount(votes.unit, weights=column, minlength=len(votes.units)) for column in heard.T], axis=1)
    sums += prior
    raised = np.exp(sums - sums.max(axis=1, keepdims=True))
    fresh: Floats = raised / raised.sum(axis=1, keepdims=True)
    return fresh


def crowd_kit(votes: Votes, method: str) -> pd.DataFrame:
    """Return each unit's chances by GLAD or MACE, from crowd-kit."""
    if method not in ("glad", "mace"):
        raise SpecError(f"Unknown method {method!r} (methods: 'glad', 'mace')", fix="Choose one of them.")
    if importlib.util.find_spec("crowdkit") is None:
        raise SpecError(
            f"The package crowd-kit, needed for {method!r}, is not installed", fix="Run: pip install 'likewise[crowd]'."
        )
    frame = pd.DataFrame({"task": votes.unit, "worker": votes.rater, "label": votes.value})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of future pandas versions
        aggregation = importlib.import_module("crowdkit.aggregation")
        model = aggregation.GLAD() if method == "glad" else aggregation.MACE(random_state=0)
        model.fit_predict_proba(frame)
    chances = model.probas_.reindex(index=range(len(votes.units)), columns=range(len(votes.values)), fill_value=0.0)
    return votes.table(chances.to_numpy(dtype=np.float64))
