"""Operating points: the threshold lets in what it says, and the variance is that of many worlds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.analysis.verification.operating_points import TrialSample, _slopes, errors_at
from likewise.analysis.verification.trial_table import trial_tables
from likewise.simulation.system_ratings import CONTRAST, VerificationTrials
from likewise.stats.jackknife import covariance
from likewise.tables import Matches


def impostors(distance):
    n = len(distance)
    return TrialSample.of(np.asarray(distance, dtype=float), np.arange(n), np.arange(n) + n, np.arange(n))


@given(st.integers(1, 500), st.floats(0.001, 0.6))
def test_of_the_impostors_seen_no_more_are_let_in_than_allowed(n, rate):
    arm = impostors(np.random.default_rng(n).random(n))
    assert arm.error(arm.threshold(rate)) <= rate + 1e-9


@pytest.mark.parametrize("n", [100, 400, 437])
def test_one_more_impostor_is_let_in_at_the_rate(n):
    """The distances are uniform, so a threshold is its own chance; the next one up gives (f n + 1) / (n + 1)."""
    rng = np.random.default_rng(0)
    found = np.array([impostors(rng.random(n)).threshold(0.02) for _ in range(4000)])
    assert found.mean() == pytest.approx(0.02, abs=4 * found.std() / 4000**0.5)


def test_equal_distances_and_missing_ones_are_never_let_in_by_chance():
    assert impostors([0.3] * 50).error(impostors([0.3] * 50).threshold(0.1)) == 0
    assert impostors([0.1, *[np.inf] * 9]).threshold(0.3) == np.inf


def board_of(seed, **options):
    ratings, trials, faces, _ = VerificationTrials(100, seed, **options).tables()
    return trial_tables(ratings, trials, faces, CONTRAST, None, drop=False)[0]


def test_at_a_given_threshold_the_variance_is_the_jackknife_by_identity():
    trial_table = board_of(0)
    arm = trial_table.genuine[0]
    found = trial_table.errors(0.5, [arm], None)
    columns = np.column_stack([np.ones(len(arm)), arm.distance >= 0.5])
    codes = np.unique(arm.left, return_inverse=True)[1]
    other = covariance(columns, lambda t: (t[..., 1] / t[..., 0])[..., None], [codes])
    assert found.covariance == pytest.approx(other, rel=1e-9)


def test_independent_trials_have_the_binomial_variance_and_no_doubt_about_it():
    n, met = 600, impostors(np.random.default_rng(1).random(600))
    found = errors_at([met], 0.1, linked=np.arange(2 * n), meetings=n, smallest=n)
    p = float(found.rates[0])
    assert found.covariance[0, 0] == pytest.approx(p * (1 - p) / n, rel=0.01)
    alone = TrialSample.of(met.distance, met.left, met.left, np.full(n, -1))
    assert errors_at([alone], 0.9, linked=np.arange(n), meetings=n, smallest=n).dof(0) > 1e6


def test_the_variance_is_that_of_many_worlds():
    """Two routes to one number: what one world says of its uncertainty, and how far worlds lie apart."""
    rates, variances = [], []
    for seed in range(150):
        trial_table = board_of(seed, impostors=8)
        found = trial_table.errors(trial_table.impostors.threshold(0.02), trial_table.samples, trial_table.impostors)
        rates.append(found.rates)
        variances.append(np.diag(found.covariance))
    wide = np.std(rates, axis=0)
    assert np.mean(variances, axis=0)[:2] ** 0.5 == pytest.approx(wide[:2], rel=0.2)


def test_a_slope_found_on_few_false_matches_is_as_doubtful_as_it_says():
    """Misses fall on a straight line in log FMR, so the slope is known; ten false matches find it only roughly."""
    n, rate, rng = 2000, 0.005, np.random.default_rng(2)
    missed = np.exp(-8 * (np.arange(20_000) + 0.5) / 20_000)
    genuine = TrialSample.of(missed, np.arange(20_000), np.arange(20_000), np.full(20_000, -1))
    found, doubts = zip(
        *(_slopes([genuine], impostors(rng.random(n)), rate, rate * (1 - rate) / n) for _ in range(1500)), strict=True
    )
    raw = np.array([float(slope[0]) for slope in found]) * (1 + doubts[0]) ** 0.5
    assert np.var(raw) / np.mean(raw) ** 2 == pytest.approx(doubts[0], rel=0.2)
    assert np.mean(np.square([float(slope[0]) for slope in found])) == pytest.approx(np.mean(raw) ** 2, rel=0.05)


def test_few_false_matches_cost_degrees_of_freedom():
    trial_table = board_of(3, impostors=20)
    arms, pool = trial_table.genuine[:1], trial_table.impostors
    few, many = (trial_table.errors(pool.threshold(rate), arms, pool) for rate in (0.004, 0.1))
    assert few.slope_doubt > 5 * many.slope_doubt
    known = errors_at(arms, few.threshold, linked=trial_table.linked, meetings=trial_table.meetings, smallest=50)
    assert 2 * few.dof(0) < known.dof(0)


def test_trials_that_count_for_half_are_worth_fewer_and_weigh_half():
    distance, who = np.array([0.1, 0.9, 0.9, 0.2]), np.arange(4)
    weighed = TrialSample.of(distance, who, who, np.full(4, -1), np.array([1.0, 0.5, 0.5, 1.0]))
    assert weighed.error(0.5) == pytest.approx(1 / 3) and weighed.effective_size == pytest.approx(9 / 2.5)
    assert weighed.error(0.05) == 1 and weighed.error(2) == 0  # exactly: the rule of three hangs on it
    assert weighed.influence(0.5).sum() == pytest.approx(0)


def test_the_references_of_a_set_count_as_one():
    """Two routes to one number: the matched rate, and the mean over sets written out."""
    ratings, trials, faces, pairs = VerificationTrials(60, 5, impostors=8).tables()
    frame = pairs.frame
    spare = [image for image in faces.frame.loc[faces.frame["perceived_gender"] == "male", "image"]
             if image.endswith("-2")][:3]  # fmt: skip
    first = frame["a"].iloc[0]
    more = pd.DataFrame({"pair": [f"x{k}" for k in range(3)], "a": first, "b": spare})
    trial_table = trial_tables(ratings, trials, faces, CONTRAST, Matches(pd.concat([frame, more])), drop=False)[0]
    found = trial_table.errors(0.45, trial_table.matched, None).rates
    value = ratings.frame.set_index("unit")["value"]
    missed = {key.split("|")[0]: float(far >= 0.45) for key, far in value.items()
              if key.split("|")[0][:6] == key.split("|")[1][:6]}  # fmt: skip
    sets = frame.assign(more=frame["b"].map(missed))["more"].tolist()
    sets[0] = float(np.mean([missed[frame["b"].iloc[0]], *(missed[image] for image in spare)]))
    assert found == pytest.approx([np.mean([missed[image] for image in frame["a"]]), np.mean(sets)])


def test_matched_pairs_that_fail_together_make_a_narrower_interval():
    """Partners share half of what makes them hard, so their gap varies less than that of strangers would."""
    n, gaps, bound, alone = 400, [], [], []
    who = np.arange(2 * n)
    for seed in range(120):
        rng = np.random.default_rng(seed)
        hard = np.repeat(rng.normal(size=n), 2) + rng.normal(size=2 * n)
        arms = [
            TrialSample.of(hard[k::2], who[k::2], who[k::2], np.full(n, -1), np.ones(n), matched=True) for k in (0, 1)
        ]
        paired, apart = (errors_at(arms, 1.0, linked=code, meetings=1, smallest=n) for code in (who // 2, who))
        gaps.append(float(np.diff(paired.rates)[0]))
        bound.append(np.array([1, -1]) @ paired.covariance @ np.array([1, -1]))
        alone.append(np.array([1, -1]) @ apart.covariance @ np.array([1, -1]))
        assert np.diag(paired.covariance) == pytest.approx(np.diag(apart.covariance))
    assert np.mean(bound) ** 0.5 == pytest.approx(np.std(gaps), rel=0.15)
    assert np.mean(alone) > 1.3 * np.mean(bound)


def test_an_unmatched_gap_does_not_depend_on_the_matching():
    ratings, trials, faces, pairs = VerificationTrials(100, 3, impostors=8).tables()
    unmatched = []
    for bound in (None, pairs):
        trial_table = trial_tables(ratings, trials, faces, CONTRAST, bound, drop=False)[0]
        found = trial_table.errors(trial_table.impostors.threshold(0.05), trial_table.samples, trial_table.impostors)
        unmatched.append(found.covariance[:2, :2])
    assert unmatched[0] == pytest.approx(unmatched[1], rel=1e-12)
