"""sensitivity: how much unmeasured confounding a matched gap withstands, beside what was observed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from likewise.analysis.gaps.pair_weights import unit_column
from likewise.analysis.gaps.rating_arrays import RatingArrays, difference, rating_arrays
from likewise.analysis.gaps.rows import Gap
from likewise.analysis.rating_table import RatingTable
from likewise.analysis.sensitivity.e_value import e_value, e_value_limit, ratio_of_difference
from likewise.analysis.sensitivity.omitted_variable import omitted_variable_rows
from likewise.analysis.sensitivity.rosenbaum import INDEPENDENT, Sampling, Sets, bound_of, critical_gamma
from likewise.errors import InputError, TableError
from likewise.stats.intervals import Interval, bare
from likewise.stats.jackknife import covariance, jackknife
from likewise.stats.logit import coefficient
from likewise.stats.randomization import set_permutation, sign_flip
from likewise.tables import Contrast, Estimates, Images, Matches, Ratings, Trials
from likewise.tables.estimates import remarked, row

Floats = npt.NDArray[np.float64]


def sensitivity(
    ratings: Ratings,
    trials: Trials | None,
    images: Images,
    contrast: Contrast,
    *,
    pairs: Matches,
    covariates: Sequence[str] = (),
    panel: str | None = None,
    alpha: float = 0.05,
    level: float = 0.95,
    seed: int = 0,
) -> Estimates:
    """Estimate for each rater and question how much unmeasured confounding its matched gap withstands.

    Parameters
    ----------
    ratings, trials, images, contrast, pairs, panel
        As in ``gaps``. With a panel, raters are a sample: p, Gamma and E-values allow for it.
    covariates
        Numeric columns, as benchmarks and for the adjusted estimate.
    alpha
        Level of the two-sided test whose significance Gamma is about (one-sided at alpha / 2).
    level, seed
        Confidence level; seed of the randomization test.

    Returns
    -------
    Estimates
        Of the plain matched gap: ``p_value`` (randomization within sets; with a panel, a t test over pairs and raters),
        ``gamma`` (Rosenbaum), ``e_value`` and ``e_value_limit``. Of the adjusted gap: ``robustness_value`` and
        ``robustness_value_limit`` (Cinelli and Hazlett). For each covariate ``odds_ratio`` with the attribute (compare
        with Gamma), ``answer_ratio`` (compare with the E-value), ``partial_r2_attribute``, ``partial_r2_answer`` and
        ``gap_with_confounder``, the adjusted gap that a confounder as strong as the covariate would leave.

    Notes
    -----
    Images that are in several sets make the sets share answers; Rosenbaum's bounds do not hold then, and no ``gamma``
    is given. Identities that are in several sets with different images make the sets dependent: p is a t test over
    what pairs link, and Gamma allows for the larger variance.

    Examples
    --------
    >>> from likewise.simulation.system_ratings import CONTRAST, VerificationTrials
    >>> ratings, trials, images, pairs = VerificationTrials(60, seed=1).tables()
    >>> same = trials.genuine()
    >>> own = Ratings(ratings.frame[ratings.frame["unit"].isin(same.keys)])
    >>> found = sensitivity(own, same, images, CONTRAST, pairs=pairs, covariates=["eyeglasses"])
    >>> "robustness_value" in set(found.frame["stat"])
    True
    """
    rows: list[dict[str, object]] = []
    for arrays in rating_arrays(RatingTable(ratings, trials, images, contrast, panel), pairs, covariates):
        arrays.need_both("matched")
        rows += _set_rows(arrays, pairs, alpha, seed)
        rows += _e_rows(arrays, level)
        rows += omitted_variable_rows(arrays, level)
        answer = pd.Series(arrays.y).groupby(arrays.image).mean()
        for covariate in covariates:
            rows += _observed(arrays, covariate, answer, images, level)
    return Estimates.of(rows)


def matched_sets(arrays: RatingArrays, pairs: Matches) -> Sets:
    """Return the answers of each matched set, the focal unit's first, each the mean over its ratings."""
    answer = pd.Series(arrays.y).groupby(arrays.unit if unit_column(pairs) == "unit" else arrays.image).mean()
    frame = pairs.frame[["a", "b"]]
    rated = pd.DataFrame({"set": frame["a"], "a": frame["a"].map(answer), "b": frame["b"].map(answer)}).dropna()
    codes = pd.factorize(rated["set"])[0]
    order = np.argsort(codes, kind="stable")
    first = np.flatnonzero(np.diff(codes[order], prepend=-1))
    focal, others = rated["a"].to_numpy()[order][first], np.split(rated["b"].to_numpy()[order], first[1:])
    sets = [np.r_[own, other] for own, other in zip(focal, others, strict=True)] if len(first) else []
    if len(sets) < 2:
        raise TableError(f"{len(sets)} matched pairs were rated on both sides", fix="At least two are needed.")
    return sets


def _set_rows(arrays: RatingArrays, pairs: Matches, alpha: float, seed: int) -> list[dict[str, object]]:
    """Write p and Gamma of the plain matched gap."""
    sets, shared = matched_sets(arrays, pairs), bool(pairs.frame["b"].duplicated().any())
    linked = len(np.unique(arrays.linked[arrays.matched > 0])) < len(sets)  # identities that are in several sets
    write = partial(row, arrays.quantity, sample="matched", group=arrays.contrast.label, n=len(sets))
    if arrays.panel or linked:
        p, method = _t_test(arrays), "t test over pairs and raters" if arrays.panel else "t test over linked pairs"
    elif all(len(values) == 2 for values in sets):
        p = sign_flip(np.array([values[0] - values[1] for values in sets]), seed=seed)
        method = "sign flips within pairs"
    else:
        p, method = set_permutation(sets, seed=seed), "permutation within sets"
    rows = [write("p_value", found=bare(p, len(sets)), method=method)]
    if shared:
        return rows
    bound, name = bound_of(sets, sampling=_sampling(arrays, sets) if arrays.panel or linked else INDEPENDENT)
    lost = critical_gamma(bound, alpha=alpha / 2)
    word = "not significant even without confounding" if lost == 1 else ""
    name += ", raters as a sample" if arrays.panel else ", linked pairs" if linked else ""
    return [*rows, write("gamma", found=bare(lost, len(sets)), method=remarked(f"Rosenbaum bounds, {name}", word))]


def _variance(arrays: RatingArrays) -> float:
    """Return the variance of the matched gap over what pairs link and, of a panel, raters."""
    used = arrays.matched > 0
    codes = [pd.factorize(cluster[used])[0].astype(np.int64) for cluster in arrays.clusterings(paired=True)]
    return float(covariance(arrays.sums("matched")[used], lambda t: difference(t)[..., None], codes)[0, 0])


def _sampling(arrays: RatingArrays, sets: Sets) -> Sampling:
    """Return how much more the gap varies than it would over independent sets: never less."""
    own = float(np.var([values[0] - values[1:].mean() for values in sets], ddof=1)) / len(sets)
    ratio = _variance(arrays) / own if own > 0 else 1.0
    return Sampling(max(ratio, 1.0), Gap(arrays, "matched", 0.95).dof())


def _t_test(arrays: RatingArrays) -> float:
    gap = float(difference(arrays.sums("matched").sum(axis=0)))
    variance = _variance(arrays)
    if not (np.isfinite(variance) and variance > 0):
        return 1.0
    return float(2 * stats.t.sf(abs(gap) / variance**0.5, Gap(arrays, "matched", 0.95).dof()))


def _risk_ratio(arrays: RatingArrays, level: float) -> Interval | None:
    """Return the ratio of the matched shares of yes; None where it has no interval."""
    used, columns = arrays.matched > 0, arrays.sums("matched")
    total = columns.sum(axis=0)
    if not (total[2] > 0 and total[3] > 0):
        return None
    codes = [pd.factorize(cluster[used])[0].astype(np.int64) for cluster in arrays.clusterings(paired=True)]

    def log_ratio(sums: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            found: Floats = np.log(sums[..., 2] / sums[..., 0]) - np.log(sums[..., 3] / sums[..., 1])
        return found

    options = {"clusters": arrays.pairs, "dof": Gap(arrays, "matched", level).dof()}
    try:
        return _exp(jackknife(columns[used], log_ratio, codes, level=level, size=arrays.matched[used], **options))  # type: ignore[arg-type]
    except InputError:  # all of a group's yeses come from one pair
        return None


def _e_rows(arrays: RatingArrays, level: float) -> list[dict[str, object]]:
    """Write the E-value: of the risk ratio for yes or no, else of the ratio that approximates a standardized gap."""
    gap, _ = Gap(arrays, "matched", level).gap()
    spread = float(pd.Series(arrays.y).groupby(arrays.image).mean().std())
    ratio = _risk_ratio(arrays, level) if arrays.binary else None
    method = "E-value of the risk ratio"
    if ratio is None:
        middle, low, high = (ratio_of_difference(value, spread) for value in (gap.estimate, gap.low, gap.high))
        ratio, method = Interval(middle, low, high, gap.clusters), "E-value of exp(0.91 gap / sd)"
    write = partial(
        row, arrays.quantity, sample="matched", group=arrays.contrast.label, n=int((arrays.matched > 0).sum())
    )
    limit, end = e_value_limit(ratio.low, ratio.high), f"end of {level:.0%}".replace("%", " %")
    return [
        write("e_value", found=bare(e_value(ratio.estimate), gap.clusters), method=method),
        write("e_value_limit", found=bare(limit, gap.clusters), method=f"{method}, {end}"),
    ]


def _observed(
    arrays: RatingArrays, name: str, answer: pd.Series, images: Images, level: float
) -> list[dict[str, object]]:
    """Measure how a covariate is associated with the attribute and with the answers, among the rated images."""
    side = arrays.contrast.side(images).loc[answer.index]
    values = pd.to_numeric(images.attribute(name).loc[answer.index], errors="coerce")
    there = ((side != 0) & values.notna()).to_numpy()
    z = values.to_numpy(dtype=np.float64)[there]
    if len(z) < 3 or z.std() == 0:
        raise InputError(f"Covariate {name!r} has no variation in {len(z)} numbers", fix="Leave it out.")
    x = np.column_stack([np.ones(len(z)), (z - z.mean()) / z.std()])
    codes = pd.factorize(images.identities.loc[answer.index][there])[0].astype(np.int64)
    focal = (side.to_numpy()[there] == 1).astype(np.float64)
    odds, word = coefficient(x, focal, [codes], 1, level=level)
    write = partial(row, arrays.quantity, sample="all", group=f"{name} (per sd)", level=level, n=len(z))
    answers = answer.to_numpy(dtype=np.float64)[there]
    by_mean = arrays.binary and answers.mean() > 0
    formula = "slope sd / mean" if by_mean else "0.91 correlation"
    return [
        write("odds_ratio", found=_exp(odds), method=remarked("logit clustered by identity", word)),
        write(
            "answer_ratio",
            found=_exp(_log_ratio(z, answers, codes, level, by_mean=by_mean)),
            method=f"exp({formula}), jackknife by identity",
        ),
    ]


def _log_ratio(z: Floats, y: Floats, codes: npt.NDArray[np.int64], level: float, *, by_mean: bool) -> Interval:
    """Return the log of how much higher answers are with z a standard deviation higher.

    Of yes and no that is the slope over the share of yes (``by_mean``), of others the ratio that approximates a
    correlation.
    """
    middle = float(y.mean())
    z, y = z - z.mean(), y - middle
    columns = np.column_stack([np.ones(len(z)), z, y, z * z, z * y, y * y])

    def statistic(total: Floats) -> Floats:
        means = total[..., 1:] / total[..., :1]
        z1, y1, zz, zy, yy = np.moveaxis(means, -1, 0)
        spread = np.sqrt(np.maximum(zz - z1**2, 1e-300))
        scale = 1 / (middle + y1) if by_mean else 0.91 / np.sqrt(np.maximum(yy - y1**2, 1e-300))
        log: Floats = scale * (zy - z1 * y1) / spread
        return log

    return jackknife(columns, statistic, [codes], level=level)


def _exp(found: Interval) -> Interval:
    ends = np.exp([found.estimate, found.low, found.high])
    return Interval(float(ends[0]), float(ends[1]), float(ends[2]), found.clusters)
