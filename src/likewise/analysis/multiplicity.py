"""multiplicity: which of several findings stand after correction for having looked at all of them.

A sentence that counts discoveries ("3 of 40 labels move") must use corrected decisions: of 40 labels that do not move,
two have p < 0.05.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from likewise.errors import SpecError, some
from likewise.tables import Estimates
from likewise.tables.estimates import row

Correction = Literal["benjamini-hochberg", "benjamini-yekutieli", "bonferroni", "holm"]
Floats = npt.NDArray[np.float64]


def adjusted_p(p: npt.ArrayLike, *, method: Correction = "benjamini-hochberg") -> Floats:
    """Return p-values corrected for multiple comparisons, in the order given.

    Examples
    --------
    >>> adjusted_p([0.01, 0.02, 0.5], method="bonferroni").round(2).tolist()
    [0.03, 0.06, 1.0]
    >>> adjusted_p([0.01, 0.02, 0.5]).round(2).tolist()
    [0.03, 0.03, 0.5]
    """
    if method not in get_args(Correction):
        raise SpecError(f"Unknown correction {method!r} (known: {some(get_args(Correction))})")
    values = np.asarray(p, dtype=np.float64)
    if not len(values):
        return values
    if method == "bonferroni":
        return np.minimum(values * len(values), 1.0)
    if method == "holm":
        order = np.argsort(values)
        steps = np.maximum.accumulate(values[order] * (len(values) - np.arange(len(values))))
        corrected = np.empty_like(values)
        corrected[order] = np.minimum(steps, 1.0)
        return corrected
    found: Floats = stats.false_discovery_control(values, method="bh" if method == "benjamini-hochberg" else "by")
    return found


def interval_p(low: float, high: float, estimate: float, *, level: float, clusters: int) -> float:
    """Return the two-sided p that an interval of a difference implies, from the side of it that faces zero."""
    if not np.isfinite([low, high]).all():
        return 1.0
    dof = max(clusters - 1, 1)
    half = estimate - low if estimate > 0 else high - estimate
    if not half > 0:
        return 1.0
    return float(2 * stats.t.sf(abs(estimate) / half * stats.t.ppf((1 + level) / 2, dof), dof))


def discoveries(
    estimates: Estimates,
    *,
    stats_of: Sequence[str] = ("gap",),
    sample: str = "",
    method: Correction = "benjamini-hochberg",
) -> Estimates:
    """Return corrected p-values (``q_value`` rows) of one family of gaps or slopes.

    Parameters
    ----------
    estimates
        Estimates; rows of ``stats_of`` (and of ``sample``, if given) are one family.
    stats_of
        Statistics whose null value is 0.
    sample
        Restricts the family to one sample.
    method
        The correction. A discovery is a row with ``estimate`` at most alpha.

    Notes
    -----
    Where the family has rows ``p_value`` for the same quantity, sample and group, those are used; otherwise p follows
    from the interval (at the row's own level).

    Examples
    --------
    >>> lines = [row(f"label {k}", "gap", "all", "f - m", 0.1, n=9, method="t") for k in range(3)]
    >>> lines = [line | {"low": 0.01, "high": 0.19, "level": 0.95, "clusters": 90} for line in lines]
    >>> discoveries(Estimates.of(lines)).frame["stat"].tolist()
    ['q_value', 'q_value', 'q_value']
    """
    frame = estimates.frame
    tested = frame[frame["stat"] == "p_value"].set_index(["quantity", "sample", "group"])["estimate"]
    frame = frame[frame["stat"].isin(list(stats_of)) & (frame["sample"].eq(sample) if sample else True)]
    if frame.empty:
        return Estimates.of([])
    p = [_p_of(line, tested) for _, line in frame.iterrows()]
    many = f"{method} over {len(p)} comparisons"
    rows = [
        row(
            str(line["quantity"]), "q_value", str(line["sample"]), str(line["group"]), float(q),
            n=int(line["n"]), clusters=int(line["clusters"]), method=many,
        )
        for (_, line), q in zip(frame.iterrows(), adjusted_p(p, method=method), strict=True)
    ]  # fmt: skip
    return Estimates.of(rows)


def _p_of(line: pd.Series, tested: pd.Series) -> float:
    key = (line["quantity"], line["sample"], line["group"])
    if key in tested.index:
        return float(tested.loc[key])
    return interval_p(
        float(line["low"]), float(line["high"]), float(line["estimate"]),
        level=float(line["level"]), clusters=int(line["clusters"]),
    )  # fmt: skip
