"""Weights instead of matching: entropy balancing and overlap weights. Both balance all covariates exactly.

Entropy balancing (Hainmueller 2012) gives the reference units the weights closest to the starting ones under which the
means of all covariates are those of the focal units: the estimand is the ATT. Overlap weights (Li, Morgan and Zaslavsky
2018) are 1 - p for focal and p for reference units, with p of a logistic regression without penalty, whose score
equations make the weighted means equal: the estimand is the ATO, people who could be in either group. Every identity
starts with a weight of 1, divided among its units, as in the unmatched and the matched estimates. Nothing is discarded;
where the groups overlap little, few units carry all the weight, and the effective size reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from likewise.design.balance.table import described_units
from likewise.errors import SpecError
from likewise.tables import Contrast, Images, Trials, Vectors

STEEPEST = 100.0  # log weight per standard deviation
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Units:
    """Covariates of the units ``[n, k]``, in standard deviations, their side and their starting weights."""

    names: pd.Index
    x: Floats
    focal: npt.NDArray[np.bool_]
    start: Floats

    def check(self, weights: Floats) -> pd.Series:
        """Return the weights by unit if they balance the groups."""
        means = [weights[side] @ self.x[side] / weights[side].sum() for side in (self.focal, ~self.focal)]
        if not np.abs(means[0] - means[1]).max(initial=0.0) < 1e-4:
            fix = "Use fewer covariates, or cardinality matching."
            raise SpecError("No weights balance the groups: they overlap too little", fix=fix)
        return pd.Series(weights, index=self.names, name="weight")


def entropy_weights(
    images: Images,
    contrast: Contrast,
    *,
    covariates: Sequence[str] = (),
    units: Trials | None = None,
    vectors: Vectors | None = None,
) -> pd.Series:
    """Return weights by unit: reference units get such that their means are the focal ones.

    Parameters
    ----------
    images, contrast, covariates, units, vectors
        As in ``balance``: what is balanced, of images or of trials. Units with an empty cell have no weight.

    Raises
    ------
    SpecError
        If no weights balance the groups: the focal means lie outside the range of the reference units.

    Examples
    --------
    >>> import pandas as pd, likewise as lw
    >>> from likewise.design.balance.weighting import entropy_weights
    >>> rows = {"image": list("1234"), "identity": list("abcd"), "sex": list("FMMM"), "age": [30, 20, 30, 50]}
    >>> found = entropy_weights(lw.Images(pd.DataFrame(rows)), lw.Contrast("sex", "F", "M"), covariates=["age"])
    >>> round(float((found[["2", "3", "4"]] * [20, 30, 50]).sum() / found[["2", "3", "4"]].sum()), 3)
    30.0
    """
    made = _units(images, contrast, covariates, units, vectors)
    own, focal = made.start, made.focal
    apart = made.x[~focal] - own[focal] @ made.x[focal] / own[focal].sum()  # [n, k]
    log = np.log(own[~focal])

    def dual(slopes: Floats) -> tuple[float, Floats]:
        heights = log + apart @ slopes
        total = logsumexp(heights)
        return float(total), np.exp(heights - total) @ apart

    heights = log + apart @ _minimum(dual, apart.shape[1])
    weights = own.copy()
    weights[~focal] = np.exp(heights - logsumexp(heights)) * own[focal].sum()
    return made.check(weights)


def overlap_weights(
    images: Images,
    contrast: Contrast,
    *,
    covariates: Sequence[str] = (),
    units: Trials | None = None,
    vectors: Vectors | None = None,
) -> pd.Series:
    """Return weights by unit: 1 - p for focal units, p for reference units, p the probability of the focal group.

    Arguments and errors are those of ``entropy_weights``.

    Examples
    --------
    >>> import pandas as pd, likewise as lw
    >>> from likewise.design.balance.weighting import overlap_weights
    >>> rows = {"image": list("1234"), "identity": list("abcd"), "sex": list("FFMM"), "age": [30, 50, 20, 40]}
    >>> found = overlap_weights(lw.Images(pd.DataFrame(rows)), lw.Contrast("sex", "F", "M"), covariates=["age"])
    >>> [round(float((found[list(keys)] * ages).sum() / found[list(keys)].sum()), 2)
    ...  for keys, ages in (("12", [30, 50]), ("34", [20, 40]))]
    [35.0, 35.0]
    """
    made = _units(images, contrast, covariates, units, vectors)
    design = np.column_stack([np.ones(len(made.x)), made.x])
    sign = np.where(made.focal, 1.0, -1.0)

    def loss(slopes: Floats) -> tuple[float, Floats]:
        margin = sign * (design @ slopes)
        pull = made.start * expit(-margin)
        return float(made.start @ np.logaddexp(0, -margin)), -(sign * pull) @ design

    chance = expit(design @ _minimum(loss, design.shape[1]))
    return made.check(made.start * np.where(made.focal, 1 - chance, chance))


def _units(
    images: Images,
    contrast: Contrast,
    covariates: Sequence[str],
    units: Trials | None,
    vectors: Vectors | None,
) -> _Units:
    shown, columns = described_units(images, contrast, covariates, units, vectors)
    table = pd.DataFrame(columns).dropna()
    side = contrast.side(shown).loc[table.index]
    table, side = table[side != 0], side[side != 0]
    if not (side == 1).any() or not (side == -1).any():
        raise SpecError("A group has no unit with all covariates", fix="Name fewer covariates.")
    people = shown.identities.loc[table.index]
    x = table.to_numpy(dtype=np.float64)
    spread = x.std(axis=0)
    scaled = (x - x.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    return _Units(table.index, scaled, (side == 1).to_numpy(), 1 / people.map(people.value_counts()).to_numpy(float))


def _minimum(function: Callable[[Floats], tuple[float, Floats]], count: int) -> Floats:
    limits = [(-STEEPEST, STEEPEST)] * count  # without overlap the slopes grow without end
    options: Any = {"gtol": 1e-9, "ftol": 1e-15, "maxiter": 5000, "maxfun": 20000}
    found = minimize(function, np.zeros(count), jac=True, method="L-BFGS-B", bounds=limits, options=options)
    return np.asarray(found.x)
