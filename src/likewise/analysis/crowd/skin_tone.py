"""skin_tone: how far a tone measured from pixels, or predicted, agrees with what people answered.

Measured tones are columns of Images (``measured_ita``, ``measured_hue``, ``predicted_tone``); people answer on an
ordinal scale. Only the order is compared: Spearman's correlation of the measured value with an image's mean answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from likewise.errors import TableError
from likewise.stats.intervals import Interval
from likewise.tables import Estimates, Images, Ratings
from likewise.tables.estimates import row

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
_NEARLY = 0.999999  # Fisher's scale has no 1
_DIGITS = 9  # means that are equal must come out equal, however they were computed


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


def tone_agreement(ratings: Ratings, images: Images, *, question: str, measured: str, level: float = 0.95) -> Estimates:
    """Estimate the rank correlation between a measured column and people's answers.

    The interval is on Fisher's scale. Its variance is V_1 + V_2 - V_12, of leaving out identities, raters and single
    answers (which are in both), and never less than V_1 or V_2.
    """
    ratings.check_units(images.keys)
    frame = ratings.frame
    frame = frame[(frame["question"] == question) & frame["value"].notna()]
    frame["measured"] = frame["unit"].map(images.attribute(measured).astype("float64"))
    frame["identity"] = frame["unit"].map(images.identities)
    frame = frame.dropna(subset=["measured"])
    rated = frame.drop_duplicates("unit")
    if len(rated) < 4 or rated["measured"].nunique() < 2 or frame["value"].nunique() < 2:
        fix = "A rank correlation needs four images, with measured values and answers that vary."
        raise TableError(f"{len(rated)} images have {measured!r} and answers to {question!r}", fix=fix)
    laid = _Answers.of(frame)
    estimate = float(np.arctanh(np.clip(laid.correlation, -_NEARLY, _NEARLY)))
    clusters, raters = int(laid.identity.max()) + 1, int(laid.rater.max()) + 1
    variance = laid.variance() / (1 - np.tanh(estimate) ** 2) ** 2
    known = min(clusters, raters) if raters > 1 else clusters  # whichever there are fewer of may rule the variance
    half = float(stats.t.ppf((1 + level) / 2, known - 1)) * variance**0.5
    ends = np.tanh([estimate, estimate - half, estimate + half])
    found = Interval(float(ends[0]), float(ends[1]), float(ends[2]), clusters)
    method = "Spearman, jackknife by identity" + (" and rater" if raters > 1 else "")
    quantity = f"{measured} and {question}"
    return Estimates.of(
        [row(quantity, "rank_correlation", "all", "images", found, level=level, n=len(frame), method=method)]
    )


@dataclass(frozen=True)
class _Answers:
    """Answers by image and rater, and the images' measured values, as ranks around 0 (from -1/2 to 1/2)."""

    answer: Floats
    image: Codes
    rater: Codes
    identity: Codes
    """Of each image."""
    mean: Floats
    """Mean answer of each image."""
    measured: Floats
    """Rank of each image's measured value."""

    @classmethod
    def of(cls, frame: pd.DataFrame) -> _Answers:
        image, keys = pd.factorize(frame["unit"])
        first = frame.drop_duplicates("unit").set_index("unit").loc[keys]
        answer = frame["value"].to_numpy(dtype=np.float64)
        mean = np.round(np.bincount(image, weights=answer) / np.bincount(image), _DIGITS)
        rank = _centered(stats.rankdata(first["measured"].to_numpy()))
        rater, identity = (pd.factorize(names)[0].astype(np.int64) for names in (frame["rater"], first["identity"]))
        return cls(answer, image.astype(np.int64), rater, identity, mean, rank)

    @cached_property
    def ranked(self) -> Floats:
        """Rank of each image's mean answer."""
        return _centered(stats.rankdata(self.mean))

    @cached_property
    def correlation(self) -> float:
        """Spearman's correlation."""
        return float(
            self.ranked @ self.measured / np.sqrt((self.ranked @ self.ranked) * (self.measured @ self.measured))
        )

    def variance(self) -> float:
        """Return the variance of the correlation, from what each image and each answer does to it."""
        images, people = self._pull_of_images(), int(self.identity.max()) + 1
        answers, raters = self._pull_of_answers(), int(self.rater.max()) + 1
        own = np.bincount(self.identity, weights=images, minlength=people)
        theirs = np.bincount(self.rater, weights=answers, minlength=raters)
        by_identity, by_rater, by_answer = (
            len(pull) * float(np.var(pull, ddof=1 if len(pull) > 1 else 0)) for pull in (own, theirs, answers)
        )
        return max(by_identity + by_rater - by_answer, by_identity, by_rater)

    def _pull_of_images(self) -> Floats:
        """Return the influence of each image: its own product of ranks, and the ranks that it moves."""
        x, y = self.measured, self.ranked
        xy = x * y + _above(x, y) + _above(y, x)
        xx, yy = (z * z + 2 * _above(z, z) for z in (x, y))
        pull = xy / np.sqrt((x @ x) * (y @ y)) - self.correlation * (xx / (x @ x) + yy / (y @ y)) / 2
        centered: Floats = pull - pull.mean()
        return centered

    def _pull_of_answers(self) -> Floats:
        """Return what leaving out each answer does, through its image's mean and so through ranks."""
        n, x = len(self.mean), self.measured[self.image]
        rest, old = np.bincount(self.image)[self.image] - 1, self.mean[self.image]
        new = np.round(old + (old - self.answer) / np.maximum(rest, 1), _DIGITS)
        order, by = np.sort(self.mean), np.argsort(self.mean, kind="stable")
        tail = np.r_[np.cumsum(self.measured[by][::-1])[::-1], 0.0]
        steps = [[np.searchsorted(order, at, side) for side in ("left", "right")] for at in (new, old)]
        below = [(left + right) / 2 for left, right in steps]
        above = [(tail[left] + tail[right]) / 2 for left, right in steps]
        up = np.sign(new - old)  # the image itself still stands at its old place
        moved = x * (below[0] - below[1] - up / 2) + above[0] - above[1] + x * up / 2
        change: Floats = moved / n / np.sqrt((self.measured @ self.measured) * (self.ranked @ self.ranked))
        return np.where(rest > 0, change, 0.0)


def _centered(ranks: Floats) -> Floats:
    """Write ranks as (rank - (n + 1) / 2) / n."""
    centered: Floats = (ranks - (len(ranks) + 1) / 2) / len(ranks)
    return centered


def _above(x: Floats, y: Floats) -> Floats:
    """Return for each image the mean of ``y`` over images that lie above it in ``x``, ties by half."""
    order = np.argsort(x, kind="stable")
    tail = np.r_[np.cumsum(y[order][::-1])[::-1], 0.0]
    ranks = x[order]
    above: Floats = (tail[np.searchsorted(ranks, x, "right")] + tail[np.searchsorted(ranks, x, "left")]) / (2 * len(x))
    return above
