"""The variance of a matched gap whose design balanced covariates: that of what the covariates do not explain.

A design that balances x makes both groups' means of x equal, sample by sample. The part b'x of the answers then adds
the same to both means and nothing to the variance of their difference, while a jackknife over pairs counts it in full:
intervals were 1.7 times too wide in simulation, and held the truth in all of 101 worlds. So the jackknife is applied to
residuals y - b'x. The slopes b are cross-fitted (those of a pair come from the other pairs' people), so that residuals
are not smaller than new ones would be, and they are ridge slopes, so that many covariates of few people do no harm. The
matched gap itself does not change. What is left of x between the groups, d (each within max_smd), adds b'd to the gap.
That is bias, not noise: both ends of the interval move out by it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.analysis.rating_table import RatingTable
from likewise.errors import InputError
from likewise.tables import Matches, Vectors

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
FOLDS = 10


def holds_balance(pairs: Matches | None) -> bool:
    """Whether the design is cardinality matching: other designs do not hold covariates equal."""
    return pairs is not None and pairs.spec is not None and pairs.spec.method == "cardinality"


def balanced_numbers(table: RatingTable, pairs: Matches | None, vectors: Vectors | None) -> pd.DataFrame:
    """Return by unit what was balanced: mean and difference of the vectors, and the design's ``balance`` columns."""
    units = table.units()
    if vectors is None:
        return pd.DataFrame(index=units.index)
    if pairs is not None and holds_balance(pairs):
        used = units.loc[sorted({*pairs.frame["a"], *pairs.frame["b"]} & set(units.index))]
        if missing := [image for end in ("a", "b") for image in used[end] if image not in vectors]:
            fix = "Pass the vectors that were matched."
            raise InputError(f"Matched images without a vector: {missing[0]!r}", fix=fix)
    there = units[[a in vectors and b in vectors for a, b in zip(units["a"], units["b"], strict=True)]]
    a, b = (np.asarray(vectors.values[vectors.rows(there[end].tolist())]).reshape(len(there), -1) for end in "ab")
    own = pd.DataFrame(np.column_stack([(a + b) / 2, np.abs(a - b)]), index=there.index, dtype=np.float64)
    columns = pairs.spec.balance if pairs is not None and pairs.spec is not None else ()
    return pd.concat([own, _columns(table, columns).loc[there.index]], axis=1)


def _columns(table: RatingTable, columns: Sequence[str]) -> pd.DataFrame:
    names = {name.removesuffix(" (mean)").removesuffix(" (difference)") for name in columns}
    return table.covariates(sorted(names))


def explained(y: Floats, focal: Floats, x: Floats, weight: Floats, people: Codes) -> Floats:
    """Return what the covariates explain of each answer, ``[n]``: b'x with slopes b of other people's answers.

    Parameters
    ----------
    y, focal, x
        Answers, group (1 focal, 0 reference) and balanced covariates ``[n, k]``; rows without covariates are NaN.
    weight
        The weight of each answer in the fit.
    people
        Codes of what is left out together: identities, linked by matched pairs.
    """
    made = np.zeros(len(y))
    there = np.isfinite(x).all(axis=1)
    varies = x[there].std(axis=0) > 1e-12 if there.any() else np.zeros(x.shape[1], dtype=bool)
    if not varies.any():
        return made
    x = x[:, varies]
    x = (x - x[there].mean(axis=0)) / x[there].std(axis=0)
    for out in _folds(people):
        fit = there & ~out
        made[there & out] = x[there & out] @ _slopes(y[fit], focal[fit], x[fit], weight[fit])
    return made


def _folds(people: Codes) -> Sequence[npt.NDArray[np.bool_]]:
    order = np.random.default_rng(0).permutation(int(people.max()) + 1) % FOLDS
    return [order[people] == fold for fold in range(FOLDS)]


def _slopes(y: Floats, focal: Floats, x: Floats, weight: Floats) -> Floats:
    """Return ridge slopes within the groups; the penalty k supposes that x explains about half of the variance."""
    weight = weight / weight.mean()
    inner = [_within(part, focal, weight) for part in (y[:, None], x)]
    gram = (inner[1] * weight[:, None]).T @ inner[1]
    slopes: Floats = np.linalg.solve(
        gram + x.shape[1] * np.eye(x.shape[1]), (inner[1] * weight[:, None]).T @ inner[0][:, 0]
    )
    return slopes


def _within(values: Floats, focal: Floats, weight: Floats) -> Floats:
    means = [np.average(values[focal == side], axis=0, weights=weight[focal == side]) for side in (0, 1)]
    centered: Floats = values - np.where(focal[:, None] == 1, means[1], means[0])
    return centered
