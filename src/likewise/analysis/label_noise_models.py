"""label_noise_models: gaps corrected for label noise by multiple imputation and by MC-SIMEX.

``corrected_gaps`` (``label_noise``) needs no model of the error. These two do, and are shown beside it:

- *Multiple imputation*: the true group of unlabeled images is drawn from a logistic model of the label given the
  prediction, the answer and their product, fitted to the labeled part. With the answer in the model, error may be
  differential. Each draw refits the model to resampled labeled identities, so that its uncertainty counts (Rubin).
  Narrower than the difference estimator where the model is right.
- *MC-SIMEX* (Kuechenhoff, Mwalili and Lesaffre 2006): predictions are made worse step by step with the estimated
  misclassification matrix, and the gap is extrapolated back to no error along a parabola. It needs only the matrix,
  which may come from elsewhere, but error must not depend on the answer given the true group, and large errors are
  undercorrected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy import stats

from likewise.analysis.label_noise import Phases, check_labels
from likewise.analysis.rating_table import RatingTable
from likewise.errors import InputError
from likewise.stats.intervals import Interval
from likewise.stats.jackknife import covariance
from likewise.tables import Contrast, Estimates, Images, Ratings, Trials
from likewise.tables.estimates import remarked, row

Floats = npt.NDArray[np.float64]
IMPUTED, SIMEX = "labels imputed", "MC-SIMEX"
_STEPS = (0.0, 0.5, 1.0, 1.5, 2.0)  # how often predictions are misclassified once more
_BLOCKS = 40  # blocks of identities that the jackknife of MC-SIMEX leaves out


def imputed_gaps(
    ratings: Ratings,
    trials: Trials | None,
    images: Images,
    contrast: Contrast,
    *,
    labels: Mapping[str, str],
    imputations: int = 20,
    seed: int = 0,
    level: float = 0.95,
) -> Estimates:
    """Estimate the gap between true groups by multiple imputation of the labels.

    Parameters
    ----------
    ratings, trials, images, contrast, labels
        As in ``corrected_gaps``.
    imputations, seed
        Imputed tables, and the seed of their draws.
    level
        Confidence level.

    Returns
    -------
    Estimates
        ``gap`` of the sample ``labels imputed``.
    """
    check_labels(labels, contrast, images)

    def found(laid: Phases, y: Floats) -> tuple[Interval, str]:
        rng = np.random.default_rng(seed)
        draws = np.array([_gap_of(laid, _imputed(laid, y, rng), y) for _ in range(imputations)])  # [m, 2]
        interval = _rubin(draws, laid.known, int(laid.codes.max()) + 1, level)
        return interval, f"multiple imputation ({imputations}), jackknife by identity, Rubin"

    return _gaps(RatingTable(ratings, trials, images, contrast), labels, contrast, found, sample=IMPUTED, level=level)


def simex_gaps(
    ratings: Ratings,
    trials: Trials | None,
    images: Images,
    contrast: Contrast,
    *,
    labels: Mapping[str, str],
    repeats: int = 50,
    seed: int = 0,
    level: float = 0.95,
) -> Estimates:
    """Estimate the gap between true groups by MC-SIMEX, with the misclassification matrix of the labeled part.

    Parameters
    ----------
    ratings, trials, images, contrast, labels
        As in ``corrected_gaps``.
    repeats, seed
        Simulated misclassifications at each step, and their seed.
    level
        Confidence level.

    Returns
    -------
    Estimates
        ``gap`` of the sample ``MC-SIMEX``.
    """
    check_labels(labels, contrast, images)

    def found(laid: Phases, y: Floats) -> tuple[Interval, str]:
        block = np.random.default_rng(seed).permutation(int(laid.codes.max()) + 1)[laid.codes] % _BLOCKS
        uniform = np.random.default_rng(seed).random((repeats, len(y)))
        whole = _extrapolated(laid, y, uniform, np.ones(len(y), dtype=bool))
        parts = np.array([_extrapolated(laid, y, uniform, block != b) for b in np.unique(block)])
        g = len(parts)
        half = float(stats.t.ppf((1 + level) / 2, g - 1) * ((g - 1) / g * np.square(parts - whole).sum()) ** 0.5)
        method = remarked(f"MC-SIMEX, quadratic, jackknife by {g} blocks", "error must not depend on the answer")
        return Interval(whole, whole - half, whole + half, int(laid.codes.max()) + 1), method

    return _gaps(RatingTable(ratings, trials, images, contrast), labels, contrast, found, sample=SIMEX, level=level)


def _gaps(
    table: RatingTable, labels: Mapping[str, str], contrast: Contrast,
    estimate: Callable[[Phases, Floats], tuple[Interval, str]], *, sample: str, level: float,
) -> Estimates:  # fmt: skip
    """Return one row per quantity; ``estimate`` gives its interval and the method.

    Answers of 0 and 1 with too few errors of labeled people are left out: ``corrected_gaps`` says so.
    """
    rows = []
    for quantity, part in table.by_quantity():
        y, laid = part["value"].to_numpy(dtype=np.float64), Phases(part, labels, contrast)
        if laid.too_few(y):
            continue
        found, method = estimate(laid, y)
        write = partial(row, quantity, "gap", sample, contrast.label, level=level, n=len(y))
        rows.append(write(found, method=method, estimand="unadjusted"))
    return Estimates.of(rows)


def _gap_of(laid: Phases, member: Floats, y: Floats) -> tuple[float, float]:
    """Return the gap between members and others, every identity weighing 1, and its clustered variance."""
    w = laid.size
    columns = np.column_stack([w, w * y, w * member, w * member * y])

    def gap(t: Floats) -> Floats:
        found: Floats = t[..., 3] / t[..., 2] - (t[..., 1] - t[..., 3]) / (t[..., 0] - t[..., 2])
        return found

    variance = float(covariance(columns, lambda t: gap(t)[..., None], [laid.codes])[0, 0])
    return float(gap(columns.sum(axis=0))), variance


def _imputed(laid: Phases, y: Floats, rng: np.random.Generator) -> Floats:
    """Draw the true group of unlabeled rows from a model fitted to resampled labeled identities.

    An identity has one true group, so that the model errs for all of its images together: they share one random number.
    Drawn image by image the errors averaged out, and intervals held in 92 to 94 %.
    """
    z = (y - y.mean()) / (y.std() or 1.0)
    design = np.column_stack([np.ones(len(y)), laid.predicted, z, laid.predicted * z])
    people = np.unique(laid.codes[laid.labeled])
    count_of = np.bincount(rng.choice(people, len(people)), minlength=int(laid.codes.max()) + 1)
    count = count_of[laid.codes[laid.labeled]].astype(np.float64)
    beta = _logistic(design[laid.labeled], laid.true[laid.labeled], count)
    chance = 1 / (1 + np.exp(-np.clip(design @ beta, -30, 30)))
    drawn = (rng.random(len(count_of))[laid.codes] < chance).astype(np.float64)
    member: Floats = np.where(laid.labeled, laid.true, drawn)
    return member


def _logistic(x: Floats, hit: Floats, weight: Floats) -> Floats:
    """Fit a logistic regression with weak shrinkage, which keeps separated groups finite, by Newton's method."""
    beta = np.zeros(x.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(x @ beta, -30, 30)))
        slope = x.T @ (weight * (hit - chance)) - 0.1 * beta
        curve = (x * (weight * chance * (1 - chance))[:, None]).T @ x + 0.1 * np.eye(len(beta))
        step = np.linalg.solve(curve, slope)
        beta = beta + step
        if np.abs(step).max() < 1e-8:
            break
    return beta


def _rubin(draws: Floats, dof: float, clusters: int, level: float) -> Interval:
    """Pool gaps and variances ``[m, 2]`` over imputations; small-sample degrees of freedom (Barnard and Rubin 1999)."""
    m, within, between = len(draws), float(draws[:, 1].mean()), float(draws[:, 0].var(ddof=1))
    total = within + (1 + 1 / m) * between
    share = (1 + 1 / m) * between / total if total > 0 else 0.0
    old = (m - 1) / max(share, 1e-9) ** 2
    observed = (dof + 1) / (dof + 3) * dof * (1 - share)
    known = max(1 / (1 / old + 1 / max(observed, 1e-9)), 1.0)
    half = float(stats.t.ppf((1 + level) / 2, known)) * total**0.5
    middle = float(draws[:, 0].mean())
    return Interval(middle, middle - half, middle + half, clusters)


def _extrapolated(laid: Phases, y: Floats, uniform: Floats, kept: npt.NDArray[np.bool_]) -> float:
    """Return the gap extrapolated to no misclassification, from the rows that are kept."""
    w, seen = laid.size * kept, laid.labeled & kept
    hit = [np.average(laid.predicted[seen & (laid.true == g)], weights=w[seen & (laid.true == g)]) for g in (0.0, 1.0)]
    matrix = np.array([[1 - hit[0], 1 - hit[1]], [hit[0], hit[1]]])  # of prediction given truth
    if not hit[1] - hit[0] > 0.05:
        raise InputError("Predictions are hardly better than chance", fix="Use another predictor.")
    values, vectors = np.linalg.eig(matrix)
    gaps = []
    for step in _STEPS:
        worse = (vectors * np.maximum(values, 1e-12) ** step) @ np.linalg.inv(vectors)
        focal = (uniform < np.where(laid.predicted == 1, worse[1, 1], worse[1, 0])).astype(np.float64)  # [B, n]
        one, other = focal @ (w * y) / (focal @ w), (1 - focal) @ (w * y) / ((1 - focal) @ w)
        gaps.append(float((one - other).mean()))
    return float(np.polyval(np.polyfit(_STEPS, gaps, 2), -1.0))
