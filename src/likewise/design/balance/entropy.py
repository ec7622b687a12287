"""Weights instead of matching: entropy balancing. Overlap weights are ``propensity.score_weights``.

Entropy balancing (Hainmueller 2012) gives the reference units the weights closest to equal ones under which the means
of all covariates are exactly those of the focal units: the estimand is the ATT. Nothing is discarded; where the groups
overlap little, few reference units carry all the weight, and the effective size reports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import logsumexp

from likewise.design.balance.table import described_units
from likewise.errors import SpecError
from likewise.tables import Contrast, Images, Trials, Vectors

STEEPEST = 100.0  # log weight per standard deviation


def entropy_weights(
    images: Images,
    contrast: Contrast,
    *,
    covariates: Sequence[str] = (),
    units: Trials | None = None,
    vectors: Vectors | None = None,
) -> pd.Series:
    """Return weights by unit: 1 for focal units; for reference units such that their means are the focal ones.

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
    >>> from likewise.design.balance.entropy import entropy_weights
    >>> rows = {"image": list("1234"), "identity": list("abcd"), "sex": list("FMMM"), "age": [30, 20, 30, 50]}
    >>> found = entropy_weights(lw.Images(pd.DataFrame(rows)), lw.Contrast("sex", "F", "M"), covariates=["age"])
    >>> round(float((found[["2", "3", "4"]] * [20, 30, 50]).sum() / found[["2", "3", "4"]].sum()), 3)
    30.0
    """
    shown, columns = described_units(images, contrast, covariates, units, vectors)
    table = pd.DataFrame(columns).dropna()
    side = contrast.side(shown).loc[table.index]
    focal, reference = (table[side == sign].to_numpy() for sign in (1, -1))
    if not len(focal) or not len(reference):
        raise SpecError("A group has no unit with all covariates", fix="Name fewer covariates.")
    spread = reference.std(axis=0)
    apart = (reference - focal.mean(axis=0))[:, spread > 0] / spread[spread > 0]  # [n, k]

    def dual(slopes: np.ndarray) -> tuple[float, np.ndarray]:
        heights = apart @ slopes
        share = np.exp(heights - logsumexp(heights))
        return float(logsumexp(heights)), share @ apart

    limits = [(-STEEPEST, STEEPEST)] * apart.shape[1]  # without overlap the slopes grow without end
    options: Any = {"gtol": 1e-9, "ftol": 1e-14, "maxiter": 2000}
    found = minimize(dual, np.zeros(apart.shape[1]), jac=True, method="L-BFGS-B", bounds=limits, options=options)
    heights = apart @ found.x
    share = np.exp(heights - logsumexp(heights))
    if not np.abs(share @ apart).max(initial=0.0) < 1e-4:
        fix = "Use fewer covariates, or cardinality matching."
        raise SpecError("No weights balance the groups: they overlap too little", fix=fix)
    weights = pd.Series(1.0, index=table.index, name="weight")
    weights[side == -1] = share * len(focal)
    return weights
