"""preferences: how often a rater chooses the focal image of a pair, and whether the order of showing matters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.stats.intervals import Interval, share_interval
from likewise.stats.jackknife import covariance
from likewise.tables import Estimates, Ratings
from likewise.tables.estimates import remarked, row

Floats = npt.NDArray[np.float64]
_STATS = {": refused": "pairs_refused", ": shown first": "first_shown", "": "preference"}
"""What a question measures, by how its name ends."""


def preferences(ratings: Ratings, pairs: pd.DataFrame, *, group: str, level: float = 0.95) -> Estimates:
    """Estimate for each rater and pair question how often the first image of a pair is chosen.

    Both orders of showing are averaged within a pair, so 0.5 is no preference whatever the rater does with the places;
    ``first_shown`` is how often the image shown first is chosen. A pair has two identities and is in the cluster of
    either: the variance is clustered two ways (of edits, where both images are of one identity, one way).

    Parameters
    ----------
    ratings
        Answers about pairs: the share of requests in which the first image is chosen.
    pairs
        The pairs: ``unit``, ``sample``, and the identities ``identity`` and ``other`` of their images.
    group
        The contrast, as estimates name it.
    level
        Confidence level.

    Returns
    -------
    Estimates
        By rater, question and sample ``preference``, ``first_shown`` and ``pairs_refused``.

    Examples
    --------
    >>> people = {"identity": list("klmn"), "other": list("wxyz")}
    >>> pairs = pd.DataFrame({"unit": list("abcd"), "sample": "matched", **people})
    >>> answers = pd.DataFrame({"unit": list("abcd"), "rater": "m", "question": "trust", "value": [1.0, 1.0, 0.5, 0.5]})
    >>> preferences(Ratings(answers), pairs, group="f - m").frame["estimate"].tolist()
    [0.75]
    """
    frame = ratings.frame.dropna(subset=["value"]).merge(pairs, on="unit")
    parts = frame.groupby(["rater", "question", "sample"], sort=True)
    rows = [_row(str(rater), str(question), str(sample), part, group, level)
            for (rater, question, sample), part in parts]  # fmt: skip
    return Estimates.of(rows)


def _row(rater: str, question: str, sample: str, part: pd.DataFrame, group: str, level: float) -> dict[str, object]:
    ending, stat = next((ending, stat) for ending, stat in _STATS.items() if question.endswith(ending))
    codes = [pd.factorize(part[name])[0].astype(np.int64) for name in ("identity", "other")]
    if (part["identity"] == part["other"]).all():
        codes = codes[:1]
    found, word = _interval(part["value"].to_numpy(dtype=np.float64), codes, level)
    method = remarked("jackknife by identity" if len(codes) == 1 else "two-way jackknife by identity", word)
    quantity = f"{rater}: {question.removesuffix(ending)}"
    return row(quantity, stat, sample, group, found, level=level, n=len(part), method=method)


def _interval(values: Floats, codes: list[npt.NDArray[np.int64]], level: float) -> tuple[Interval, str]:
    columns = np.column_stack([values, np.ones(len(values))])
    clusters = min(int(code.max()) + 1 for code in codes)
    variance = float(covariance(columns, lambda total: (total[..., 0] / total[..., 1])[..., None], codes)[0, 0])
    share = float(values.mean())
    # the mean of several answers to a pair varies less than one answer, so the pairs are no limit of the effective size
    low, high, word = share_interval(share, variance, n=np.inf, clusters=clusters, level=level)
    return Interval(share, low, high, clusters), word
