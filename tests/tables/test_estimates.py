from __future__ import annotations

import pandas as pd
import pytest

import likewise as lw
from invariants import check_estimates
from likewise.errors import TableError
from likewise.stats.intervals import Interval
from likewise.tables import STATS, Stat, register_stat
from likewise.tables.estimates import row

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
        ({"low": 1.2}, "Estimate outside its interval"),
        ({"high": 0.9}, "Estimate outside its interval"),
        ({"low": None}, "one end only"),
        ({"level": 95}, "without a level"),
        ({"stat": "gapp"}, "Did you mean 'gap'"),
        ({"estimate": None}, "Column 'estimate' of Estimates has no value"),
        ({"estimate": float("inf")}, "not finite numbers"),
    ],
)
def test_an_estimate_that_does_not_hold_is_refused(change, says):
    with pytest.raises(TableError, match=says):
        lw.Estimates.of([{**ROW, **change}])


def test_a_cell_occurs_once():
    with pytest.raises(TableError, match="Duplicate quantity"):
        lw.Estimates.of([ROW, ROW])


def test_no_nested_columns():
    with pytest.raises(TableError, match="unknown columns: 'note'"):
        lw.Estimates(pd.DataFrame([{**ROW, "note": "x"}]))


def test_a_statistic_has_one_meaning():
    assert register_stat(STATS["gap"]) is STATS["gap"]
    with pytest.raises(TableError, match="registered twice"):
        register_stat(Stat("gap", "something else", 0.0, "difference"))


def test_print_shows_estimates_with_their_intervals():
    text = str(lw.Estimates.of([ROW, {**ROW, "sample": "matched", "estimate": 0.7}]))
    assert "2 rows" in text.splitlines()[0]
    assert "0.7" in text and "0.5 to 1.5 (95 %)" in text and "matched" in text


def test_rounding_noise_is_neither_stored_nor_printed():
    noise = Interval(6.9e-17, 3.2e-18, 1.3e-16, 40)
    line = row("vgg: distance", "gap", "matched", "f - m", noise, level=0.95, n=80, method="t")
    assert line["estimate"] == line["low"] == line["high"] == 0.0
    assert "not certainty" in str(line["method"])
    assert "e-1" not in str(lw.Estimates.of([line]))


def test_a_table_from_before_the_column_estimand_is_read(tmp_path):
    old = pd.DataFrame([ROW])
    old.to_parquet(tmp_path / "old.parquet")
    found = lw.Estimates.read(tmp_path / "old.parquet")
    assert found.frame["estimand"].tolist() == [""]


def test_rounding_noise_is_no_number_but_a_p_value_is():
    """Balance rows of 2.8e-17 and ends of 1.2e-12 were exported."""
    made = [
        ("ks", 2.8e-17),
        ("det", 1.2e-12),
        ("gap", -3e-17),
        ("p_value", 1e-12),
        ("q_bh", 1e-12),
        ("threshold", 1e-12),
    ]
    rows = [{**ROW, "stat": stat, "estimate": value, "low": None, "high": None} for stat, value in made]
    assert lw.Estimates.of(rows).frame["estimate"].tolist() == [0, 0, 0, 1e-12, 1e-12, 1e-12]
