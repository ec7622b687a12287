"""binarize: which labels a classifier gave to which images, and which labels are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from likewise.errors import InputError, nearest, some
from likewise.tables import Estimates, Ratings

LABELED, ANSWERED = "Share labeled ", "Mean of "
"""Beginnings of quantities: the share of images that get a label; the mean of answers that are averaged as they are."""
FEWEST = 10  # images with a label, and without: with fewer the interval of its rate is not to be trusted
MOST = 20  # labels of a classifier that are compared unless the plan names others
FEW_LABELS = 3  # labels that get specification curves and sensitivity analyses; more are compared in one table


def simultaneous_level(level: float, comparisons: int) -> float:
    """Return the level of each of several intervals that hold simultaneously at ``level`` (Bonferroni).

    Examples
    --------
    >>> round(simultaneous_level(0.95, 10), 4)
    0.995
    """
    if comparisons < 1:
        raise InputError(f"There are no comparisons ({comparisons})", fix="Check the labels of the plan.")
    return 1 - (1 - level) / comparisons


def clip_share_gaps(estimates: Estimates) -> Estimates:
    """Clip intervals of differences of shares to -1 and 1, the range of such a difference."""
    frame = estimates.frame
    here = frame["stat"].isin(["gap", "adjusted_gap"]) & frame["estimate"].abs().le(1)
    for end in ("low", "high"):
        frame[end] = frame[end].where(~here, frame[end].clip(-1, 1))
    return Estimates(frame)


def binarize(
    ratings: Ratings, thresholds: Mapping[str, float], *, labels: Sequence[str] = (), most: int = MOST
) -> tuple[Ratings, list[str]]:
    """Return 1 where a label's confidence reaches its rater's threshold and 0 elsewhere, and remarks.

    A rater without a threshold (NaN) keeps its answers, which are from 0 to 1: shares of repeated questions, numbers.

    Without ``labels`` the commonest ``most`` of each rater are kept, of those that ten images have and ten lack. They
    are chosen by how common they are in all images together: not by how the groups differ, which is the question.
    Answers of a rater without a threshold are kept however rare they are, unless they are the same for all images: a
    detector that misses nine faces has a recall.
    """
    frame = _marked(ratings, thresholds)
    counts = frame[frame["value"].notna()].groupby(["rater", "question"])["value"].agg(["sum", "size", "min", "max"])
    averaged = (
        counts.index.get_level_values("rater").map(lambda rater: np.isnan(thresholds[rater])).to_numpy(dtype=bool)
    )
    often = (counts["sum"] >= FEWEST) & (counts["size"] - counts["sum"] >= FEWEST)
    usual = counts[often | (averaged & (counts["min"] < counts["max"]))]
    if labels:
        unknown = sorted(set(labels) - set(frame["question"]))
        if unknown:
            fix = nearest(unknown[0], frame["question"].unique())
            raise InputError(f"Labels of the plan that no classifier gives: {some(unknown)}", fix=fix)
        kept = usual[usual.index.isin(labels, level="question")]
    else:
        kept = usual.sort_values("sum", ascending=False, kind="stable").groupby(level="rater").head(most)
    return _named(frame, kept.index, thresholds), [_remark(rater, counts, usual, kept) for rater in sorted(thresholds)]


def same_labels(ratings: Ratings, thresholds: Mapping[str, float], like: Ratings) -> Ratings:
    """Return the answers to the questions of ``like`` (which ``present`` chose) about other images."""
    asked = like.frame[["rater", "question"]].drop_duplicates()
    labels = pd.MultiIndex.from_arrays([asked["rater"], asked["question"].map(label_of)])
    return _named(_marked(ratings, thresholds), labels, thresholds)


def label_of(question: str) -> str:
    """Return the label that a question of ``binarize`` is about.

    Examples
    --------
    >>> label_of("Share labeled Smile"), label_of("Mean of hire")
    ('Smile', 'hire')
    """
    return question.removeprefix(LABELED).removeprefix(ANSWERED)


def _marked(ratings: Ratings, thresholds: Mapping[str, float]) -> pd.DataFrame:
    """Say 1 where a label's confidence reaches its rater's threshold and 0 elsewhere."""
    frame = ratings.frame
    frame = frame[frame["rater"].isin(thresholds)]
    limit = frame["rater"].map(dict(thresholds)).astype("float64")
    decided = frame["value"].notna() & limit.notna()
    frame.loc[decided, "value"] = (frame["value"] >= limit)[decided].astype("float64")
    return frame


def _named(frame: pd.DataFrame, labels: pd.Index, thresholds: Mapping[str, float]) -> Ratings:
    shown = frame[pd.MultiIndex.from_frame(frame[["rater", "question"]]).isin(labels)]
    prefix = shown["rater"].map({rater: ANSWERED if np.isnan(at) else LABELED for rater, at in thresholds.items()})
    return Ratings(shown.assign(question=prefix + shown["question"]))


def _remark(rater: str, counts: object, usual: object, kept: object) -> str:
    every, enough, shown = (
        int(np.sum(part.index.get_level_values("rater") == rater))  # type: ignore[attr-defined]
        for part in (counts, usual, kept)
    )
    rare = f"; {every - enough} are in or missing from fewer than {FEWEST} images" if every > enough else ""
    others = f"; {enough - shown} are rarer than those shown or not asked for" if enough > shown else ""
    return f"{rater}: {shown} of {every} labels are compared{rare}{others}. Their intervals are simultaneous."
