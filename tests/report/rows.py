"""Constructed rows that the tests of the report share."""

from __future__ import annotations

import likewise as lw

Row = dict[str, object]


def make_row(**change: object) -> Row:
    """Return a row of Estimates: a significant unmatched gap of 0.2, with these changes."""
    base: Row = {
        "quantity": "arcface: distance", "stat": "gap", "sample": "all", "group": "female - male", "estimate": 0.2,
        "low": 0.1, "high": 0.3, "level": 0.95, "n": 50, "clusters": 25, "method": "jackknife by identity",
    }  # fmt: skip
    return {**base, **change}


def make_point(**change: object) -> Row:
    """Return a row without an interval."""
    return make_row(low=None, high=None, level=None, **change)


def operating_rows(at: str = "FMR 0.01", rater: str = "arcface", *, matched: bool = True) -> list[Row]:
    """Return the rows of one operating point: FNMR 30 % and 10 %, FMR 1 % and 2 %, ratios and gaps."""
    name = f"{rater}: distance at {at}"
    rows = []
    for sample, shift in (("all", 0.0), *((("matched", -0.05),) if matched else ())):
        rows += [
            make_row(
                quantity=name, stat="fnmr", sample=sample, group="female", estimate=0.3 + shift, low=0.2, high=0.4
            ),
            make_row(quantity=name, stat="fnmr", sample=sample, group="male", estimate=0.1, low=0.05, high=0.18),
            make_row(quantity=name, sample=sample, estimate=0.2 + shift, low=0.08, high=0.32),
            make_row(
                quantity=name, stat="max_min", sample=sample, group="FNMR, all groups", estimate=3.0, low=1.5, high=5.9
            ),
            make_row(
                quantity=name, stat="gini", sample=sample, group="FNMR, all groups", estimate=0.4, low=0.2, high=0.6
            ),
        ]
    if matched:
        rows.append(make_row(quantity=name, stat="adjusted_gap", sample="matched", estimate=0.12, low=0.01, high=0.23))
    groups = (("within female", 0.01), ("within male", 0.02), ("female x male", 0.002))
    rows += [
        make_row(quantity=name, stat="fmr", group=group, estimate=rate, low=rate / 2, high=rate * 2)
        for group, rate in groups
    ]
    return rows


def balance_of(**smd: tuple[float, float]) -> lw.Estimates:
    """Return a balance table: for each covariate its standardized mean difference before and after matching."""
    rows = []
    for name, values in smd.items():
        for sample, value in zip(("all", "matched"), values, strict=True):
            rows.append(make_point(quantity=name, stat="smd", sample=sample, estimate=value))
            for group, mean in (("female", value), ("male", 0.0)):
                rows.append(make_point(quantity=name, stat="mean", sample=sample, group=group, estimate=mean))
    return lw.Estimates.of(rows)
