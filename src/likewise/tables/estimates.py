"""Estimates: what follows, with an interval. One tidy rectangle, never nested."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

import pandas as pd

from likewise.errors import TableError, nearest, some
from likewise.tables.checks import as_keys, need_columns, need_frame, need_numbers, need_unique, need_values
from likewise.tables.table import Table, counted

COLUMNS = (
    "quantity",
    "stat",
    "sample",
    "group",
    "estimate",
    "low",
    "high",
    "level",
    "n",
    "clusters",
    "method",
)


@dataclass(frozen=True)
class Stat:
    """What a kind of number means: how it is called, which value means 'no difference', how it is written."""

    name: str
    label: str
    null: float | None
    scale: Literal["difference", "ratio", "proportion", "mean", "index"]


STATS: dict[str, Stat] = {}


def register_stat(stat: Stat) -> Stat:
    """Make a statistic known; registering another meaning under the same name is refused."""
    if STATS.setdefault(stat.name, stat) != stat:
        raise TableError(
            f"the statistic {stat.name!r} has one meaning",
            got=f"{STATS[stat.name].label!r} and {stat.label!r}",
        )
    return stat


for _stat in (
    Stat("mean", "mean", None, "mean"),
    Stat("share", "share", None, "proportion"),
    Stat("gap", "gap (focal - reference)", 0.0, "difference"),
    Stat("adjusted_gap", "gap (focal - reference), adjusted for what is left", 0.0, "difference"),
    Stat("smd", "standardised mean difference", 0.0, "difference"),
    Stat("variance_ratio", "variance ratio", 1.0, "ratio"),
    Stat("ks", "largest distance of the distributions (KS)", 0.0, "index"),
    Stat("slope", "slope of the relative label rate", 0.0, "difference"),
    Stat("rate_slope", "slope of the label rate", 0.0, "difference"),
    Stat("rate", "label rate", None, "proportion"),
    Stat("threshold", "distance from which two images are not taken for one person", None, "mean"),
    Stat("fnmr", "false non-match rate", None, "proportion"),
    Stat("fmr", "false match rate", None, "proportion"),
    Stat("det", "false non-match rate at the group's own false match rate", None, "proportion"),
    Stat("enrolment_failure", "share of trials without a distance", None, "proportion"),
    Stat("max_min", "largest over smallest error rate", 1.0, "ratio"),
    Stat("max_geometric_mean", "largest error rate over the geometric mean", 1.0, "ratio"),
    Stat("gini", "Gini coefficient of the error rates", 0.0, "index"),
    Stat("gamma", "hidden bias (odds) at which significance is lost", 1.0, "ratio"),
    Stat("e_value", "strength of a hidden factor that would explain the gap", 1.0, "ratio"),
    Stat("e_value_limit", "strength of a hidden factor that would move the interval to no gap", 1.0, "ratio"),
    Stat("odds_ratio", "odds of the focal group, a standard deviation of the covariate higher", 1.0, "ratio"),
    Stat("answer_ratio", "answers, a standard deviation of the covariate higher (as a risk ratio)", 1.0, "ratio"),
    Stat("log_odds_slope", "slope of the label's log odds", 0.0, "difference"),
    Stat("ols_p", "p of the least-squares line through the rates (as in the paper)", None, "index"),
    Stat("linearity_p", "p of the rates lying on a straight line", None, "index"),
    Stat("slope_excess", "slope beyond the placebo's", 0.0, "difference"),
    Stat("pass_rate", "generated faces judged real", None, "proportion"),
    Stat("base_failure", "real faces judged generated", None, "proportion"),
    Stat("quality", "pass rate over (1 - base failure rate)", 1.0, "ratio"),
    Stat("accuracy", "right answers", None, "proportion"),
    Stat("d_prime", "sensitivity d'", 0.0, "index"),
    Stat("criterion", "criterion c (above 0: slow to say generated)", 0.0, "index"),
    Stat("sd_over_images", "standard deviation of the images' own rates", None, "mean"),
    Stat("log_odds_gap", "gap of the log odds (focal - reference)", 0.0, "difference"),
    Stat("mixed_log_odds_gap", "gap of the log odds for one image and one rater", 0.0, "difference"),
    Stat("lean_sd", "spread of leanings (log odds)", None, "mean"),
    Stat("superiority", "chance that a focal answer is higher than a reference one", 0.5, "proportion"),
    Stat("power", "chance to find the gap", None, "proportion"),
    Stat("alpha", "Krippendorff's alpha", 0.0, "index"),
    Stat("pairwise_agreement", "chance that two raters of a unit agree", None, "proportion"),
    Stat("rater_accuracy", "agreement with the consensus", None, "proportion"),
    Stat("shrunk_share", "share, small samples drawn towards the others", None, "proportion"),
    Stat("reference_gap", "share less the reference share", 0.0, "difference"),
    Stat("inception_score", "Inception Score, corrected for small samples", None, "mean"),
    Stat("fid", "Frechet distance of features, carried on to many images", 0.0, "index"),
    Stat("kid", "kernel distance of features (KID, no small-sample bias)", 0.0, "index"),
    Stat("rank_correlation", "rank correlation of measured and answered", 0.0, "index"),
    Stat("p_value", "p-value", None, "index"),
    Stat("q_bh", "false discovery rate (Benjamini-Hochberg)", None, "index"),
    Stat("q_by", "false discovery rate (Benjamini-Yekutieli, any dependence)", None, "index"),
    Stat("share_gone", "share of the crude gap that goes away with matching", 0.0, "index"),
):
    register_stat(_stat)


class Estimates(Table):
    """Rows of ``estimate`` with ``low`` and ``high``, over how many rows and independent clusters, and how.

    ``quantity`` is what was measured (a covariate, a rater's question), ``stat`` a registered record, ``sample``
    on which images (all, matched, counterfactual ...), ``group`` for whom. An interval that does not exist is
    empty on both ends; one that is there holds its estimate.
    """

    text_columns: ClassVar[tuple[str, ...]] = ("quantity", "stat", "sample", "group", "method")

    def _checked(self, frame: pd.DataFrame) -> pd.DataFrame:
        frame = need_frame(frame, "Estimates")
        need_columns(frame, COLUMNS, "Estimates")
        unknown = [name for name in frame.columns if name not in COLUMNS]
        if unknown:
            raise TableError(f"Estimates has the columns {some(COLUMNS, 11)}", got=some(unknown))
        keys = ["quantity", "stat", "sample", "group"]
        for name in [*keys, "method"]:
            frame[name] = as_keys(frame[name])
        need_numbers(frame, ["estimate", "low", "high", "level", "n", "clusters"], "Estimates")
        need_values(frame, [*keys, "method", "estimate", "n", "clusters"], "quantity", "Estimates")
        need_unique(frame, keys, "Estimates")
        _check_stats(frame)
        _check_intervals(frame)
        return frame[list(COLUMNS)].astype({"n": "int64", "clusters": "int64"})

    @classmethod
    def of(cls, rows: Iterable[dict[str, object]]) -> Estimates:
        """Make estimates from rows; no rows make an empty table."""
        return cls(pd.DataFrame(list(rows), columns=list(COLUMNS)))

    @classmethod
    def together(cls, parts: Iterable[Estimates]) -> Estimates:
        """Put several rectangles into one."""
        frames = [part.frame for part in parts if len(part)]
        return cls(pd.concat(frames, ignore_index=True)) if frames else cls.of([])

    def where(self, **values: str) -> Estimates:
        """Return the rows with these values, e.g. ``where(stat="gap", sample="all")``."""
        need_columns(self._frame, list(values), "Estimates")
        keep = pd.Series(True, index=self._frame.index)
        for name, value in values.items():
            keep &= self._frame[name] == value
        return Estimates(self._frame[keep])

    def _lines(self) -> list[str]:
        frame = self._frame
        strongest = frame.iloc[int(frame["estimate"].abs().to_numpy().argmax())] if len(frame) else None
        return [
            f"Estimates: {len(frame)} rows",
            f"  quantities ({frame['quantity'].nunique()}): {counted(frame['quantity'])}",
            f"  statistics: {counted(frame['stat'])}",
            f"  samples: {counted(frame['sample'])}",
            f"  methods: {counted(frame['method'])}",
            "  no rows" if strongest is None else f"  largest: {_said(strongest)}",
        ]


def _said(row: pd.Series) -> str:
    interval = "" if pd.isna(row["low"]) else f" ({row['low']:.3g} to {row['high']:.3g})"
    return f"{row['quantity']}, {row['stat']}, {row['sample']}, {row['group']}: {row['estimate']:.3g}{interval}"


def _check_stats(frame: pd.DataFrame) -> None:
    strange = [name for name in frame["stat"].unique() if name not in STATS]
    if strange:
        fix = nearest(strange[0], STATS) or "Register it with register_stat."
        raise TableError("every stat is a registered record", got=some(strange), fix=fix)


def _check_intervals(frame: pd.DataFrame) -> None:
    half = frame["low"].isna() != frame["high"].isna()
    outside = (frame["low"] > frame["estimate"]) | (frame["estimate"] > frame["high"])
    unlevelled = frame["low"].notna() & ~frame["level"].between(0, 1, inclusive="neither")
    for bad, rule in (
        (half, "an interval has both ends"),
        (outside, "low <= estimate <= high"),
        (unlevelled, "an interval has a level in (0, 1)"),
    ):
        if bad.any():
            raise TableError(rule, got=f"otherwise for {some(frame.loc[bad, 'quantity'])}")
