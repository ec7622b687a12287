"""Gaps in FNMR between true groups, where the groups are predictions and people labeled a random part.

Whether a genuine trial is rejected is an answer of 0 or 1, and the two-phase estimator of ``label_noise`` holds for any
answer. But what the labels add is seen only on rejected trials of *labeled* people. With a handful of those, the
interval would be as narrow as if the predictions were right, so nothing is corrected below ``FEW_ERRORS`` of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from likewise.analysis.label_noise import PREDICTED, corrected_gaps
from likewise.analysis.verification.adjusted import rejected_ratings
from likewise.tables import Contrast, Estimates, Images, Ratings, Trials
from likewise.tables.estimates import row

FEW_ERRORS = 10
"""Labeled identities with a rejected (or, if fewer, without) trial, below which a gap in FNMR is not corrected."""


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
    found = []
    for answers, genuine in rejected_ratings(rates, ratings, trials):
        errors = _labeled_errors(answers, genuine, images, contrast, labels)
        gaps = corrected_gaps(answers, genuine, images, contrast, labels=labels, level=level).where(stat="gap")
        found.append(gaps if errors >= FEW_ERRORS else _refused(gaps, errors))
    return Estimates.together(found)


def _labeled_errors(
    answers: Ratings, genuine: Trials, images: Images, contrast: Contrast, labels: Mapping[str, str]
) -> int:
    """Return how many labeled identities have an answer of the rarer kind."""
    frame = answers.frame
    image = frame["unit"].map(genuine.frame.set_index("trial")["a"])
    seen = image.map(dict(labels)).isin([str(contrast.focal), str(contrast.reference)])
    whose = image.map(images.identities)
    return min(int(whose[seen & frame["value"].eq(kind)].nunique()) for kind in (0.0, 1.0))


def _refused(gaps: Estimates, errors: int) -> Estimates:
    line = gaps.where(sample=PREDICTED).frame.iloc[0]
    why = f"too few errors of labeled people to correct ({errors} of {FEW_ERRORS})"
    return Estimates.of(
        [
            row(
                str(line["quantity"]), "gap", PREDICTED, str(line["group"]), float(line["estimate"]), n=int(line["n"]),
                method=f"predictions taken for true; {why}", clusters=int(line["clusters"]), estimand="unadjusted",
            )
        ]
    )  # fmt: skip
