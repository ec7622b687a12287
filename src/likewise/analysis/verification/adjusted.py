"""The matched gap in FNMR, adjusted for what matching left unbalanced.

The adjustment is that of ``gaps``, with "rejected" (0 or 1) for an answer. The threshold is taken as known: it is one
for both groups, so a small move shifts both rates alike and their difference hardly (docs/coverage.md measures the
coverage with estimated thresholds).

The plain matched gap is moved out by what that imbalance adds (``with_imbalance``), as ``gaps`` does with other
answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from likewise.analysis.gaps.balanced_variance import holds_balance
from likewise.analysis.gaps.rating_arrays import RatingArrays, rating_arrays
from likewise.analysis.gaps.rows import Gap, gap_rows, moved_out
from likewise.analysis.rating_table import RatingTable
from likewise.stats.intervals import Interval
from likewise.tables import Contrast, Estimates, Images, Matches, Ratings, Trials
from likewise.tables.checks import among
from likewise.tables.estimates import remarked


def adjusted_fnmr_gap(
    rates: Estimates,
    ratings: Ratings,
    trials: Trials,
    images: Images,
    contrast: Contrast,
    *,
    pairs: Matches,
    covariates: Sequence[str],
    level: float = 0.95,
) -> Estimates:
    """Estimate the adjusted gap in FNMR at every threshold of ``rates`` (from ``error_rates`` on the same ratings).

    A trial without a distance is a rejection. With fewer than ten identities with an error the gap is not adjusted, and
    the row says "too few errors to adjust".

    Examples
    --------
    >>> from likewise.analysis.verification.error_rates import error_rates
    >>> from likewise.simulation.system_ratings import CONTRAST, VerificationTrials
    >>> ratings, trials, images, pairs = VerificationTrials(60, seed=1).tables()
    >>> rates = error_rates(ratings, trials, images, CONTRAST, pairs=pairs, rates=[0.05])
    >>> about = (rates, ratings, trials, images, CONTRAST)
    >>> adjusted_fnmr_gap(*about, pairs=pairs, covariates=["eyeglasses"]).frame["stat"].tolist()
    ['adjusted_gap']
    """
    rows: list[dict[str, object]] = []
    for arrays in rejections(rates, ratings, trials, images, contrast, pairs=pairs, covariates=covariates):
        rows += [row for row in gap_rows(arrays, "matched", level) if row["stat"] == "adjusted_gap"]
    return Estimates.of(rows)


def with_imbalance(
    rates: Estimates,
    ratings: Ratings,
    trials: Trials,
    images: Images,
    contrast: Contrast,
    *,
    pairs: Matches,
    covariates: Sequence[str],
) -> Estimates:
    """Return ``rates`` with the intervals of matched gaps in FNMR moved out by what imbalance adds to them.

    A gap to which it adds more than half a standard error, or whose covariates have |SMD| above 0.1, is remarked. Gaps
    of a design that balances covariates stay as they are: their intervals are conservative already
    (``balanced_variance``).

    Examples
    --------
    >>> from likewise.analysis.verification.error_rates import error_rates
    >>> from likewise.simulation.system_ratings import CONTRAST, VerificationTrials
    >>> ratings, trials, images, pairs = VerificationTrials(60, seed=1).tables()
    >>> rates = error_rates(ratings, trials, images, CONTRAST, pairs=pairs, rates=[0.05])
    >>> about = (rates, ratings, trials, images, CONTRAST)
    >>> with_imbalance(*about, pairs=pairs, covariates=["eyeglasses"]).frame.equals(rates.frame)  # all pairs alike
    True
    """
    if holds_balance(pairs):
        return rates
    laid = rejections(rates, ratings, trials, images, contrast, pairs=pairs, covariates=covariates)
    arrays = {each.quantity: each for each in laid}
    moved = [_moved(line, arrays) for _, line in rates.frame.iterrows()]
    return Estimates(pd.DataFrame(moved, columns=rates.frame.columns))


def _moved(line: pd.Series, arrays: Mapping[str, RatingArrays]) -> pd.Series:
    """Return the row of a matched gap with what imbalance adds to it; other rows as they are."""
    if line["stat"] not in {"gap", "gap_simultaneous"} or line["sample"] != "matched":
        return line
    gap = Gap(arrays[str(line["quantity"])], "matched", float(line["level"]))
    plain = Interval(float(line["estimate"]), float(line["low"]), float(line["high"]), int(line["clusters"]))
    found = moved_out(plain, gap.added(), share=True)
    own = line.copy()
    own["low"], own["high"] = found.low, found.high
    own["method"] = remarked(str(line["method"]), gap.imbalance(plain))
    return own


def rejections(
    rates: Estimates,
    ratings: Ratings,
    trials: Trials,
    images: Images,
    contrast: Contrast,
    *,
    pairs: Matches | None,
    covariates: Sequence[str] = (),
) -> Iterator[RatingArrays]:
    """Yield for each threshold of ``rates`` whether each genuine trial is rejected, as answers of 0 and 1."""
    for answers, genuine in rejected_ratings(rates, ratings, trials):
        yield from rating_arrays(RatingTable(answers, genuine, images, contrast), pairs, covariates)


def rejected_ratings(rates: Estimates, ratings: Ratings, trials: Trials) -> Iterator[tuple[Ratings, Trials]]:
    """Yield for each threshold of ``rates`` ratings that say whether each genuine trial is rejected, and the trials."""
    genuine, frame = trials.genuine(), ratings.frame
    frame = frame[among(frame["unit"], genuine.keys)]
    for point in rates.where(stat="threshold").frame.itertuples():
        rater, _, question = str(point.quantity).partition(": ")
        own = frame[frame["rater"] == rater]
        rejected = ~(own["value"] < point.estimate)  # also where there is no distance
        yield Ratings(own.assign(question=question, value=rejected.astype(np.float64))), genuine
