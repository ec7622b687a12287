"""Intervals of shares against scipy and at their ends."""

from __future__ import annotations

import pytest
from scipy import stats

from likewise.stats.intervals import mid_p, share_interval, shown_shares, wilson


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


@pytest.mark.parametrize("n", [10, 40, 200])
def test_a_single_error_does_not_exclude_rates_with_which_it_is_common(n):
    """Wilson's lower end for one error is 0.18 / n: a rate of 0.17 / n shows an error in 16 % of samples."""
    one = share_interval(1 / n, (1 / n) * (1 - 1 / n) / n, n=n, clusters=n, level=0.95)[0]
    assert wilson(1 / n, n, level=0.95)[0] > 0.17 / n
    assert stats.binom.sf(0, n, one) == pytest.approx(0.05, abs=0.002)


@pytest.mark.parametrize("rate", [0.0005, 0.002, 0.01, 0.03, 0.1])
@pytest.mark.parametrize("n", [50, 400])
def test_shares_of_few_errors_are_held_at_every_rate(rate, n):
    held = 0.0
    for seen in range(n + 1):
        chance = float(stats.binom.pmf(seen, n, rate))
        if chance > 1e-9:
            share = seen / n
            low, high, _ = share_interval(share, share * (1 - share) / n, n=n, clusters=n, level=0.95)
            held += chance * (low <= rate <= high)
    assert held > 0.935


def test_the_mid_p_interval_is_that_of_the_binomial_distribution():
    low, high = mid_p(0.04, 100, level=0.95)
    for p, tail in ((low, stats.binom(100, low).sf(4)), (high, stats.binom(100, high).cdf(3))):
        assert tail + stats.binom(100, p).pmf(4) / 2 == pytest.approx(0.025, abs=1e-6)
    assert mid_p(0.0, 300, level=0.95) == pytest.approx((0.0, 1 - 0.05 ** (1 / 300)))
    assert mid_p(1.0, 300, level=0.95) == pytest.approx((0.05 ** (1 / 300), 1.0))


def test_shown_shares_leave_two_and_a_half_per_cent_at_either_side():
    """Wilson's ends around the known rate leave 4.3 % below and 1.3 % above."""
    n, rate = 1600, 0.01
    low, high = shown_shares(rate, rate * (1 - rate) / n, n=n, level=0.95)
    assert stats.binom.cdf(int(n * low) - 1, n, rate) < 0.025 and stats.binom.sf(int(n * high), n, rate) < 0.025
    below, above = wilson(rate, n, level=0.95)
    assert stats.binom.cdf(int(n * below), n, rate) > 0.035
    assert stats.binom.sf(int(n * above), n, rate) < 0.02
