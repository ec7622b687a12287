"""A mixed logit with crossed random intercepts: every image and every rater has a lean of its own.

    log odds = x beta + s_1 u[image] + s_2 v[rater],     u, v standard normal

The marginal likelihood is Laplace's approximation, maximised over beta, log s_1 and log s_2; the covariance is the
inverse of its curvature there. Coefficients speak of one image and one rater, so they lie further from zero than those
of ``logit``, which speak of the population. With few answers an image the approximation draws the spreads down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize
from scipy.sparse import csr_array
from scipy.special import expit

from likewise.analyse.logit import Fit

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
_NONE = -5.0  # log of a spread that is as good as none
_FAR = 12.0


@dataclass(frozen=True)
class MixedFit(Fit):
    """Coefficients with their covariance, and the spreads of images and raters (log odds)."""

    spreads: tuple[float, float]


def fit_mixed_logit(x: Floats, y: Floats, image: Codes, rater: Codes) -> MixedFit | None:
    """Fit y in {0, 1} on ``x [n, k]`` with intercepts by image and rater; None when the fit does not exist."""
    k, problem = x.shape[1], _Laplace(x, y, image, rater)
    start = np.r_[np.zeros(k), np.log([0.5, 0.5])]
    limits = [(-_FAR, _FAR)] * k + [(_NONE, 2.0)] * 2
    # Steps of 1e-5 for the slopes: the modes are found to about 1e-9, so shorter ones would measure noise.
    options: Any = {"eps": 1e-5, "ftol": 1e-12, "gtol": 1e-4}
    found = optimize.minimize(problem.loss, start, method="L-BFGS-B", bounds=limits, options=options)
    theta: Floats = found.x
    if np.abs(theta[:k]).max() > _FAR - 0.1:
        return None
    free = np.r_[np.ones(k, dtype=bool), np.exp(theta[k:]) > 0.1]  # the likelihood is flat where a spread is none
    curvature = _curvature(problem, theta)[np.ix_(free, free)]
    covariance = np.linalg.inv(curvature)[:k, :k]
    if not (np.diag(covariance) > 0).all():
        return None
    spreads = (float(np.exp(theta[k])), float(np.exp(theta[k + 1])))
    clusters = min(int(codes.max()) + 1 for codes in (image, rater))
    return MixedFit(theta[:k], covariance, clusters, spreads)


class _Laplace:
    """Minus the approximate log likelihood, with the last modes kept as a warm start."""

    def __init__(self, x: Floats, y: Floats, image: Codes, rater: Codes) -> None:
        self.x, self.y, self.image, self.rater = x, y, image, rater
        self.shape = (int(image.max()) + 1, int(rater.max()) + 1)
        self.u, self.v = np.zeros(self.shape[0]), np.zeros(self.shape[1])

    def loss(self, theta: Floats) -> float:
        """Return minus the log likelihood at (beta, log s_1, log s_2)."""
        s, t = (float(spread) for spread in np.exp(theta[-2:]))
        fixed = self.x @ theta[:-2]
        height = self._height(fixed, s, t, self.u, self.v)
        for _ in range(100):
            chance = expit(fixed + s * self.u[self.image] + t * self.v[self.rater])
            left = s * np.bincount(self.image, self.y - chance, self.shape[0]) - self.u
            right = t * np.bincount(self.rater, self.y - chance, self.shape[1]) - self.v
            step_u, step_v, log_det = self._solve(chance * (1 - chance), s, t, left, right)
            if max(np.abs(step_u).max(), np.abs(step_v).max()) < 1e-9:
                break
            height = self._climb(fixed, s, t, height, step_u, step_v)
        return log_det / 2 - height

    def _climb(self, fixed: Floats, s: float, t: float, height: float, step_u: Floats, step_v: Floats) -> float:
        """Go the Newton step, or half of it, or a quarter ..., whichever first leads uphill."""
        for halvings in range(30):
            share = 0.5**halvings
            u, v = self.u + share * step_u, self.v + share * step_v
            higher = self._height(fixed, s, t, u, v)
            if higher >= height:
                self.u, self.v = u, v
                return higher
        return height

    def _height(self, fixed: Floats, s: float, t: float, u: Floats, v: Floats) -> float:
        eta = fixed + s * u[self.image] + t * v[self.rater]
        return float((self.y * eta - np.logaddexp(0, eta)).sum() - (u @ u + v @ v) / 2)

    def _solve(self, w: Floats, s: float, t: float, left: Floats, right: Floats) -> tuple[Floats, Floats, float]:
        """Solve the Newton step [[A, C], [C', D]] (A and D diagonal) through the raters' Schur complement."""
        a = 1 + s * s * np.bincount(self.image, w, self.shape[0])
        d = 1 + t * t * np.bincount(self.rater, w, self.shape[1])
        c = csr_array((s * t * w, (self.image, self.rater)), shape=self.shape)
        scaled = csr_array((s * t * w / a[self.image], (self.image, self.rater)), shape=self.shape)
        schur = np.diag(d) - (c.T @ scaled).toarray()
        step_v = np.linalg.solve(schur, right - scaled.T @ left)
        step_u = (left - c @ step_v) / a
        return step_u, step_v, float(np.log(a).sum() + np.linalg.slogdet(schur)[1])


def _curvature(problem: _Laplace, theta: Floats, step: float = 1e-3) -> Floats:
    """Return the matrix of second differences of the loss."""
    p = len(theta)
    unit = np.eye(p) * step
    matrix = np.empty((p, p))
    for i in range(p):
        for j in range(i + 1):
            corners = [problem.loss(theta + a * unit[i] + b * unit[j]) for a in (1, -1) for b in (1, -1)]
            matrix[i, j] = matrix[j, i] = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * step**2)
    return matrix
