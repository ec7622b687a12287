"""verdict: whether a gap is different from zero, equivalent to zero within a margin, or inconclusive.

- *equivalent*: both one-sided tests reject a gap beyond the margin (TOST): the interval at level 1 - 2 alpha is inside
  -margin to margin. Such a gap may still differ from zero, by less than the margin.
- *different*: the interval excludes zero, and the gap is not equivalent. Where several systems are judged on one
  page, the interval is the one that holds for all of them together (``comparisons``, Bonferroni).
- Both are corrected for the number of systems. The two one-sided tests of a system need no correction, because both
  must reject (intersection-union); nor would a claim that *all* systems are equivalent. But the page states each system
  by itself, and of k systems at the margin one would be called equivalent by chance up to k times as often. A system
  can be wrong in one way only (at zero by "different", beyond the margin by "equivalent"), so 1/k of alpha for each of
  the two keeps the chance of any wrong verdict on the page at alpha.
- *inconclusive*: neither. "Not significant" alone is no evidence of equivalence, so the smallest detectable gap is
  given: the one that a study of this size finds with a power of 80 %.
- *too few*: a group has fewer than ``FEW_CLUSTERS`` independent clusters. Nothing is concluded from a handful.

The margin belongs in the plan, before any rating is seen.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import pandas as pd
from scipy import stats

from likewise.errors import SpecError
from likewise.tables import Estimates
from likewise.tables.estimates import FEW_CLUSTERS, row

Verdict = Literal["different", "equivalent", "inconclusive", "too few"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
POWER = 0.8
_GAPS = ("gap", "adjusted_gap", "regression_gap", "gap_simultaneous", "gap_in_sd", "adjusted_gap_in_sd")


def verdict(
    estimate: float, low: float, high: float, *, level: float, clusters: int, margin: float = 0.0, comparisons: int = 1
) -> Verdict:
    """Return the verdict on one gap from its interval.

    Parameters
    ----------
    estimate, low, high, level
        The gap with its interval.
    clusters
        Independent clusters behind it.
    margin
        The largest gap that counts as equivalent to none; 0 without a margin.
    comparisons
        How many gaps are judged together. A gap is different if its interval at level 1 - (1 - level) / comparisons
        excludes zero, and equivalent if that at level 1 - 2 (1 - level) / comparisons is within the margin.

    Examples
    --------
    >>> verdict(0.03, 0.01, 0.05, level=0.95, clusters=200)
    'different'
    >>> verdict(0.001, -0.004, 0.006, level=0.95, clusters=200, margin=0.01)
    'equivalent'
    >>> verdict(0.01, -0.02, 0.04, level=0.95, clusters=200, margin=0.01)
    'inconclusive'
    """
    if clusters < FEW_CLUSTERS:
        return "too few"
    if margin > 0:
        inner = _ends_at(1 - 2 * (1 - level) / comparisons, estimate, low, high, level, clusters)
        if -margin < inner[0] and inner[1] < margin:
            return "equivalent"
    outer = _ends_at(1 - (1 - level) / comparisons, estimate, low, high, level, clusters)
    return "different" if outer[0] > 0 or outer[1] < 0 else "inconclusive"


def detectable_gap(
    low: float, high: float, *, level: float, clusters: int, power: float = POWER, comparisons: int = 1
) -> float:
    """Return the smallest gap that a study with an interval of this width finds with this power.

    "Finds" means the verdict *different*, which is corrected for the number of ``comparisons``.

    Examples
    --------
    >>> round(detectable_gap(-0.0196, 0.0196, level=0.95, clusters=10_000), 3)
    0.028
    """
    dof = max(clusters - 1, 1)
    quantile = float(stats.t.ppf((1 + level) / 2, dof))
    error = (high - low) / 2 / quantile
    needed = float(stats.t.ppf(1 - (1 - level) / 2 / comparisons, dof))
    return error * (needed + float(stats.t.ppf(power, dof)))


def verdicts(estimates: Estimates, *, margin: float = 0.0, comparisons: int = 1) -> Estimates:
    """Return for every gap its verdict, TOST's p-value and the smallest detectable gap.

    Parameters
    ----------
    estimates
        Estimates with rows ``gap``, ``adjusted_gap``, ``regression_gap`` or ``gap_simultaneous``; others are ignored.
    margin
        Equivalence margin in the unit of the gaps; 0 leaves equivalence out.
    comparisons
        How many gaps are judged together (the systems of a report).

    Returns
    -------
    Estimates
        For each gap the rows ``verdict`` (its ``estimate`` is the place in ``VERDICTS``, its ``method`` ends with the
        word), ``detectable_gap``, and with a margin ``equivalence_p``. Their ``sample`` is ``SAMPLE: STAT``.

    Examples
    --------
    >>> line = row("m: distance", "gap", "all", "f - m", 0.01, n=9, method="t")
    >>> line |= {"low": -0.02, "high": 0.04, "level": 0.95, "clusters": 50}
    >>> verdicts(Estimates.of([line]), margin=0.005).where(stat="verdict").frame["method"].tolist()
    ['TOST, margin 0.005; inconclusive']
    """
    if not (np.isfinite(margin) and margin >= 0):
        raise SpecError(
            f"Margin {margin} is not a non-negative number", fix="Give the largest gap that does not matter."
        )
    frame = estimates.frame
    frame = frame[frame["stat"].isin(_GAPS) & frame["low"].notna()]
    return Estimates.of(line for _, gap in frame.iterrows() for line in _verdict_rows(gap, margin, comparisons))


def _verdict_rows(gap: pd.Series, margin: float, comparisons: int) -> list[dict[str, object]]:
    about = {"level": float(gap["level"]), "clusters": int(gap["clusters"])}
    ends = (float(gap["estimate"]), float(gap["low"]), float(gap["high"]))
    # A simultaneous interval is corrected already.
    many = 1 if gap["stat"] == "gap_simultaneous" else comparisons
    word = verdict(*ends, margin=margin, comparisons=many, **about)  # type: ignore[arg-type]
    how = ("interval" if many == 1 else f"interval for {many} comparisons") + (", TOST" if margin else "")
    how = "TOST" if margin and many == 1 else how
    least = detectable_gap(*ends[1:], comparisons=many, **about)  # type: ignore[arg-type]
    found = {
        "verdict": (float(VERDICTS.index(word)), f"{how}, margin {margin:g}; {word}" if margin else f"{how}; {word}"),
        "detectable_gap": (least, f"power {POWER:.0%}".replace("%", " %")),
    }
    if margin:
        p = min(many * _tost_p(*ends, margin, **about), 1.0)  # type: ignore[arg-type]
        found["equivalence_p"] = (p, f"TOST, margin {margin:g}" + (f", Bonferroni over {many}" if many > 1 else ""))
    sample = f"{gap['sample']}: {gap['stat']}"
    return [
        row(
            str(gap["quantity"]), stat, sample, str(gap["group"]), value,
            n=int(gap["n"]), clusters=int(gap["clusters"]), method=method, estimand=str(gap["estimand"]),
        )
        for stat, (value, method) in found.items()
    ]  # fmt: skip


def _ends_at(
    wanted: float, estimate: float, low: float, high: float, level: float, clusters: int
) -> tuple[float, float]:
    """Return the interval at another level, each end rescaled by the ratio of Student's quantiles."""
    dof = max(clusters - 1, 1)
    ratio = float(stats.t.ppf((1 + wanted) / 2, dof) / stats.t.ppf((1 + level) / 2, dof))
    return estimate - ratio * (estimate - low), estimate + ratio * (high - estimate)


def _tost_p(estimate: float, low: float, high: float, margin: float, *, level: float, clusters: int) -> float:
    """Return the larger p of the two one-sided tests, each with the standard error of its side."""
    dof = max(clusters - 1, 1)
    quantile = float(stats.t.ppf((1 + level) / 2, dof))
    below, above = (max(half, 1e-300) / quantile for half in (estimate - low, high - estimate))
    return float(max(stats.t.sf((estimate + margin) / below, dof), stats.t.sf((margin - estimate) / above, dof)))
