"""Whether scores are similarities or distances, from genuine and impostor pairs."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import rankdata

from likewise.errors import TableError
from likewise.tables import Images

Measure = Literal["similarity", "distance"]
_CLEAR = 0.1  # of the AUC from one half: a verification system that is worse is of no use to anyone
_SURE = 3.0  # standard errors under exchangeability; pairs share images, so the margin above is needed too
_FEWEST = 5  # genuine pairs, and impostor pairs
_PERCENT = 100.0


@dataclass(frozen=True)
class Separation:
    """How far the scores of genuine and impostor pairs are apart."""

    auc: float
    """The probability that a genuine pair has the higher score; ties count one half."""
    genuine: int
    impostor: int
    medians: tuple[float, float]
    """Of genuine and of impostor pairs."""
    largest: float
    """The largest score."""

    @property
    def direction(self) -> Measure | None:
        """Similarity or distance; None where the pairs do not decide."""
        if min(self.genuine, self.impostor) < _FEWEST:
            return None
        error = sqrt((self.genuine + self.impostor + 1) / (12 * self.genuine * self.impostor))
        if abs(self.auc - 0.5) < max(_CLEAR, _SURE * error):
            return None
        return "similarity" if self.auc > 0.5 else "distance"

    @property
    def scale(self) -> float:
        """The largest similarity that the scale allows: 1, 100 (percent), or the largest one there is.

        Normalized scores can exceed 1 a little, so that only scores of which the genuine ones are mostly above 1 are
        read as percentages.
        """
        if self.largest <= 1 or max(self.medians) <= 1:
            return max(1.0, self.largest)
        return _PERCENT if self.largest <= _PERCENT else float(np.ceil(self.largest))

    def __str__(self) -> str:
        genuine, impostor = self.medians
        return (
            f"median {genuine:.4g} of {self.genuine:,} genuine pairs, {impostor:.4g} of {self.impostor:,} impostor "
            f"pairs; AUC {max(self.auc, 1 - self.auc):.3f}"
        )


def separation(scored: pd.DataFrame, images: Images, value: str = "distance") -> Separation:
    """Compare the scores of genuine pairs with those of impostor pairs; empty scores are left out.

    Parameters
    ----------
    scored : DataFrame
        The columns ``a``, ``b`` and the one named by ``value``, as `read_scores` returns them.
    images : Images
        The table with the identities.
    value : str
        The column of the scores.
    """
    ends = np.sort(scored[["a", "b"]].to_numpy(dtype=str), axis=1)  # a pair that is there from both ends counts once
    scored = scored[~pd.DataFrame(ends).duplicated().to_numpy()]
    whose = images.identities
    same = (scored["a"].map(whose) == scored["b"].map(whose)).to_numpy()
    score = scored[value].to_numpy(dtype=np.float64)
    known = np.isfinite(score)
    genuine, impostor = score[known & same], score[known & ~same]
    medians = tuple(float(np.median(part)) if len(part) else float("nan") for part in (genuine, impostor))
    largest = float(score[known].max()) if known.any() else float("nan")
    return Separation(_auc(genuine, impostor), len(genuine), len(impostor), (medians[0], medians[1]), largest)


def _auc(genuine: npt.NDArray[np.float64], impostor: npt.NDArray[np.float64]) -> float:
    """Return the Mann-Whitney probability of superiority."""
    if not len(genuine) or not len(impostor):
        return float("nan")
    ranks = rankdata(np.concatenate([genuine, impostor]))[: len(genuine)].sum()
    return float((ranks - len(genuine) * (len(genuine) + 1) / 2) / (len(genuine) * len(impostor)))


def need_direction(found: Separation, name: str) -> Measure:
    """Return similarity or distance; raise where genuine and impostor pairs do not decide."""
    if found.direction is not None:
        return found.direction
    if not found.genuine:
        fix = "Check the identity column: no pair is of one identity."
    elif min(found.genuine, found.impostor) < _FEWEST:
        fix = "Say which with --measure similarity or --measure distance."
    else:
        fix = "Check the columns of identity and score; or say which with --measure."
    raise TableError(f"Cannot tell whether the scores of {name!r} are similarities or distances ({found})", fix=fix)


def need_consistent(distances: Separation, name: str, measure: str) -> None:
    """Raise where genuine pairs clearly have the larger distances: the measure is wrong, and every gap is reversed."""
    if distances.direction == "similarity":
        other = "similarity" if measure == "distance" else "distance"
        problem = f"Genuine pairs of {name!r} have larger distances than impostor pairs ({distances})"
        raise TableError(f"{problem}, read as {measure}", fix=f'Set measure = "{other}".')
