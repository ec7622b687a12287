"""Unequal identities, 80/20 groups and rare errors at a threshold that is estimated on the same people."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.coverage_thresholds import FMR, World, estimated_threshold

from likewise.analysis.verification.rate_rows import RateRows


def covered(rate: float, n: int, seeds: int) -> dict[str, tuple[float, float]]:
    """Return for each interval how often it holds the truth, and how often the truth lies below it."""
    held: dict[str, list[tuple[bool, bool]]] = {}
    for seed in range(seeds):
        for one in estimated_threshold(rate)(n, seed):
            name = one.name.split(";")[0]
            held.setdefault(name, []).append((one.low <= one.truth <= one.high, one.truth < one.low))
    return {name: tuple(np.mean(values, axis=0)) for name, values in held.items()}


def test_the_threshold_of_unequal_identities_is_held():
    """Wilson's ends and a head count of identities held it in 84 % of worlds, and 14 % of truths lay below."""
    found = covered(0.1, 200, 150)
    held, below = found["threshold"]
    assert held > 0.89 and below < 0.08, found["threshold"]


def test_a_matched_rate_of_few_errors_is_held():
    """One error among ten matched identities excluded a rate of 1 %: 89 % were held."""
    found = covered(0.01, 50, 150)
    assert found["fnmr, matched, female"][0] > 0.93 and found["fnmr, all, female"][0] > 0.93


def test_the_false_match_rate_of_the_larger_group_is_symmetric():
    """A threshold that is set on the impostors pins it: it varies less where it is high."""
    table = World(600, 1, 0.1).table()
    limit = table.impostors.threshold(FMR)
    pinned = table.errors(limit, table.samples, table.impostors)
    rows = {row["group"]: row for row in RateRows(table, "x", pinned, 0.95).rows(FMR) if row["stat"] == "fmr"}
    larger = rows["within male"]
    assert larger["high"] - larger["estimate"] == pytest.approx(larger["estimate"] - larger["low"])
    given = table.errors(limit, table.samples, None)
    rows = {row["group"]: row for row in RateRows(table, "x", given, 0.95).rows(None) if row["stat"] == "fmr"}
    fixed = rows["within male"]
    assert fixed["high"] - fixed["estimate"] > fixed["estimate"] - fixed["low"]
    assert fixed["high"] - fixed["low"] > larger["high"] - larger["low"]


def test_a_threshold_of_few_false_matches_has_no_interval_and_says_why():
    table = World(50, 3, 0.1).table()
    found = table.errors(table.impostors.threshold(FMR), table.samples, table.impostors)
    row = RateRows(table, "x", found, 0.95).rows(FMR)[0]
    assert np.isnan(row["low"]) and np.isnan(row["high"]) and "too few false matches" in row["method"]


def test_the_degrees_of_freedom_of_impostors_are_those_of_leaving_identities_out():
    """The variance without each identity in turn, by deleting its trials."""
    table = World(60, 5, 0.1).table()
    pool, people = table.impostors, len(table.linked)
    limit = pool.threshold(0.1)
    push = pool.influence(limit)
    sums, met = pool.by_identity(push, people, table.meetings)
    whole, rate, moved = float(sums @ sums - met @ met), pool.error(limit), []
    for one in np.unique(np.r_[pool.left, pool.right]):
        rest = np.where((pool.left == one) | (pool.right == one), 0.0, push)
        own, meetings = pool.by_identity(rest, people, table.meetings)
        moved.append((whole - float(own @ own - meetings @ meetings)) / whole)
    centered = np.array(moved) - np.mean(moved)
    centered = centered - (1 - 2 * rate) / (rate * (1 - rate)) * sums[np.unique(np.r_[pool.left, pool.right])]
    assert pool.design_dof(limit, people, table.meetings) == pytest.approx(2 / float(centered @ centered))
