"""placebo: how much label rates shift by editing alone, with the attribute unchanged.

A placebo arm with one image an original (reconstructed, or cut and pasted) has no slope. What it can do is make a label
more or less common than in the untouched images; that shift is compared image by image.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.analysis.slopes.estimate import Threshold, presence
from likewise.errors import TableError
from likewise.stats.jackknife import jackknife
from likewise.tables import Estimates, Images, Ratings
from likewise.tables.estimates import remarked, row

Floats = npt.NDArray[np.float64]
ORIGINAL = "original"


def rate_shifts(ratings: Ratings, arms: Images, *, threshold: Threshold, level: float = 0.95) -> Estimates:
    """Estimate for each label and constant arm (``source``) its rate less the rate in the untouched images.

    An image counts where both of its versions were rated. Intervals are clustered by identity, as in ``slopes``.
    """
    about = arms.frame.set_index("image")[["parent", "identity", "source"]]
    if ORIGINAL not in set(about["source"]):
        raise TableError("No unedited image was rated", fix="A shift is measured against the originals.")
    frame = ratings.frame.dropna(subset=["value"]).join(about, on="unit")
    frame = frame.assign(present=presence(frame, threshold))
    constant = frame.groupby(["source", "parent"])["unit"].transform("nunique").eq(1)
    rows: list[dict[str, object]] = []
    for (rater, label), part in frame[constant].groupby(["rater", "question"], sort=True):
        wide = part.pivot(index=["parent", "identity"], columns="source", values="present")
        for arm in [name for name in wide.columns if name != ORIGINAL]:
            both = wide[[ORIGINAL, arm]].dropna()
            if len(set(both.index.get_level_values("identity"))) > 1:
                rows.append(_shift(f"{rater}: {label}", arm, both, level))
    return Estimates.of(rows)


def _shift(quantity: str, arm: str, both: pd.DataFrame, level: float) -> dict[str, object]:
    columns = np.column_stack([both[arm] - both[ORIGINAL], np.ones(len(both))])
    identity = pd.factorize(both.index.get_level_values("identity"))[0].astype(np.int64)
    found = jackknife(columns, _mean, [identity], level=level)
    word = "no image ever changes" if found.low == found.high else ""
    method = remarked("jackknife by identity", word)
    return row(quantity, "rate_shift", f"placebo: {arm}", arm, found, level=level, n=len(both), method=method)


def _mean(total: Floats) -> Floats:
    share: Floats = total[..., 0] / total[..., 1]
    return share
