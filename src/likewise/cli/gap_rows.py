"""The gaps of one kind of answer: as the images come and between look-alikes, under other designs, and their bounds."""

from __future__ import annotations

from typing import Any

import pandas as pd

from likewise.analyse.curve import curve
from likewise.analyse.gaps import gaps
from likewise.analyse.sensitivity import sensitivity
from likewise.cli.designing import variants_of
from likewise.cli.making import Job, covariates_of
from likewise.cli.noted import noted
from likewise.tables import Estimates, Pairs, Ratings


def gap_rows(
    job: Job,
    ratings: Ratings,
    genuine: Pairs | None,
    pairs: Pairs,
    panel: str | None = None,
    *,
    level: float | None = None,
    closely: bool = True,
) -> list[Estimates]:
    """Estimate the gap of the mean answer, as the images come and between look-alikes.

    ``closely`` adds what the other designs say, and how strong something hidden would have to be.
    """
    faces, contrast, level = job.faces(), job.plan.contrast, level or job.plan.analyse.level
    names = covariates_of(job)
    common: dict[str, Any] = {"covariates": names, "panel": panel, "level": level}
    if len(pairs) < 2:
        return [gaps(ratings, genuine, faces, contrast, **common)]
    found = [gaps(ratings, genuine, faces, contrast, pairs=pairs, **common)]
    if not closely:
        return found
    found += _curve(job, ratings, genuine, pairs, common)
    numeric = [name for name in names if _varies(faces.attribute(name))]
    hidden = {**common, "covariates": numeric, "seed": job.plan.seed}
    return found + noted(
        job,
        "bounds on hidden differences",
        lambda: sensitivity(ratings, genuine, faces, contrast, pairs=pairs, **hidden),
    )


def _curve(job: Job, ratings: Ratings, genuine: Pairs | None, pairs: Pairs, common: dict[str, Any]) -> list[Estimates]:
    """Estimate the gap under the plan's own design and every variant."""
    if not job.plan.variant:
        return []
    designs = {"plan": pairs, **variants_of(job)}
    found, left_out = curve(ratings, genuine, job.faces(), job.plan.contrast, designs=designs, **common)
    job.notes += [f"The design {line}" for line in left_out]
    return [found]


def _varies(values: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(values.dtype) and bool(values.min() < values.max())
