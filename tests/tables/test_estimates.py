from __future__ import annotations

import pandas as pd
import pytest

import likewise as lw
from invariants import check_estimates
from likewise.errors import TableError
from likewise.tables import STATS, Stat, register_stat

ROW = {
    "quantity": "age", "stat": "gap", "sample": "all", "group": "f - m", "estimate": 1.0, "low": 0.5, "high": 1.5,
    "level": 0.95, "n": 10, "clusters": 5, "method": "t",
}  # fmt: skip


def test_one_tidy_rectangle(tmp_path):
    estimates = lw.Estimates.of([ROW, {**ROW, "sample": "matched", "low": None, "high": None}])
    check_estimates(estimates)
    assert lw.Estimates.read(estimates.write(tmp_path / "e.parquet")) == estimates
    assert lw.Estimates.read(estimates.write(tmp_path / "e.csv")) == estimates
    assert len(estimates.where(sample="matched")) == 1
    assert lw.Estimates.together([estimates, lw.Estimates.of([])]) == estimates


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"low": 1.2}, "low <= estimate <= high"),
        ({"high": 0.9}, "low <= estimate <= high"),
        ({"low": None}, "both ends"),
        ({"level": 95}, r"level in \(0, 1\)"),
        ({"stat": "gapp"}, "Did you mean 'gap'"),
        ({"estimate": None}, "'estimate' is never empty"),
        ({"estimate": float("inf")}, "holds numbers"),
    ],
)
def test_an_estimate_that_does_not_hold_is_refused(change, says):
    with pytest.raises(TableError, match=says):
        lw.Estimates.of([{**ROW, **change}])


def test_a_cell_occurs_once():
    with pytest.raises(TableError, match="one row for each"):
        lw.Estimates.of([ROW, ROW])


def test_no_nested_columns():
    with pytest.raises(TableError, match="got 'note'"):
        lw.Estimates(pd.DataFrame([{**ROW, "note": "x"}]))


def test_a_statistic_has_one_meaning():
    assert register_stat(STATS["gap"]) is STATS["gap"]
    with pytest.raises(TableError, match="one meaning"):
        register_stat(Stat("gap", "something else", 0.0, "difference"))
