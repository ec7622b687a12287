"""The fast version of benchmarks/coverage.py: intervals hold in about 95 of 100 worlds, naive ones do not."""

from __future__ import annotations

import pytest
from benchmarks import coverage as benchmark


@pytest.mark.slow
@pytest.mark.parametrize(
    ("experiment", "clusters", "seeds"),
    [
        ("recognition", 120, 100),
        ("adjusted", 100, 100),
        ("missed", 160, 60),
        ("operating", 160, 60),
        ("lowest", 200, 300),
        ("turned", 60, 100),
        ("crowd", 80, 100),
        ("resampled", 150, 100),
        ("shown", 80, 100),
        ("leaning", 50, 20),
        ("steps", 60, 60),
        ("tones", 60, 100),
        ("pictures", 60, 60),
    ],
)
def test_intervals_hold(experiment, clusters, seeds):
    """Bounds are the 95 % of the interval +- three standard errors of a share of so many seeds."""
    table = benchmark.coverage(experiment, clusters, seeds)
    for row in table.to_dict("records"):
        slack = 3 * (0.95 * 0.05 / row["seeds"]) ** 0.5
        assert 0.95 - slack - 0.01 <= row["held"], row
        assert row["held"] <= min(1, 0.95 + slack + 0.03), row
        if row["naive"] == row["naive"]:  # NaN where there is no naive interval to compare with
            assert row["naive"] <= row["held"] + slack, row


def test_naive_intervals_are_shown_failing():
    table = benchmark.coverage("resampled", 100, 60)
    assert (table["naive"] < 0.9).all() and (table["held"] > table["naive"]).all()


def test_the_table_is_drawn():
    table = benchmark.coverage("shown", 40, 5)
    drawn = benchmark.as_markdown(table)
    assert drawn.startswith("| estimator | 40 clusters |") and "Wilson by identity" in drawn
