"""The ground truth of each sample where the effect on every trial is known: its mean over the sample's own units.

Effects differ between people, and samples are of different people: matching keeps those who have a counterpart, overlap
weights those who could be of either group. A matched gap estimates the effect on the matched units, not on everyone, so
that each estimate is set beside the mean effect on its own units, with its own weights.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from likewise.analysis.gaps.rating_arrays import RatingArrays, rating_arrays
from likewise.analysis.rating_table import RatingTable
from likewise.errors import TableError, some
from likewise.tables import Contrast, Estimates, Images, Matches, Ratings, Trials
from likewise.tables.estimates import row

COLUMNS = ("a", "b", "quantity", "effect")
EVERYONE = "everyone"
_TREATED = ("entropy-balanced",)  # samples whose estimand is the effect on the focal group


def known_effects(
    effects: pd.DataFrame,
    trials: Trials,
    images: Images,
    contrast: Contrast,
    *,
    pairs: Matches | None = None,
    weights: Mapping[str, pd.Series] | None = None,
) -> Estimates:
    """Return the mean known effect on everyone, on the matched units and on each weighted sample.

    Parameters
    ----------
    effects
        ``a``, ``b`` (the two images of a trial, in any order), ``quantity`` (as in Estimates, ``rater: question``) and
        ``effect``: the answer as the focal level less the answer as the reference level, of the same trial.
    trials, images, contrast, pairs, weights
        As for ``gaps``.

    Returns
    -------
    Estimates
        Rows of the stat ``gap`` in the samples ``truth: everyone``, ``truth: matched`` ..., without intervals: they are
        means over the units at hand, not estimates for others.
    """
    rows: list[dict[str, object]] = []
    table = RatingTable(_as_ratings(effects, trials), trials, images, contrast)
    for plain in rating_arrays(table, pairs, ()):
        arrays = plain.with_weights(weights or {})
        samples = {EVERYONE: arrays.everyone, **({"matched": arrays.matched} if pairs is not None else {})}
        for sample, weight in {**samples, **arrays.weighted}.items():
            rows += _mean(arrays, sample, weight)
    return Estimates.of(rows)


def _mean(arrays: RatingArrays, sample: str, weight: np.ndarray) -> list[dict[str, object]]:
    """Return the mean of the two groups' mean effects; of the focal group alone where the estimand is ATT."""
    treated = sample in _TREATED or (sample == "matched" and arrays.estimand == "ATT")
    sides = [weight * arrays.focal, *([] if treated else [weight * (1 - arrays.focal)])]
    if not all(side.sum() > 0 for side in sides):
        return []
    value = float(np.mean([np.average(arrays.y, weights=side) for side in sides]))
    estimand = "ATE" if sample == EVERYONE else "ATT" if treated else "ATO" if sample in arrays.weighted else "ATM"
    n = int((np.sum(sides, axis=0) > 0).sum())
    method = "ground truth, mean over the sample's own units"
    return [
        row(arrays.quantity, "gap", f"truth: {sample}", arrays.contrast.label, value, n=n, method=method,
            estimand=estimand)
    ]  # fmt: skip


def _as_ratings(effects: pd.DataFrame, trials: Trials) -> Ratings:
    """Return the effects as answers about the trials of two images, in whichever order they are named."""
    missing = [name for name in COLUMNS if name not in effects.columns]
    if missing:
        raise TableError(f"The known effects have no column {some(missing)}", fix=f"They need {some(COLUMNS)}.")
    frame = trials.frame
    keys = {frozenset(ends): trial for trial, *ends in frame[["trial", "a", "b"]].itertuples(index=False)}
    units = [keys.get(frozenset(ends)) for ends in zip(effects["a"].astype(str), effects["b"].astype(str), strict=True)]
    parts = effects["quantity"].astype(str).str.partition(": ")
    found = pd.DataFrame({"unit": units, "rater": parts[0], "question": parts[2], "value": effects["effect"]})
    found = found.dropna(subset=["unit"])
    if found.empty:
        raise TableError("None of the known effects is of a trial of this audit", fix="Check the images in a and b.")
    return Ratings(found)
