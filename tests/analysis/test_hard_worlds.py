"""Rare errors, unequal clusters, curved answers, Pareto raters: a fast version of benchmarks/coverage_hard.py."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.coverage_hard import HARD, arrays_of, nearest_pairs, rare, sizes

from likewise.analysis.gaps.explained_share import explained_share, widened
from likewise.analysis.gaps.rows import FEW_TO_ADJUST, Gap, explained_rows, gap_rows
from likewise.analysis.verification.error_rates import error_rates
from likewise.simulation.system_ratings import CONTRAST as RECOGNITION
from likewise.simulation.system_ratings import VerificationTrials


def covered(name: str, n: int, seeds: int) -> dict[str, float]:
    """Return for each estimator how often its interval holds the truth."""
    held: dict[str, list[bool]] = {}
    for seed in range(seeds):
        for one in HARD[name](n, seed):
            held.setdefault(one.name, []).append(one.low <= one.truth <= one.high)
    return {key: float(np.mean(values)) for key, values in held.items()}


def world(rate: float, n: int = 400, seed: int = 0):
    rng = np.random.default_rng(seed)
    identity = np.repeat(np.arange(n), sizes(rng, n))
    focal = (np.arange(n) % 2).astype(float)[identity]
    x = rng.normal(0.3 * focal, 1.0)
    y = (rng.random(len(x)) < rate).astype(float)
    return arrays_of(y, focal, x[:, None], identity, nearest_pairs(x, focal, identity))


def test_an_adjusted_gap_without_errors_keeps_its_width():
    """The jackknife of no error at all had an interval of 6.9e-17 (3.2e-18 to 1.3e-16)."""
    rows = {row["stat"]: row for row in gap_rows(world(0.0), "matched", 0.95)}
    adjusted = rows["adjusted_gap"]
    assert adjusted["estimate"] == 0 and adjusted["low"] < -0.005 and adjusted["high"] > 0.005
    assert "all answers equal" in adjusted["method"]


def test_few_errors_are_not_adjusted_and_the_row_says_so():
    arrays = world(0.005, seed=2)
    gap = Gap(arrays, "matched", 0.95)
    assert 0 < gap.errors() < FEW_TO_ADJUST
    (plain, _), (adjusted, method) = gap.gap(), gap.adjusted()
    assert adjusted == plain and "too few errors to adjust" in method


def test_with_enough_errors_the_estimate_is_the_regression_and_the_ends_follow():
    arrays = world(0.2, seed=3)
    gap = Gap(arrays, "matched", 0.95)
    found, method = gap.adjusted()
    used = arrays.matched > 0
    x = np.column_stack([np.ones(used.sum()), arrays.focal[used], arrays._features("matched")[used]])
    expected = np.linalg.lstsq(x, arrays.y[used], rcond=None)[0][1]
    assert found.estimate == pytest.approx(expected) and found.low < expected < found.high
    assert "regression-adjusted" in method


def test_no_share_is_explained_with_certainty_when_no_matched_error_was_seen():
    """Errors only outside the matched sample: the share is 1, and once had the interval 1 to 1."""
    arrays = world(0.0)
    y = arrays.y.copy()
    y[(arrays.matched == 0) & (arrays.focal == 1)] = 1.0
    (row,) = explained_rows(arrays.with_answers(y), 0.95)
    assert row["estimate"] == pytest.approx(1.0)
    assert row["low"] < 0.99 and row["high"] > 1.0


@pytest.mark.parametrize("rate", [0.001, 0.005, 0.01])
def test_gaps_of_rare_errors_hold(rate):
    held: dict[str, list[bool]] = {}
    for seed in range(60):
        for one in rare(rate)(150, seed):
            held.setdefault(one.name.split(",")[0] + one.name.split(",")[1], []).append(
                one.low <= one.truth <= one.high
            )
    assert all(np.mean(values) >= 0.9 for values in held.values()), {k: np.mean(v) for k, v in held.items()}


@pytest.mark.parametrize("shape", ["hinge", "exponential", "linear"])
def test_the_bias_correction_is_fitted_where_it_is_used(shape):
    """Slopes of all units turned a nearly unbiased matched gap into a biased one (coverage 55 and 44 %)."""
    held = covered(shape, 300, 60)
    assert held[f"matched, adjusted gap, {shape}"] >= 0.86


def test_unequal_clusters_cost_degrees_of_freedom():
    rng = np.random.default_rng(0)
    count = sizes(rng, 100)
    identity = np.repeat(np.arange(100), count)
    focal = (np.arange(100) % 2).astype(float)[identity]
    none, match = np.zeros((len(identity), 0)), (np.zeros(0, dtype=np.int64),) * 2
    arrays = arrays_of(rng.normal(size=len(identity)), focal, none, identity, match)
    assert Gap(arrays, "all", 0.95).dof() == pytest.approx(95, abs=8)  # every identity weighs 1 here
    panel = arrays_of(arrays.y, focal, none, identity, match, np.minimum(identity, 10))
    assert Gap(panel, "all", 0.95).dof() < 5  # one rater gave most answers


def test_every_identity_weighs_one_before_matching_as_after_it():
    """Confounding is none, but identities with many images differ: counting images makes a gap out of it."""
    identity = np.repeat(np.arange(40), np.where(np.arange(40) < 4, 25, 1))
    focal = (np.arange(40) % 2).astype(float)[identity]
    y = np.where(identity < 4, 5.0 * focal, 0.0) + np.arange(len(identity)) % 3 * 0.01
    first = np.flatnonzero(np.r_[True, identity[1:] != identity[:-1]])
    match = (first[focal[first] == 1], first[focal[first] == 0])
    rows = {
        (row["sample"], row["stat"]): row["estimate"]
        for sample in ("all", "matched")
        for row in gap_rows(arrays_of(y, focal, np.zeros((len(y), 0)), identity, match), sample, 0.95)
    }
    assert rows["all", "gap"] == pytest.approx(rows["matched", "gap"], abs=0.02)


def test_imbalance_that_matching_left_is_named():
    arrays = world(0.3)
    rows = {row["stat"]: row for row in gap_rows(arrays, "matched", 0.95)}
    assert ("|SMD| > 0.1 left in x0" in rows["adjusted_gap"]["method"]) == bool(arrays.unbalanced())
    skewed = arrays_of(arrays.y, arrays.focal, arrays.x + arrays.focal[:, None], arrays.identity, _first_pairs(arrays))
    assert "|SMD| > 0.1 left in x0" in {r["stat"]: r for r in gap_rows(skewed, "matched", 0.95)}["gap"]["method"]


def test_bias_that_matters_to_the_interval_is_remarked_also_where_the_smd_is_small():
    """|SMD| is below 0.1, but the sample is large, and the outcome bends where the groups still differ."""
    rng, n = np.random.default_rng(4), 1000
    identity, focal = np.arange(n), (np.arange(n) < 300).astype(float)
    x, match = rng.normal(0, 1.0, n), (np.arange(300), np.arange(300, 600))
    x[300:600] = x[:300] - 0.05
    y = 0.5 * x + rng.normal(0, 0.05, n)
    arrays = arrays_of(y, focal, x[:, None], identity, match)
    rows = {row["stat"]: row for row in gap_rows(arrays, "matched", 0.95)}
    added = rows["gap"]["estimate"] - rows["adjusted_gap"]["estimate"]
    assert not arrays.unbalanced() and added == pytest.approx(0.025, abs=0.01)
    assert rows["gap"]["method"].endswith(f"imbalance left adds {added:.2g}")
    still = arrays_of(rng.normal(0, 1, n), focal, x[:, None], identity, match)
    assert "adds" not in {row["stat"]: row for row in gap_rows(still, "matched", 0.95)}["gap"]["method"]


def _first_pairs(arrays):
    first = np.flatnonzero(np.r_[True, arrays.identity[1:] != arrays.identity[:-1]])
    ones, others = first[arrays.focal[first] == 1], first[arrays.focal[first] == 0]
    size = min(len(ones), len(others))
    return ones[:size], others[:size]


def test_regression_without_matching_is_a_row_of_its_own():
    rows = {row["stat"]: row for row in gap_rows(world(0.3), "all", 0.95)}
    assert rows["regression_gap"]["estimand"] == "ATE (regression)" and "adjusted_gap" not in rows


def two_raters(seed: int):
    """No gap; two raters who lean toward one group or the other answer yes or no about every image."""
    rng = np.random.default_rng(seed)
    image, rater = np.repeat(np.arange(80), 2), np.tile([0, 1], 80)
    focal = (image % 2).astype(float)
    odds = rng.normal(0, 0.5, 80)[image] + (rng.normal(0, 0.25, 2)[rater]) * (2 * focal - 1)
    y = (rng.random(160) < 1 / (1 + np.exp(-odds))).astype(float)
    match = (np.flatnonzero(focal == 1)[::2], np.flatnonzero(focal == 0)[::2])
    return arrays_of(y, focal, np.zeros((160, 0)), image, match, rater)


def test_two_raters_find_no_gap_where_there_is_none():
    """Newcombe's interval took the correlation over two raters as known, and excluded zero in 10 % of worlds."""
    found = [Gap(two_raters(seed), "all", 0.95).gap()[0] for seed in range(60)]
    assert np.mean([one.low > 0 or one.high < 0 for one in found]) <= 0.05


def test_an_explained_share_without_a_variance_is_finite():
    """A dyadic variance of zero beside a covariance gave an infinite correlation, and the error rates no table."""
    spread = widened(np.array([[0.0, 1e-4], [1e-4, 1e-3]]), np.array([0.05, 0.1]), 2.0)
    assert np.isfinite(spread).all() and abs(spread[0, 1]) <= (spread[0, 0] * spread[1, 1]) ** 0.5
    share, low, high, _ = explained_share(0.0, 0.3, spread, dof=20, level=0.95)
    assert low < share < high


def test_error_rates_of_a_world_whose_matched_gap_has_no_variance():
    ratings, trials, images, pairs = VerificationTrials(50, 600_070, impostors=8).tables()
    rates = error_rates(ratings, trials, images, RECOGNITION, pairs=pairs, rates=[0.01]).frame
    assert np.isfinite(rates[rates["stat"] == "explained_share"]["estimate"]).all()


@pytest.mark.parametrize("share", [False, True])
def test_a_plain_matched_gap_is_moved_out_by_what_imbalance_adds(share):
    """Its interval held the truth in 46 % of worlds with an interaction and 1,000 identities: bias is not noise."""
    rng, n = np.random.default_rng(4), 1000
    identity, focal = np.arange(n), (np.arange(n) < 300).astype(float)
    x, match = rng.normal(0, 1.0, n), (np.arange(300), np.arange(300, 600))
    x[300:600] = x[:300] - 0.3
    y = (rng.random(n) < 1 / (1 + np.exp(-2 * x))).astype(float) if share else x + rng.normal(0, 0.05, n)
    arrays = arrays_of(y, focal, x[:, None], identity, match)
    gap = Gap(arrays, "matched", 0.95)
    (plain, _), (found, _), (adjusted, _) = gap.plain, gap.gap(), gap.adjusted()
    assert not plain.low <= 0 <= plain.high and found.low <= 0 <= found.high
    assert (found.estimate, found.high) == (plain.estimate, plain.high)
    assert plain.low - found.low == pytest.approx(plain.estimate - adjusted.estimate)
    assert Gap(arrays, "all", 0.95).gap()[0] == Gap(arrays, "all", 0.95).plain[0]


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["hinge", "exponential", "linear"])
def test_the_plain_matched_gap_holds_beside_the_imbalance_it_is_left_with(shape):
    assert covered(shape, 600, 60)[f"matched gap, {shape}"] >= 0.9
