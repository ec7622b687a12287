"""Gaps in FNMR between true groups, where the groups are predictions and people labeled a random part.

Whether a genuine trial is rejected is an answer of 0 or 1, and the two-phase estimator of ``label_noise`` holds for any
answer. But what the labels add is seen only on rejected trials of *labeled* people. With a handful of those in a group
nothing is corrected (``Phases.too_few``).
"""

from __future__ import annotations

from collections.abc import Mapping

from likewise.analysis.label_noise import corrected_gaps
from likewise.analysis.verification.adjusted import rejected_ratings
from likewise.tables import Contrast, Estimates, Images, Ratings, Trials


def corrected_fnmr_gap(
    rates: Estimates,
    ratings: Ratings,
    trials: Trials,
    images: Images,
    contrast: Contrast,
    *,
    labels: Mapping[str, str],
    level: float = 0.95,
) -> Estimates:
    """Estimate the gap in FNMR between true groups at every threshold of ``rates``.

    Parameters
    ----------
    rates
        The result of ``error_rates`` on the same ratings.
    ratings, trials, images, contrast
        As in ``error_rates``; the column of the contrast holds predictions.
    labels
        What people said about a random part of the images (of the first image of a trial).
    level
        Confidence level.

    Returns
    -------
    Estimates
        ``gap`` of the samples ``as predicted`` and ``corrected for label noise``. With too few errors only the former,
        without an interval, and its method says so.

    Examples
    --------
    >>> from likewise.analysis.verification.error_rates import error_rates
    >>> from likewise.simulation.system_ratings import CONTRAST, VerificationTrials
    >>> ratings, trials, images, _ = VerificationTrials(200, seed=1).tables()
    >>> rates = error_rates(ratings, trials, images, CONTRAST, rates=[0.05])
    >>> labels = images.frame.set_index("image")["perceived_gender"].iloc[::2].to_dict()
    >>> found = corrected_fnmr_gap(rates, ratings, trials, images, CONTRAST, labels=labels)
    >>> found.where(stat="gap").frame["sample"].tolist()
    ['as predicted', 'corrected for label noise']
    """
    parts = (
        corrected_gaps(answers, genuine, images, contrast, labels=labels, level=level)
        for answers, genuine in rejected_ratings(rates, ratings, trials)
    )
    return Estimates.together([part.where(stat="gap") for part in parts])
