"""missed: the gap in genuine pairs that are missed, between look-alikes and adjusted for what is left of differences.

An error rate between look-alikes mixes, like a mean distance, what the attribute does with what still differs between
them; with few trials a little of that is many points. The adjustment is that of ``gaps``, with "missed" (0 or 1) for an
answer. The threshold is taken as known: it is one for both sides, so that moving it a little moves both rates the same
way and their difference hardly (docs/coverage.md holds it to its level with thresholds that were found).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from likewise.analyse.asked import Asked
from likewise.analyse.gaps import sheets
from likewise.tables import Contrast, Estimates, Faces, Pairs, Ratings


def adjusted_misses(
    rates: Estimates,
    ratings: Ratings,
    trials: Pairs,
    faces: Faces,
    contrast: Contrast,
    *,
    pairs: Pairs,
    covariates: Sequence[str],
    level: float = 0.95,
) -> Estimates:
    """Estimate the adjusted gap at every threshold of ``rates`` (which ``verification`` made of the same ratings).

    A trial without a distance is missed.
    """
    frame = ratings.frame
    frame = frame[frame["unit"].isin(trials.genuine().frame["pair"])]
    rows: list[dict[str, object]] = []
    for point in rates.where(stat="threshold").frame.itertuples():
        rater, _, question = str(point.quantity).partition(": ")
        own = frame[frame["rater"] == rater]
        missed = ~(own["value"] < point.estimate)  # also where there is no distance
        answers = Ratings(own.assign(question=question, value=missed.astype(np.float64)))
        for sheet in sheets(Asked(answers, trials.genuine(), faces, contrast), pairs, covariates):
            rows += [row for row in sheet.rows("matched", level) if row["stat"] == "adjusted_gap"]
    return Estimates.of(rows)
