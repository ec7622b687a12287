"""Omitted-variable bias of the adjusted estimate (Cinelli and Hazlett 2020).

An unmeasured confounder Z with partial R^2 of r_y with the answer (given attribute and covariates) and r_d with the
attribute (given covariates) biases the adjusted gap by

    |bias| = sqrt(r_y r_d / (1 - r_d)) sd(answer | attribute, covariates) / sd(attribute | covariates).

The robustness value is the r_y = r_d at which the bias equals the estimate (or the end of its interval nearest to
zero). Benchmarks are what observed covariates have in the *unmatched* sample: an unmeasured confounder was not matched
on, so the balance that matching gave the observed ones says nothing about it.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from likewise.analysis.gaps.rating_arrays import Floats, RatingArrays
from likewise.analysis.gaps.rows import FEW_TO_ADJUST, Gap
from likewise.analysis.rating_table import APART
from likewise.stats.intervals import Interval, bare
from likewise.tables.estimates import row


def robustness_value(effect: float) -> float:
    """Return the robustness value of an effect f = |gap| sd(attribute | .) / sd(answer | .).

    Examples
    --------
    >>> round(robustness_value(4.18 / 783**0.5), 3)  # Cinelli and Hazlett's example, t = 4.18 with 783 df
    0.139
    """
    return float(((effect**4 + 4 * effect**2) ** 0.5 - effect**2) / 2)


def confounder_bias(r2_answer: float, r2_attribute: float, scale: float) -> float:
    """Return the bias of a confounder with these partial R^2; ``scale`` is sd(answer | .) / sd(attribute | .)."""
    return float(scale * (r2_answer * r2_attribute / max(1 - r2_attribute, 1e-12)) ** 0.5)


def as_strong_as(r2_answer: float, r2_attribute: float) -> tuple[float, float]:
    """Return the partial R^2 of a confounder as strong as a covariate that has these, given the others."""
    attribute = min(r2_attribute / max(1 - r2_attribute, 1e-12), 1 - 1e-9)
    shared = min(r2_attribute**2 / max((1 - r2_attribute) ** 2, 1e-12), 1 - 1e-9)
    stretch = ((1 + shared**0.5) / (1 - shared) ** 0.5) ** 2
    return min(stretch * r2_answer / max(1 - r2_answer, 1e-12), 1.0), attribute


def omitted_variable_rows(arrays: RatingArrays, level: float) -> list[dict[str, object]]:
    """Write robustness values of the adjusted gap, and what a confounder as strong as each covariate would leave."""
    gap = Gap(arrays, "matched", level)
    if not arrays.x.shape[1] or (arrays.binary and gap.errors() < FEW_TO_ADJUST):
        return []
    found, _ = gap.adjusted()
    answer, attribute = _residual_sds(arrays)
    if not (answer > 0 and attribute > 0):
        return []
    n, label = int((arrays.matched > 0).sum()), arrays.contrast.label
    nearest = 0.0 if found.low <= 0 <= found.high else min(abs(found.low), abs(found.high))
    write = partial(row, arrays.quantity, sample="matched", n=n, estimand=arrays.estimand)
    rows = [
        write(stat, group=label, found=bare(robustness_value(size * attribute / answer), found.clusters), method=method)
        for stat, size, method in (
            ("robustness_value", abs(found.estimate), "partial R2 of the adjusted gap"),
            ("robustness_value_limit", nearest, f"partial R2, end of {level:.0%}".replace("%", " %")),
        )
    ]
    for name in _covariates(arrays):
        rows += _benchmark(arrays, name, found, answer / attribute, level)
    return rows


def _benchmark(arrays: RatingArrays, name: str, found: Interval, scale: float, level: float) -> list[dict[str, object]]:
    own = np.array([column.removesuffix(APART) == name for column in arrays.names])
    weight, ones = arrays.everyone, np.ones((len(arrays.y), 1))
    rest, whole = np.column_stack([ones, arrays.x[:, ~own]]), np.column_stack([ones, arrays.x])
    d = arrays.focal[:, None]
    r2_attribute = _partial_r2(arrays.focal, rest, whole, weight)
    r2_answer = _partial_r2(arrays.y, np.column_stack([rest, d]), np.column_stack([whole, d]), weight)
    bias = confounder_bias(*as_strong_as(r2_answer, r2_attribute), scale)
    move = -np.sign(found.estimate) * bias
    moved = Interval(found.estimate + move, found.low + move, found.high + move, found.clusters)
    clusters = len(np.unique(arrays.identity))
    write = partial(row, arrays.quantity, group=name, method="partial R2 in the unmatched sample", n=len(arrays.y))
    return [
        write("partial_r2_attribute", "all", found=bare(r2_attribute, clusters)),
        write("partial_r2_answer", "all", found=bare(r2_answer, clusters)),
        row(
            arrays.quantity, "gap_with_confounder", "matched", name, moved, level=level, n=len(arrays.y),
            method="adjusted gap less the bias of a confounder as strong as this covariate", estimand=arrays.estimand,
        ),
    ]  # fmt: skip


def _covariates(arrays: RatingArrays) -> list[str]:
    return list(dict.fromkeys(name.removesuffix(APART) for name in arrays.names))


def _residual_sds(arrays: RatingArrays) -> tuple[float, float]:
    """Return sd(answer | attribute, covariates) and sd(attribute | covariates) in the matched sample."""
    weight = arrays.matched
    x = np.column_stack([np.ones(len(arrays.y)), arrays.x])
    answer = _residual_variance(arrays.y, np.column_stack([x, arrays.focal]), weight)
    return answer**0.5, _residual_variance(arrays.focal, x, weight) ** 0.5


def _partial_r2(y: Floats, rest: Floats, whole: Floats, weight: Floats) -> float:
    without, with_it = (_residual_variance(y, x, weight) for x in (rest, whole))
    return float(np.clip(1 - with_it / without, 0.0, 1.0)) if without > 0 else 0.0


def _residual_variance(y: Floats, x: Floats, weight: Floats) -> float:
    root = np.sqrt(weight)
    beta = np.linalg.lstsq(x * root[:, None], y * root, rcond=None)[0]
    return float(np.average((y - x @ beta) ** 2, weights=weight))
