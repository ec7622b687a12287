"""specification_curve: the same gap under every design and every set of covariates that might have been chosen.

One design is the audit's; it was fixed before any answer was seen. The others show how much depends on that choice.
Their intervals are valid one by one, but not independent: all rest on the same answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from likewise.analysis.gaps.estimate import gaps
from likewise.errors import LikewiseError
from likewise.tables import Contrast, Estimates, Images, Matches, Ratings, Trials


def specification_curve(
    ratings: Ratings,
    trials: Trials | None,
    images: Images,
    contrast: Contrast,
    *,
    designs: Mapping[str, Matches],
    covariates: Sequence[str] = (),
    panel: str | None = None,
    level: float = 0.95,
) -> tuple[Estimates, list[str]]:
    """Estimate the matched gap for each design: plain, adjusted for all covariates, and for all but one.

    The sample of a row is ``design: NAME``, with ``, without COVARIATE`` behind it. A design that cannot carry the
    estimate (too few pairs) is left out, and the second thing returned says why.
    """
    parts: list[pd.DataFrame] = []
    left_out: list[str] = []
    for name, pairs in designs.items():
        sets = [("", list(covariates))]
        sets += [(f", without {one}", [c for c in covariates if c != one]) for one in covariates if len(covariates) > 1]
        for suffix, chosen in sets:
            try:
                found = gaps(
                    ratings, trials, images, contrast, pairs=pairs, covariates=chosen, panel=panel, level=level
                )
            except LikewiseError as error:
                left_out.append(f"{name}{suffix}: {error}")
                continue
            kept = found.frame
            kept = kept[(kept["sample"] == "matched") & kept["stat"].isin(["adjusted_gap"] if suffix else _GAPS)]
            parts.append(kept.assign(sample=f"design: {name}{suffix}"))
    return Estimates(pd.concat(parts, ignore_index=True)) if parts else Estimates.of([]), left_out


_GAPS = ["gap", "adjusted_gap"]
