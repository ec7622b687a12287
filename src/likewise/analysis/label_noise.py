"""label_noise: shares and gaps corrected for errors in predicted attributes, by a two-phase design.

Phase one predicts the attribute of every image. Phase two has people label a random part. The corrected estimator is
the difference estimator of two-phase sampling (Sarndal; "prediction-powered inference"): what the predictions give on
all images, plus what the labels add where they are known, weighted by one over the chance to be labeled. It is
unbiased whatever the predictions are, also if they err differently by group or together with the answer (differential
error), because the labeled part is random by design. Better predictions make it more precise, not more right.

The same holds for regression slopes, because an attribute of two levels enters the normal equations linearly: see
``covariates`` of ``corrected_gaps``. Multiple imputation and MC-SIMEX are in ``label_noise_models``.

``rogan_gladen`` corrects a share with known sensitivity and specificity, from another data set: it is right only if
they carry over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from likewise.analysis.rating_table import RatingTable
from likewise.errors import SpecError, TableError, some
from likewise.stats.dof import cluster_dof
from likewise.stats.intervals import Interval, share_interval
from likewise.stats.jackknife import Statistic, jackknife
from likewise.stats.least_squares import solve
from likewise.tables import Contrast, Estimates, Images, Ratings, Trials
from likewise.tables.estimates import row

Floats = npt.NDArray[np.float64]
CORRECTED, PREDICTED = "corrected for label noise", "as predicted"
_FEWEST = 30  # labels in the random part, below which nothing is corrected
_FEWEST_EACH = 5  # identities that people assign to each group, below which nothing is corrected
FEW_ERRORS = 8  # of these with the rarer of two answers, below which a gap in a share is not corrected


def corrected_gaps(
    ratings: Ratings,
    trials: Trials | None,
    images: Images,
    contrast: Contrast,
    *,
    labels: Mapping[str, str],
    covariates: Sequence[str] = (),
    level: float = 0.95,
) -> Estimates:
    """Estimate the gap between true groups when the contrast's column is a prediction and some images are labeled.

    Parameters
    ----------
    ratings, trials, images, contrast
        As in ``gaps``; the column of the contrast holds predictions.
    labels
        What people said about a *random* part of the images (of the first image of a trial).
    covariates
        Columns of ``images`` to adjust for: adds ``regression_gap``, the slope of the answer on the true attribute.
    level
        Confidence level.

    Returns
    -------
    Estimates
        ``gap`` (with covariates also ``regression_gap``) of the samples ``as predicted`` and ``corrected for label
        noise``, and for each predicted group
        ``label_accuracy``, the share of its predictions that the labels confirm. Of answers of 0 and 1 with too few
        errors of labeled people only the former, without an interval, and its method says so.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> true = np.where(rng.random(400) < 0.5, "f", "m")
    >>> wrong = np.where(rng.random(400) < 0.2, np.where(true == "f", "m", "f"), true)
    >>> frame = pd.DataFrame({"image": [f"i{k}" for k in range(400)], "predicted_sex": wrong})
    >>> images = Images(frame.assign(identity=frame["image"]))
    >>> value = (true == "f") * 1.0 + rng.normal(0, 0.5, 400)
    >>> answers = pd.DataFrame({"unit": frame["image"], "rater": "m", "question": "q", "value": value})
    >>> labels = dict(zip(frame["image"][:150], true[:150], strict=True))
    >>> about = (Ratings(answers), None, images, Contrast("predicted_sex", "f", "m"))
    >>> gap = corrected_gaps(*about, labels=labels).where(stat="gap").frame.set_index("sample")["estimate"]
    >>> bool(gap["as predicted"] < 0.75 < 0.85 < gap["corrected for label noise"])
    True
    """
    check_labels(labels, contrast, images)
    rows = _accuracy_rows(labels, images, contrast, level)
    table = RatingTable(ratings, trials, images, contrast)
    numbers = table.covariates(covariates)
    for quantity, part in table.by_quantity():
        x = numbers.loc[part["unit"]].to_numpy(dtype=np.float64)
        rows += _gap_rows(quantity, part, labels, contrast, level, x)
    return Estimates.of(rows)


def corrected_share(images: Images, contrast: Contrast, *, labels: Mapping[str, str], level: float = 0.95) -> Estimates:
    """Estimate the share of the focal group when the column is a prediction and a random part is labeled."""
    check_labels(labels, contrast, images)
    side = contrast.side(images)
    part = pd.DataFrame({"side": side, "identity": images.identities, "image": side.index})
    laid = Phases(part[part["side"] != 0], labels, contrast)
    # Two shares were fitted to the labels: residuals are too small. They sum to zero, so the estimate stays.
    wider = (laid.known + 1) / max(laid.known - 1, 1)
    columns = np.column_stack([laid.size, laid.size * laid.chance, laid.rectifier * wider**0.5])
    found = jackknife(columns, lambda t: (t[..., 1] + t[..., 2]) / t[..., 0], [laid.codes], level=level, dof=laid.known)
    middle, low, high = (float(np.clip(end, 0, 1)) for end in (found.estimate, found.low, found.high))
    clipped = Interval(middle, low, high, found.clusters)
    naive = float((laid.predicted * laid.size).sum() / laid.size.sum())
    n, method = len(part), "two-phase difference estimator, jackknife by identity"
    write = partial(row, contrast.column, "share", group=str(contrast.focal), n=n)
    return Estimates.of(
        [
            write(PREDICTED, found=naive, method="predictions taken for true"),
            write(CORRECTED, found=clipped, level=level, method=method),
        ]
    )


def rogan_gladen(share: float, *, sensitivity: float, specificity: float) -> float:
    """Return the true share from the predicted one, given sensitivity and specificity (Rogan and Gladen 1978).

    Examples
    --------
    >>> round(rogan_gladen(0.38, sensitivity=0.8, specificity=0.9), 3)
    0.4
    """
    youden = sensitivity + specificity - 1
    if not youden > 0:
        problem = f"Sensitivity {sensitivity:g} and specificity {specificity:g} are no better than chance"
        raise SpecError(problem, fix="Use another predictor.")
    return float(np.clip((share + specificity - 1) / youden, 0.0, 1.0))


def labels_needed(
    *, images: int, error: float, half_width: float, focal_share: float = 0.5, spread: float = 1.0, level: float = 0.95
) -> int:
    """Return how many images to label so that the corrected gap has an interval of at most +- ``half_width``.

    Parameters
    ----------
    images
        All images (as if each showed another identity).
    error
        Share of predictions that are wrong.
    half_width
        Half the width of the interval, in the unit of the answers.
    focal_share
        Share of the focal group.
    spread
        Standard deviation of the answers within a group.
    level
        Confidence level.

    Examples
    --------
    >>> labels_needed(images=20_000, error=0.1, half_width=0.1)
    582
    """
    if not (images > 0 and 0 <= error < 0.5 and half_width > 0 and 0 < focal_share < 1 and spread > 0):
        fix = "Use error from 0 to below 0.5, focal_share between 0 and 1, and positive numbers for the others."
        raise SpecError("images, error, half_width, focal_share or spread is out of range", fix=fix)
    z = float(stats.norm.ppf((1 + level) / 2))
    scale = 1 / focal_share + 1 / (1 - focal_share)
    plain = spread**2 * scale / images  # the variance with true labels of all
    residual = error * (1 - error) * (spread * scale) ** 2  # of (label - prediction) (answer - mean) / shares
    left = (half_width / z) ** 2 - plain
    if left <= 0:
        fix = f"Even with all images labeled it is {z * plain**0.5:.3g}: add images."
        raise SpecError(f"A half width of {half_width:g} is out of reach with {images:,} images", fix=fix)
    return int(min(np.ceil(1 / (left / residual + 1 / images)), images))


class Phases:
    """Predictions of all rows, labels of some, and weights: every identity weighs 1."""

    def __init__(self, part: pd.DataFrame, labels: Mapping[str, str], contrast: Contrast) -> None:
        known = part["image"].map(dict(labels))
        self.predicted = (part["side"] == 1).to_numpy(dtype=np.float64)
        self.labeled = known.isin([str(contrast.focal), str(contrast.reference)]).to_numpy()
        if self.labeled.sum() < _FEWEST:
            problem = f"Only {int(self.labeled.sum())} of these ratings are of labeled images"
            raise TableError(problem, fix=f"Label at least {_FEWEST}, drawn at random.")
        self.true = np.where(self.labeled, known.eq(str(contrast.focal)).to_numpy(dtype=np.float64), 0.0)
        self.codes = pd.factorize(part["identity"])[0].astype(np.int64)
        for value, name in ((1.0, contrast.focal), (0.0, contrast.reference)):
            count = len(np.unique(self.codes[self.labeled & (self.true == value)]))
            if count < _FEWEST_EACH:
                problem = f"Only {count} identities are labeled {str(name)!r}"
                raise TableError(
                    problem, fix=f"Label more images, drawn at random: at least {_FEWEST_EACH} of each group."
                )
        self.size = 1.0 / np.bincount(self.codes)[self.codes]
        self.chance = self._calibrated()
        sampled = float((self.size * self.labeled).sum() / self.size.sum())
        self.rectifier = np.where(self.labeled, (self.true - self.chance) / sampled, 0.0) * self.size
        self.member = self.size * self.chance + self.rectifier
        own = np.unique(self.codes[self.labeled], return_inverse=True)[1]
        self.known = cluster_dof([own], self.size[self.labeled])
        """Degrees of freedom: most of what is uncertain is what the labeled identities say."""

    def too_few(self, y: Floats) -> str:
        """Say why yes-or-no answers cannot be corrected; nothing where they can.

        What the labels add is seen on labeled people's answers of the rarer kind. With fewer than eight people with one
        in either true group intervals held in 82 to 93 % of worlds, above that in about 95 (docs/coverage.md).
        """
        if not np.isin(y, (0.0, 1.0)).all():
            return ""
        cells = [self.labeled & (self.true == group) & (y == kind) for group in (0.0, 1.0) for kind in (0.0, 1.0)]
        fewest = min(len(np.unique(self.codes[cell])) for cell in cells)
        each = f"{fewest} of {FEW_ERRORS} in a group"
        return f"too few errors of labeled people to correct ({each})" if fewest < FEW_ERRORS else ""

    def _calibrated(self) -> Floats:
        """Return for each row the share of its predicted group that is truly focal, in the labeled part."""
        chance = np.empty(len(self.predicted))
        for value in (0.0, 1.0):
            own, seen = self.predicted == value, (self.predicted == value) & self.labeled
            chance[own] = np.average(self.true[seen], weights=self.size[seen]) if seen.any() else value
        return chance


def _gap_rows(
    quantity: str, part: pd.DataFrame, labels: Mapping[str, str], contrast: Contrast, level: float, x: Floats
) -> list[dict[str, object]]:
    laid, y = Phases(part, labels, contrast), part["value"].to_numpy(dtype=np.float64)
    write = partial(row, quantity, group=contrast.label, level=level, n=len(y))
    by, rows = "jackknife by identity", []
    for sample, member, method in (
        (PREDICTED, laid.size * laid.predicted, f"{by}, predictions taken for true"),
        (CORRECTED, laid.member, f"two-phase difference estimator, {by}"),
    ):
        for stat, z in [("gap", x[:, :0])] + ([("regression_gap", x)] if x.shape[1] else []):
            columns, statistic = moments(laid.size, member, z, y)
            dof = laid.known if sample == CORRECTED else None
            found = jackknife(columns, statistic, [laid.codes], level=level, dof=dof)
            estimand = "unadjusted" if stat == "gap" else "ATE (regression)"
            rows.append(write(stat, sample, found=found, method=method, estimand=estimand))
    why = laid.too_few(y)
    return [_refused(line, why) for line in rows if line["sample"] == PREDICTED] if why else rows


def _refused(line: Mapping[str, object], why: str) -> dict[str, object]:
    """Return the row of a gap between predicted groups without its interval: nothing is corrected, and why."""
    method = f"predictions taken for true; {why}"
    return {**line, "low": np.nan, "high": np.nan, "level": np.nan, "method": method}


def moments(size: Floats, member: Floats, x: Floats, y: Floats) -> tuple[Floats, Statistic]:
    """Return columns and statistic of the slope of ``y`` on membership, given ``x [n, k]``, by least squares.

    Membership is 0 or 1, so it equals its square, and all moments that it enters are linear in it: each may be replaced
    by an unbiased estimate, ``member``. Without ``x`` the slope is the difference of the two means.
    """
    z = np.column_stack([np.ones(len(y)), x - x.mean(axis=0), y - y.mean()])  # [n, 1 + k + 1]
    k = z.shape[1] - 1
    gram = (z[:, :k, None] * z[:, None, :]).reshape(len(y), -1) * size[:, None]  # of ones and x with ones, x and y
    columns = np.column_stack([gram, z * member[:, None]])

    def statistic(total: Floats) -> Floats:
        rest = total[..., : k * (k + 1)].reshape(*total.shape[:-1], k, k + 1)
        own = total[..., k * (k + 1) :]  # of membership with ones (and itself), x and y
        top = np.concatenate([own[..., None, :1], own[..., None, :k]], axis=-1)
        below = np.concatenate([own[..., :k, None], rest[..., :k]], axis=-1)
        moment = np.concatenate([own[..., k:], rest[..., k]], axis=-1)
        slope: Floats = solve(np.concatenate([top, below], axis=-2), moment)[..., 0]
        return slope

    return columns, statistic


def _accuracy_rows(
    labels: Mapping[str, str], images: Images, contrast: Contrast, level: float
) -> list[dict[str, object]]:
    """Report by predicted group which share of the predictions the labels confirm."""
    side, rows = contrast.side(images), []
    for sign, name in ((1, contrast.focal), (-1, contrast.reference)):
        mine = [key for key in side.index[side == sign] if key in labels]
        if len(mine) < 2:
            continue
        hit = np.array([str(labels[key]) == str(name) for key in mine], dtype=np.float64)
        codes = pd.factorize(images.identities.loc[mine])[0].astype(np.int64)
        clusters, share = int(codes.max()) + 1, float(hit.mean())
        low, high, _ = share_interval(
            share, share * (1 - share) / clusters, n=len(hit), clusters=clusters, level=level, dof=cluster_dof([codes])
        )
        write = partial(row, contrast.column, "label_accuracy", "labeled", str(name), level=level, n=len(hit))
        rows.append(write(Interval(share, low, high, clusters), method="Wilson by identity"))
    return rows


def check_labels(labels: Mapping[str, str], contrast: Contrast, images: Images) -> None:
    """Refuse labels of unknown images, and labels none of which is a level of the contrast."""
    unknown = sorted(set(labels) - set(images.keys))
    if unknown:
        raise TableError(f"Labels of unknown images: {some(unknown)}", fix="Labels belong to images of this table.")
    known = {str(contrast.focal), str(contrast.reference)}
    if not known & {str(value) for value in labels.values()}:
        raise TableError(f"No label is one of {some(sorted(known))}", fix="Labels use the levels of the contrast.")
