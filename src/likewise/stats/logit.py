"""A logistic regression whose intervals respect clusters: GEE with independence as working correlation.

The coefficients are those of ordinary logistic regression (they describe the population, not one face or one person);
the covariance is the sandwich over cluster sums of scores, times G / (G - 1). Crossed clusterings (people x faces)
combine as V_1 + V_2 - V_12. Coefficients are estimated by Newton's method; a fit that runs away, because one side has
only yes or only no, does not exist and is returned as None. What can be said then is ``firth``'s estimate: the mode
under Jeffreys' prior, which always exists (Heinze and Schemper 2002). It has no interval here, because scores that are
all but zero make a sandwich that is all but zero, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.special import expit

from likewise.stats.dof import cluster_dof
from likewise.stats.intervals import Interval, bare
from likewise.stats.jackknife import totals

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
_FAR = 12.0  # log odds beyond which a rate is numerically 0 or 1
SEPARATED = "separated: Firth's estimate, no interval"


@dataclass(frozen=True)
class Fit:
    """Coefficients ``[k]``, their covariance ``[k, k]``, the number of clusters and the degrees of freedom."""

    beta: Floats
    covariance: Floats
    clusters: int
    dof: float

    def interval(self, k: int, *, level: float) -> Interval:
        """Return the interval of one coefficient, Student's t with G* - 1 degrees of freedom (see ``dof``)."""
        half = float(stats.t.ppf((1 + level) / 2, self.dof)) * float(self.covariance[k, k]) ** 0.5
        value = float(self.beta[k])
        return Interval(value, value - half, value + half, self.clusters)

    def p(self, k: int) -> float:
        """Return the two-sided p of one coefficient being zero."""
        spread = float(self.covariance[k, k]) ** 0.5
        return float(2 * stats.t.sf(abs(self.beta[k]) / spread, self.dof)) if spread > 0 else 1.0


def fit_logit(x: Floats, y: Floats, clusterings: Sequence[Codes]) -> Fit | None:
    """Fit y in {0, 1} on ``x [n, k]`` (with its own column of ones); None when the fit does not exist."""
    beta = np.zeros(x.shape[1])
    for _ in range(50):
        chance = expit(x @ beta)
        gram = x.T @ (x * (chance * (1 - chance))[:, None])
        if np.linalg.matrix_rank(gram, tol=1e-10 * max(float(np.trace(gram)), 1e-300)) < len(beta):
            return None
        step = np.linalg.solve(gram, x.T @ (y - chance))
        beta = beta + step
        if np.abs(x @ beta).max() > _FAR:
            return None
        if np.abs(step).max() < 1e-10:
            break
    bread = np.linalg.inv(gram)
    scores = x * (y - expit(x @ beta))[:, None]
    counts = [int(codes.max()) + 1 for codes in clusterings]
    return Fit(beta, bread @ _meat(scores, clusterings) @ bread, min(counts), cluster_dof(clusterings))


def firth(x: Floats, y: Floats) -> Floats:
    """Return the coefficients ``[k]`` under Jeffreys' prior, which exist also when the answers are separated.

    The score of an answer is moved by its leverage h: y - p + h (1/2 - p). Columns of ``x`` are independent.
    """
    beta = np.zeros(x.shape[1])
    for _ in range(200):
        chance = expit(x @ beta)
        weight = chance * (1 - chance)
        inverse = np.linalg.inv(x.T @ (x * weight[:, None]))
        leverage = weight * np.einsum("ij,jk,ik->i", x, inverse, x)
        step = inverse @ x.T @ (y - chance + leverage * (0.5 - chance))
        beta = beta + step * min(1.0, 1.0 / max(float(np.abs(x @ step).max()), 1e-300))  # one log odds at a time
        if np.abs(step).max() < 1e-10:
            break
    return beta


def coefficient(x: Floats, y: Floats, clusterings: Sequence[Codes], k: int, *, level: float) -> tuple[Interval, str]:
    """Return one coefficient with its interval, or without one and a word why: nothing is left out silently."""
    fitted = fit_logit(x, y, clusterings)
    if fitted is not None:
        return fitted.interval(k, level=level), ""
    return bare(float(firth(x, y)[k]), min(int(codes.max()) + 1 for codes in clusterings)), SEPARATED


def _meat(scores: Floats, clusterings: Sequence[Codes]) -> Floats:
    parts = [_squares(scores, codes) for codes in clusterings]
    if len(parts) == 1:
        return parts[0]
    cells = np.unique(clusterings[0] * (clusterings[1].max() + 1) + clusterings[1], return_inverse=True)[1]
    both = parts[0] + parts[1] - _squares(scores, cells.astype(np.int64))
    return max([*parts, both], key=lambda part: float(np.trace(part)))


def _squares(scores: Floats, codes: Codes) -> Floats:
    sums = totals(scores, codes)
    squares: Floats = sums.T @ sums * (len(sums) / (len(sums) - 1))
    return squares
