"""sensitivity: how strong something hidden would have to be to explain a matched gap, beside what was observed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.analyse.asked import Asked
from likewise.analyse.bounds import e_value, e_value_limit, gamma_lost, mcnemar_p, ratio_of_difference, signed_rank_p
from likewise.analyse.gaps import Sheet, gaps, sheets
from likewise.analyse.logit import coefficient
from likewise.analyse.resample import Interval, jackknife, sign_flip
from likewise.analyse.rows import bare, remarked, row
from likewise.errors import InputError, TableError
from likewise.tables import Contrast, Estimates, Faces, Pairs, Ratings

Floats = npt.NDArray[np.float64]


def sensitivity(
    ratings: Ratings,
    trials: Pairs | None,
    faces: Faces,
    contrast: Contrast,
    *,
    pairs: Pairs,
    covariates: Sequence[str] = (),
    panel: str | None = None,
    alpha: float = 0.05,
    level: float = 0.95,
    seed: int = 0,
) -> Estimates:
    """Estimate for each rater and question how much hidden bias its matched gap withstands.

    With ``panel`` all raters are one panel of that name, as in ``gaps``. Rows of a question: ``p_value`` (swaps within
    pairs), ``gamma`` (one-sided at alpha / 2, so that Gamma = 1 agrees with the two-sided test),
    ``e_value`` of the gap and of its interval. For each numeric covariate: ``odds_ratio``,
    how strongly it goes with the attribute in all rated images (read it beside Gamma), and ``answer_ratio``, how
    strongly the answer goes with it (read it beside the E-value; both per standard deviation).
    """
    matched = gaps(ratings, trials, faces, contrast, pairs=pairs, panel=panel, level=level)
    found = matched.where(stat="gap", sample="matched").frame.set_index("quantity")
    laid = {sheet.quantity: sheet for sheet in sheets(Asked(ratings, trials, faces, contrast, panel), pairs, ())}
    rows: list[dict[str, object]] = []
    for quantity, part in Asked(ratings, trials, faces, contrast, panel).by_quantity():
        answer = part.groupby("image")["value"].mean()
        gap = found[found.index == quantity].iloc[0]
        rows += _pair_rows(quantity, _differences(answer, pairs), contrast, alpha, seed)
        yes_no = bool(part["value"].isin([0.0, 1.0]).all())
        ratio = _risk_ratio(laid[quantity], level) if yes_no else None
        rows += _e_rows(quantity, answer, gap, contrast, level, ratio)
        for covariate in covariates:
            rows += _observed(quantity, covariate, answer, faces, contrast, level, yes_no=yes_no)
    return Estimates.of(rows)


def _differences(answer: pd.Series, pairs: Pairs) -> Floats:
    """Return the focal answer less the mean of its references', one a set: the pairs of a set are not independent."""
    frame = pairs.frame[["a", "b"]]
    told = pd.DataFrame({"set": frame["a"], "a": frame["a"].map(answer), "b": frame["b"].map(answer)}).dropna()
    means = told.groupby("set", sort=False).mean()
    d = (means["a"] - means["b"]).to_numpy(dtype=np.float64)
    if len(d) < 2:
        raise TableError("two pairs at least were answered on both sides", got=str(len(d)))
    return d


def _pair_rows(quantity: str, d: Floats, contrast: Contrast, alpha: float, seed: int) -> list[dict[str, object]]:
    toward = d if d.mean() >= 0 else -d
    yes_no = bool(np.isin(d, (-1.0, 0.0, 1.0)).all())
    bound = (
        partial(mcnemar_p, int((toward > 0).sum()), int((toward < 0).sum()))
        if yes_no
        else partial(signed_rank_p, toward)
    )
    lost = gamma_lost(bound, alpha=alpha / 2)
    word = "not significant even without hidden bias" if lost == 1 else ""
    method = remarked(f"Rosenbaum bounds, {'McNemar' if yes_no else 'signed rank'}", word)
    write = partial(row, quantity, sample="matched", group=contrast.label, level=np.nan, n=len(d))
    return [
        write("p_value", found=bare(sign_flip(d, seed=seed), len(d)), method="swaps within pairs"),
        write("gamma", found=bare(lost, len(d)), method=method),
    ]


def _risk_ratio(sheet: Sheet, level: float) -> Interval | None:
    """Return the ratio of the matched shares of yes; None where one of them is 0."""
    columns, _ = sheet.alike()
    mine = columns[:, :2].any(axis=1)
    total = columns.sum(axis=0)
    if not (total[2] > 0 and total[3] > 0):
        return None
    codes = pd.factorize(sheet.linked[mine])[0].astype(np.int64)

    def log_ratio(sums: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            found: Floats = np.log(sums[..., 2] / sums[..., 0]) - np.log(sums[..., 3] / sums[..., 1])
        return found

    try:
        return _exp(jackknife(columns[mine], log_ratio, [codes], level=level, clusters=sheet.pairs))
    except InputError:  # all of a side's yeses come from one pair
        return None


def _e_rows(
    quantity: str, answer: pd.Series, gap: pd.Series, contrast: Contrast, level: float, ratio: Interval | None
) -> list[dict[str, object]]:
    """Write the E-value: of the risk ratio for yes or no, else of the ratio that a standardised gap stands for."""
    spread = float(answer.std())
    estimate, low, high = (ratio_of_difference(float(gap[name]), spread) for name in ("estimate", "low", "high"))
    count, method = int(gap["clusters"]), "E-value of exp(0.91 gap / sd)"
    if ratio is not None:
        estimate, low, high, method = ratio.estimate, ratio.low, ratio.high, "E-value of the risk ratio"
    write = partial(row, quantity, sample="matched", group=contrast.label, level=np.nan, n=int(gap["n"]))
    return [
        write("e_value", found=bare(e_value(estimate), count), method=method),
        write("e_value_limit", found=bare(e_value_limit(low, high), count), method=f"{method}, end of {level:.0%}"),
    ]


def _observed(
    quantity: str, name: str, answer: pd.Series, faces: Faces, contrast: Contrast, level: float, *, yes_no: bool
) -> list[dict[str, object]]:
    """Measure how a covariate goes with the attribute and with the answers, among the rated images."""
    side = contrast.side(faces).loc[answer.index]
    values = pd.to_numeric(faces.attribute(name).loc[answer.index], errors="coerce")
    there = ((side != 0) & values.notna()).to_numpy()
    z = values.to_numpy(dtype=np.float64)[there]
    if len(z) < 3 or z.std() == 0:
        raise InputError(f"the covariate {name!r} is numeric and varies", got=f"{len(z)} numbers that do not")
    x = np.column_stack([np.ones(len(z)), (z - z.mean()) / z.std()])
    codes = pd.factorize(faces.identities.loc[answer.index][there])[0].astype(np.int64)
    focal = (side.to_numpy()[there] == 1).astype(np.float64)
    odds, word = coefficient(x, focal, [codes], 1, level=level)
    write = partial(row, quantity, sample="all", group=f"{name} (per sd)", level=level, n=len(z))
    answers = answer.to_numpy(dtype=np.float64)[there]
    by_mean = yes_no and answers.mean() > 0
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
    """Return the log of how much higher answers are with z a standard deviation higher; all of it is estimated.

    Of yes and no that is the slope over the share of yes (``by_mean``), of others the ratio that a correlation stands
    for.
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
