"""A mixed logit with crossed random intercepts: every image and every rater has a random effect.

    log odds = x beta + s u[image] + t v[rater],     u, v standard normal

The marginal likelihood is Laplace's approximation, maximized over beta, log s and log t along its exact gradient; the
covariance is the inverse of its curvature there. Coefficients are conditional on image and rater, so they are further
from zero than those of ``logit``, which are marginal. With few answers an image the approximation draws
the spreads down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize

from likewise.stats.dof import cluster_dof
from likewise.stats.laplace import Laplace
from likewise.stats.logit import Fit, fit_logit

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
    plain = fit_logit(x, y, [image])
    if plain is None:
        return None
    many, few = (rater, image) if rater.max() > image.max() else (image, rater)
    k, problem = x.shape[1], Laplace(x, y, many, few)
    start = np.r_[plain.beta, np.log([0.5, 0.5])]
    limits = [(-_FAR, _FAR)] * k + [(_NONE, 2.0)] * 2
    options: Any = {"ftol": 1e-15, "gtol": 1e-6, "maxcor": k + 2}
    found = optimize.minimize(problem.loss, start, jac=True, method="L-BFGS-B", bounds=limits, options=options)
    theta: Floats = found.x
    if np.abs(theta[:k]).max() > _FAR - 0.1:
        return None
    free = np.r_[np.ones(k, dtype=bool), np.exp(theta[k:]) > 0.1]  # the likelihood is flat where a spread is none
    covariance = np.linalg.inv(_curvature(problem, theta)[np.ix_(free, free)])[:k, :k]
    if not (np.diag(covariance) > 0).all():
        return None
    of_many, of_few = (float(spread) for spread in np.exp(theta[k:]))
    return MixedFit(
        theta[:k],
        covariance,
        int(few.max()) + 1,
        cluster_dof([image, rater]),
        (of_few, of_many) if many is rater else (of_many, of_few),
    )


def _curvature(problem: Laplace, theta: Floats, step: float = 1e-4) -> Floats:
    """Return the second derivatives of the loss, by differences of its gradient."""
    moves = np.eye(len(theta)) * step
    columns = [(problem.loss(theta + move)[1] - problem.loss(theta - move)[1]) / (2 * step) for move in moves]
    matrix = np.stack(columns)
    symmetric: Floats = (matrix + matrix.T) / 2
    return symmetric
