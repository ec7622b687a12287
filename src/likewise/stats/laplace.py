"""Laplace's approximation to the likelihood of a logit with two crossed random intercepts, and its exact gradient.

The random effects (u, v) are integrated out around their modes. There the second derivative is [[A, C], [C', D]] with
A and D diagonal, so everything goes through one dense matrix over the second kind (raters, say, or whichever are
fewer), the Schur complement S = D - C' A^-1 C. The log determinant moves with the modes, and the gradient counts that
too (one more solve, by the implicit function theorem).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_array
from scipy.special import expit

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
_BLOCK = 2_000_000  # numbers of images x raters that are held at once


class Laplace:
    """Minus the approximate log likelihood; the last modes are kept as a warm start."""

    def __init__(self, x: Floats, y: Floats, image: Codes, rater: Codes) -> None:
        self.x, self.y, self.image, self.rater = x, y, image, rater
        self.shape = (int(image.max()) + 1, int(rater.max()) + 1)
        self.u, self.v = np.zeros(self.shape[0]), np.zeros(self.shape[1])
        cells, self.cell = np.unique(image * self.shape[1] + rater, return_inverse=True)
        self.rows, self.columns = np.divmod(cells, self.shape[1])
        self.starts = np.searchsorted(self.rows, np.arange(self.shape[0] + 1))

    def loss(self, theta: Floats) -> tuple[float, Floats]:
        """Return minus the log likelihood at (beta, log s, log t), and its gradient."""
        s, t = (float(spread) for spread in np.exp(theta[-2:]))
        fixed = self.x @ theta[:-2]
        height, chance, hessian = self._mode(fixed, s, t)
        return hessian.log_det / 2 - height, self._gradient(s, t, chance, hessian)

    def _mode(self, fixed: Floats, s: float, t: float) -> tuple[float, Floats, _Hessian]:
        """Find the mode of the random effects by Newton's method: the log likelihood, chances and Hessian there."""
        height = self._height(fixed, s, t, self.u, self.v)
        for _ in range(100):
            chance = expit(fixed + s * self.u[self.image] + t * self.v[self.rater])
            left, right = self._by_effect(self.y - chance, s, t)
            hessian = self._hessian(chance * (1 - chance), s, t)
            steps = hessian.solve(left - self.u, right - self.v)
            if max(np.abs(step).max() for step in steps) < 1e-9:
                break
            height = self._newton_step(fixed, s, t, height, *steps)
        return height, chance, hessian

    def _newton_step(self, fixed: Floats, s: float, t: float, height: float, step_u: Floats, step_v: Floats) -> float:
        """Go the Newton step, or half of it, or a quarter ..., whichever first does not lead downhill."""
        slack = 1e-12 * abs(height)  # rounding near the top must not pass for a way down
        for halvings in range(30):
            share = 0.5**halvings
            u, v = self.u + share * step_u, self.v + share * step_v
            higher = self._height(fixed, s, t, u, v)
            if higher >= height - slack:
                self.u, self.v = u, v
                return higher
        return height

    def _height(self, fixed: Floats, s: float, t: float, u: Floats, v: Floats) -> float:
        eta = fixed + s * u[self.image] + t * v[self.rater]
        return float((self.y * eta - np.logaddexp(0, eta)).sum() - (u @ u + v @ v) / 2)

    def _by_effect(self, values: Floats, s: float, t: float) -> tuple[Floats, Floats]:
        """Sum over the answers that each image's and each rater's random effect bears on."""
        sizes = zip((s, t), (self.image, self.rater), self.shape, strict=True)
        left, right = (spread * np.bincount(codes, values, size).astype(np.float64) for spread, codes, size in sizes)
        return left, right

    def _hessian(self, w: Floats, s: float, t: float) -> _Hessian:
        a, d = (1 + spread * total for spread, total in zip((s, t), self._by_effect(w, s, t), strict=True))
        c = s * t * np.bincount(self.cell, w, len(self.rows))
        scaled = csr_array((c / np.sqrt(a)[self.rows], self.columns, self.starts), shape=self.shape)
        schur = cho_factor(np.diag(d) - (scaled.T @ scaled).toarray())
        return _Hessian(a, scaled, schur, float(np.log(a).sum() + 2 * np.log(np.diag(schur[0])).sum()))

    def _gradient(self, s: float, t: float, chance: Floats, hessian: _Hessian) -> Floats:
        w = chance * (1 - chance)
        moves = np.column_stack([self.x, s * self.u[self.image], t * self.v[self.rater]])  # d log odds / d theta
        by_image, by_cell, by_rater = hessian.inverse_at(self.rows, self.columns)
        doubt = s * s * by_image[self.image] + 2 * s * t * by_cell[self.cell] + t * t * by_rater[self.rater]
        push = w * (1 - 2 * chance) * doubt  # d log det / d log odds
        m, k = hessian.solve(*self._by_effect(push, s, t))
        followed = w * (s * m[self.image] + t * k[self.rater])  # what the modes' own move takes back
        gradient: Floats = moves.T @ ((push - followed) / 2 - (self.y - chance))
        gradient[-2] += self.shape[0] - by_image.sum() + m @ self.u / 2
        gradient[-1] += self.shape[1] - by_rater.sum() + k @ self.v / 2
        return gradient


@dataclass(frozen=True)
class _Hessian:
    """Minus the second derivative at the random effects, [[A, C], [C', D]], factorized."""

    a: Floats
    scaled: csr_array
    """A^-1/2 C, which has a cell for each image and rater that met."""
    schur: Any
    """Cholesky's factor of D - C' A^-1 C."""
    log_det: float

    def solve(self, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Solve for one right-hand side."""
        root = np.sqrt(self.a)
        v = cho_solve(self.schur, right - self.scaled.T @ (left / root))
        return (left / root - self.scaled @ v) / root, v

    def inverse_at(self, rows: Codes, columns: Codes) -> tuple[Floats, Floats, Floats]:
        """Return the inverse where it is needed: on its diagonal, and in the cells of image and rater."""
        inverse = cho_solve(self.schur, np.eye(self.scaled.shape[1]))
        seen = np.empty(len(rows))
        each = max(1, _BLOCK // len(inverse))
        for start in range(0, self.scaled.shape[0], each):
            block = self.scaled[start : start + each] @ inverse
            here = slice(*np.searchsorted(rows, [start, start + each]))
            seen[here] = block[rows[here] - start, columns[here]]
        by_image = (1 + np.bincount(rows, seen * self.scaled.data, len(self.a))) / self.a
        return by_image, -seen / np.sqrt(self.a)[rows], np.diag(inverse)
