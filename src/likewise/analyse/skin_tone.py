"""skin_tone: how far a tone measured from pixels, or predicted, agrees with what people answered.

Measured tones are columns of Faces (``measured_ita``, ``measured_hue``, ``predicted_tone``); people answer on an
ordinal scale. Only the order is compared: Spearman's correlation of the measured value with an image's mean answer.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from likewise.analyse.resample import Interval
from likewise.analyse.rows import row
from likewise.errors import TableError
from likewise.tables import Estimates, Faces, Ratings

Floats = npt.NDArray[np.float64]


def ita(lightness: npt.ArrayLike, yellow: npt.ArrayLike) -> Floats:
    """Return the individual typology angle in degrees from L* and b*: above 55 very light, below -30 dark."""
    angle: Floats = np.degrees(
        np.arctan2(np.asarray(lightness, dtype=np.float64) - 50, np.asarray(yellow, dtype=np.float64))
    )
    return angle


def hue(red: npt.ArrayLike, yellow: npt.ArrayLike) -> Floats:
    """Return the hue angle in degrees from a* and b*: from red (0) to yellow (90)."""
    angle: Floats = np.degrees(np.arctan2(np.asarray(yellow, dtype=np.float64), np.asarray(red, dtype=np.float64)))
    return angle


def tone_agreement(ratings: Ratings, faces: Faces, *, question: str, measured: str, level: float = 0.95) -> Estimates:
    """Estimate the rank correlation between a measured column and people's answers.

    The interval is on Fisher's scale. Its variance is that of leaving out identities plus that of leaving out raters;
    the noise of a single answer is in both, so the interval errs to the wide side.
    """
    ratings.check_units(faces.images)
    frame = ratings.frame
    frame = frame[(frame["question"] == question) & frame["value"].notna()]
    frame["measured"] = frame["unit"].map(faces.attribute(measured).astype("float64"))
    frame["identity"] = frame["unit"].map(faces.identities)
    frame = frame.dropna(subset=["measured"])
    images = frame.drop_duplicates("unit")
    if len(images) < 4 or images["measured"].nunique() < 2 or frame["value"].nunique() < 2:
        raise TableError("four images at least were measured and answered, and both vary", got=f"{len(images)} images")
    estimate = _fisher(frame)
    variance, counts = 0.0, []
    for name in ("identity", "rater"):
        names = frame[name].unique()
        counts.append(len(names))
        if len(names) > 1:
            away = np.array([_fisher(frame[(frame[name] != one).to_numpy()]) for one in names]) - estimate
            variance += float((len(names) - 1) / len(names) * np.square(away).sum())
    clusters = counts[0]
    half = float(stats.t.ppf((1 + level) / 2, clusters - 1)) * variance**0.5
    ends = np.tanh([estimate, estimate - half, estimate + half])
    found = Interval(float(ends[0]), float(ends[1]), float(ends[2]), clusters)
    method = "Spearman, jackknife by identity" + (" and rater" if counts[1] > 1 else "")
    quantity = f"{measured} and {question}"
    return Estimates.of(
        [row(quantity, "rank_correlation", "all", "images", found, level=level, n=len(frame), method=method)]
    )


def _fisher(frame: pd.DataFrame) -> float:
    means = frame.groupby("unit").agg(answer=("value", "mean"), measured=("measured", "first"))
    rank = means.rank()
    r = float(np.corrcoef(rank["answer"], rank["measured"])[0, 1])
    return float(np.arctanh(np.clip(r, -0.999999, 0.999999)))
