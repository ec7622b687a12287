"""Intervals of shares against scipy and at their ends."""

from __future__ import annotations

import pytest
from scipy import stats

from likewise.stats.intervals import share_interval, wilson


@pytest.mark.parametrize(("hits", "n"), [(0, 30), (3, 30), (17, 40), (40, 40)])
def test_wilson_agrees_with_scipy(hits, n):
    other = stats.binomtest(hits, n).proportion_ci(0.95, method="wilson")
    assert wilson(hits / n, n, level=0.95) == pytest.approx((other.low, other.high), abs=1e-12)


def test_no_error_is_the_rule_of_three():
    low, high, word = share_interval(0.0, 0.0, n=900, clusters=300, level=0.95)
    assert low == 0 and high == pytest.approx(3 / 300, rel=0.01) and "rule of three" in word


def test_rare_errors_are_called_rare_and_independent_ones_count_in_full():
    p, n = 0.004, 500
    low, high, word = share_interval(p, p * (1 - p) / n, n=n, clusters=n, level=0.95)
    assert word == "rare" and low < p < high
    p = 0.2
    low, high, word = share_interval(p, p * (1 - p) / n, n=n, clusters=n, level=0.95)
    assert word == "" and (low, high) == pytest.approx(wilson(p, n, level=0.95), abs=5e-4)
