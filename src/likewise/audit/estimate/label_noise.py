"""Gaps corrected for errors in a predicted attribute, beside those that take predictions for true."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from likewise.analysis.label_noise import corrected_gaps, corrected_share
from likewise.analysis.label_noise_models import imputed_gaps, simex_gaps
from likewise.analysis.verification.corrected import corrected_fnmr_gap
from likewise.audit.context import StageContext
from likewise.errors import TableError, some
from likewise.tables import Estimates, Ratings, Trials
from likewise.tables.checks import need_columns
from likewise.tables.io import read_frame


def label_noise_estimates(
    context: StageContext, ratings: Ratings, genuine: Trials, rates: Sequence[Estimates] = ()
) -> list[Estimates]:
    """Estimate shares and gaps of true groups from predictions of all images and labels of some.

    Of error rates (``rates``) the gap in FNMR is corrected by the two-phase estimator only: imputation and MC-SIMEX
    model the answers as normal.
    """
    plan, images = context.plan, context.images()
    about: dict[str, Any] = {"labels": true_labels(context), "level": plan.estimate.level}
    answers = (ratings, genuine, images, plan.contrast)
    corrected = partial(corrected_gaps, *answers, covariates=context.covariates(), **about)
    drawn = about | {"seed": plan.seed}
    share = partial(corrected_share, images, plan.contrast, **about)
    errors = [
        part
        for each in rates[:1]
        for part in context.attempt(
            "FNMR corrected for label noise", partial(corrected_fnmr_gap, each, *answers, **about)
        )
    ]
    return [
        *context.attempt("share corrected for label noise", share),
        *context.attempt("gaps corrected for label noise", corrected),
        *context.attempt("gaps with imputed labels", partial(imputed_gaps, *answers, **drawn)),
        *context.attempt("gaps by MC-SIMEX", partial(simex_gaps, *answers, **drawn)),
        *errors,
    ]


def true_labels(context: StageContext) -> dict[str, str]:
    """Read what people said about some of the images."""
    name = context.plan.estimate.true_labels
    frame, _ = read_frame(context.file(name), text=("image", "label"))
    need_columns(frame, ["image", "label"], f"the table of labels {name}")
    frame = frame.dropna(subset=["label"])
    twice = frame.loc[frame["image"].duplicated(), "image"]
    if len(twice):
        raise TableError(f"{name} has two labels of {some(twice)}", fix="Give one label per image.")
    return dict(zip(frame["image"].astype(str), frame["label"].astype(str), strict=True))
