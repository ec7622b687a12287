"""How numbers are written."""

from __future__ import annotations

import pandas as pd
import pytest

from likewise.report.numbers import (
    confidence,
    interval,
    level,
    number,
    p_equals,
    p_value,
    percent,
    points,
    ratio,
    share,
    signed,
    significant,
)
from report.rows import make_point, make_row


def series(**change: object) -> pd.Series:
    return pd.Series(make_row(**change))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.1234, "0.123"), (-0.5, "−0.500"), (0.0, "0.000"), (-0.0, "0.000"), (-1e-17, "0.000"), (5e-18, "0.000")],
)
def test_a_number_has_three_decimals_and_zero_has_no_sign(value, text):
    assert number(value) == text


def test_missing_numbers_are_a_dash():
    assert number(float("nan")) == p_value(None) == p_value(float("nan")) == percent(None) == ratio(None) == "–"
    assert points(None) == "–"


def test_signs():
    assert [signed(value) for value in (0.25, -0.25, 0.0, 1e-12)] == ["+0.250", "−0.250", "0.000", "0.000"]


def test_p_values_never_are_zero():
    assert p_value(0.0) == p_value(2.6e-62) == "< 0.001"
    assert p_value(0.0499) == "0.050"
    assert p_equals(0.2) == "p = 0.200"
    assert p_equals(1e-5) == "p < 0.001"


def test_an_interval_and_its_confidence_level():
    assert interval(series()) == "0.200 (0.100 to 0.300)"
    assert confidence(series()) == "0.200 (95 % CI 0.100 to 0.300)"
    assert confidence(series(level=0.9875)) == "0.200 (98.75 % CI 0.100 to 0.300)"
    assert interval(pd.Series(make_point())) == confidence(pd.Series(make_point())) == "0.200"
    assert level(series(level=0.9)) == "90 %"


def test_an_end_that_excludes_zero_is_not_rounded_to_zero():
    assert interval(series(estimate=0.002, low=0.0001, high=0.004)) == "0.0020 (0.0001 to 0.0040)"
    assert interval(series(estimate=-0.1, low=-0.2, high=-0.00002)) == "−0.10000 (−0.20000 to −0.00002)"
    assert interval(series(estimate=0.1, low=-0.0001, high=0.2)) == "0.100 (0.000 to 0.200)"


def test_values_at_floating_point_error_are_zero_and_never_significant():
    tiny = series(estimate=5.7e-18, low=6.4e-19, high=1.1e-17)
    assert interval(tiny) == "0.000 (0.000 to 0.000)"
    assert not significant(tiny)
    assert share(1e-17) == share(-1e-12) == "0.0"
    assert percent(tiny) == "0.0 % (0.0 to 0.0)"


def test_significance_needs_an_interval_that_excludes_the_null():
    assert significant(series())
    assert significant(series(estimate=-0.2, low=-0.3, high=-0.1))
    assert not significant(series(low=-0.1))
    assert not significant(series(low=0.0))
    assert not significant(pd.Series(make_point()))
    assert not significant(None)
    assert significant(series(estimate=2.0, low=1.1, high=3.0), null=1.0)
    assert not significant(series(estimate=2.0, low=0.9, high=3.0), null=1.0)


def test_rates_in_percent_and_points():
    assert percent(series(estimate=0.3, low=0.201, high=0.4)) == "30.0 % (20.1 to 40.0)"
    assert percent(series(estimate=0.00134, low=0.00045, high=0.004)) == "0.13 % (0.045 to 0.4)"
    assert points(series(estimate=-0.05, low=-0.1, high=0.01)) == "−5.0 points (−10.0 to 1.0)"
    assert percent(pd.Series(make_point(estimate=0.5))) == "50.0 %"


def test_ratios():
    assert ratio(series(estimate=2.782, low=1.891, high=4.0946)) == "2.78 (1.89 to 4.09)"
    assert ratio(pd.Series(make_point(estimate=15.656))) == "15.66"
