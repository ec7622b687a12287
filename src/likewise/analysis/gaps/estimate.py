"""gaps: the difference in mean answers between two groups, unmatched, matched, and adjusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from likewise.analysis.gaps.rating_arrays import rating_arrays
from likewise.analysis.gaps.rows import explained_rows, gap_rows
from likewise.analysis.rating_table import RatingTable
from likewise.tables import Contrast, Estimates, Images, Matches, Ratings, Trials, Vectors


def gaps(
    ratings: Ratings,
    trials: Trials | None,
    images: Images,
    contrast: Contrast,
    *,
    pairs: Matches | None = None,
    balanced: Vectors | None = None,
    weights: Mapping[str, pd.Series] | None = None,
    covariates: Sequence[str] = (),
    panel: str | None = None,
    level: float = 0.95,
) -> Estimates:
    """Estimate each group's mean answer and the gap (focal - reference), unmatched, matched and adjusted.

    Parameters
    ----------
    ratings
        Answers about ``trials``, or about images when there are none.
    trials
        The trials that were rated; None for ratings of single images (a classifier's labels). A trial belongs to the
        group and the identity of its first image.
    images
        The images, with identities and attributes.
    contrast
        Which groups are compared.
    pairs
        Matched pairs of images or of trials. In 1:k sets the references of a focal unit weigh 1 together.
    balanced
        The vectors that cardinality matching, or the weights, balanced. Intervals are then of what they do not
        explain; without them the intervals are conservative. The gap itself does not change.
    weights
        Weights by unit under the name of their sample: ``overlap-weighted`` and ``entropy-balanced``
        (``likewise.design.balance.weighting``) stand beside matching as estimates of their own.
    covariates
        Columns of ``images`` to adjust for. Those of a trial are the means over its two images and their absolute
        differences.
    panel
        Without it every rater is analyzed on its own (models). With it all raters are one panel of that name (people),
        and intervals allow for raters and identities both being samples.
    level
        Confidence level.

    Returns
    -------
    Estimates
        ``mean`` of each group and ``gap``, for the samples ``all`` and ``matched`` and those of ``weights``. Every
        identity weighs 1 in ``all`` and ``matched``, so that they differ by matching and not by weighting. With
        covariates ``regression_gap`` (all units, without matching) and ``adjusted_gap`` (matched units, then regression
        within them). With pairs ``explained_share``, the share of the unmatched gap that matching (and adjustment)
        removes, with Fieller's interval.

    Raises
    ------
    TableError
        If a group has fewer than two rated identities.

    Notes
    -----
    Intervals leave out one identity (matched pair, rater) at a time. Proportions get Newcombe's intervals instead,
    which hold for rare errors; with fewer than ten identities with an error nothing is adjusted, and the row says so.
    The interval of a plain matched gap is moved out, toward the adjusted one, by what imbalance adds to it (not where
    the design balances covariates).

    Examples
    --------
    >>> from likewise.simulation.system_ratings import CONTRAST, VerificationTrials
    >>> ratings, trials, images, pairs = VerificationTrials(60, seed=1).tables()
    >>> same = trials.genuine()
    >>> own = Ratings(ratings.frame[ratings.frame["unit"].isin(same.keys)])
    >>> found = gaps(own, same, images, CONTRAST, pairs=pairs)
    >>> sorted(set(found.frame["stat"]))
    ['explained_share', 'gap', 'mean']
    """
    rows: list[dict[str, object]] = []
    table = RatingTable(ratings, trials, images, contrast, panel)
    for plain in rating_arrays(table, pairs, covariates, balanced):
        arrays = plain.with_weights(weights or {})
        rows += gap_rows(arrays, "all", level)
        if pairs is not None:
            rows += [*gap_rows(arrays, "matched", level), *explained_rows(arrays, level)]
        for sample in arrays.weighted:
            rows += gap_rows(arrays, sample, level)
    return Estimates.of(rows)
