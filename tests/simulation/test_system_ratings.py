"""Simulated ratings of systems: the ground truth against large draws."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from invariants import check_images, check_ratings
from likewise.errors import SpecError
from likewise.simulation.system_ratings import (
    CONTRAST,
    STRENGTHS,
    EditedLabels,
    RealOrGenerated,
    VerificationTrials,
)


def joined(simulated: VerificationTrials):
    """Return one row a trial: distance, whether it is genuine, group and eyeglasses of the first image."""
    ratings, trials, images, _ = simulated.tables()
    frame = trials.frame.merge(ratings.frame, left_on="trial", right_on="unit")
    return frame.merge(images.frame, left_on="a", right_on="image")


@pytest.fixture(scope="module")
def large():
    return VerificationTrials(12_000, 1, impostors=4)


@pytest.fixture(scope="module")
def trials(large):
    return joined(large)


@pytest.mark.parametrize(
    "simulated",
    [VerificationTrials(60, 1), RealOrGenerated(40, 12, 1), EditedLabels(20, 1)],
    ids=lambda s: type(s).__name__,
)
def test_tables_are_valid_and_determined_by_the_seed(simulated):
    first, again = simulated.tables(), simulated.tables()
    check_ratings(first[0])
    check_images(next(table for table in first if type(table).__name__ == "Images"))
    assert all(a == b for a, b in zip(first, again, strict=True))
    other = type(simulated)(**{**vars(simulated), "seed": 2}).tables()
    assert first[0] != other[0]


def test_every_identity_has_its_trials():
    _, trials, images, _ = VerificationTrials(60, 1, genuine=3, impostors=5).tables()
    frame, whose = trials.frame, images.identities
    same = frame["a"].map(whose) == frame["b"].map(whose)
    assert (same == frame["same"]).all()
    assert (frame["same"].sum(), (~frame["same"]).sum()) == (60 * 3, 60 * 5)
    assert frame["trial"].is_unique


def test_matches_have_one_identity_of_each_group_and_equal_eyeglasses():
    _, _, images, matches = VerificationTrials(200, 1).tables()
    side, glasses = CONTRAST.side(images), images.attribute("eyeglasses")
    frame = matches.frame
    assert (frame["a"].map(side) == 1).all()
    assert (frame["b"].map(side) == -1).all()
    assert (frame["a"].map(glasses).to_numpy() == frame["b"].map(glasses).to_numpy()).all()
    used = frame[["a", "b"]].stack().map(images.identities)
    assert used.is_unique


def test_gaps_against_a_large_draw(large, trials):
    genuine = trials[trials["same"]]
    means = genuine.groupby(["perceived_gender", "eyeglasses"])["value"].mean()
    unmatched, matched = large.gaps
    by_group = genuine.groupby("perceived_gender")["value"].mean()
    assert by_group["female"] - by_group["male"] == pytest.approx(unmatched, abs=0.004)
    for worn in (0, 1):
        assert means["female", worn] - means["male", worn] == pytest.approx(matched, abs=0.005)


def test_without_effect_and_confounding_there_is_no_gap():
    assert VerificationTrials(60, 1, effect=0.0, mixed=0.0).gaps == (0.0, 0.0)
    assert VerificationTrials(60, 1, effect=0.0).gaps[1] == 0.0


@pytest.mark.parametrize("rate", [0.01, 0.1])
def test_thresholds_have_the_pooled_false_match_rate(large, trials, rate):
    impostor = trials.loc[~trials["same"], "value"]
    assert (impostor < large.limit(rate)).mean() == pytest.approx(rate, rel=0.1)


@pytest.mark.parametrize("failures", [0.0, 0.1])
def test_fnmr_against_a_large_draw(failures):
    simulated = VerificationTrials(12_000, 2, impostors=1, failures=failures)
    frame = joined(simulated)
    genuine = frame[frame["same"]]
    missed = ~(genuine["value"] < simulated.limit(0.05))  # a trial without a distance is an error, too
    rates = missed.groupby(genuine["perceived_gender"]).mean()
    for group, rate in simulated.fnmr(0.05).items():
        assert rates[group] == pytest.approx(rate, abs=0.01)


def test_failures_are_in_the_focal_group_and_clustered():
    frame = joined(VerificationTrials(4000, 3, impostors=1, failures=0.1))
    failed = frame[frame["same"] & frame["value"].isna()]
    assert set(failed["perceived_gender"]) == {"female"}
    genuine = frame[frame["same"] & (frame["perceived_gender"] == "female")]
    assert len(failed) / len(genuine) == pytest.approx(0.1, abs=0.015)
    assert failed["identity"].nunique() / genuine["identity"].nunique() < 0.22


def test_trials_of_an_identity_are_correlated_as_designed(large, trials):
    genuine = trials[trials["same"]].copy()
    genuine["value"] -= genuine.groupby(["perceived_gender", "eyeglasses"])["value"].transform("mean")
    wide = genuine["value"].to_numpy().reshape(large.identities, large.genuine)
    found = np.corrcoef(wide.T)[np.triu_indices(large.genuine, 1)].mean()
    assert found == pytest.approx(large.person**2 / (large.person**2 + large.noise**2), abs=0.02)


@pytest.mark.parametrize("identities", [30, 61])
def test_impossible_trials_are_refused(identities):
    with pytest.raises(SpecError, match=f"{identities} identities with 20 impostor trials each. Use an even number"):
        VerificationTrials(identities, 1)


def test_rates_of_real_or_generated_against_a_large_draw():
    simulated = RealOrGenerated(8000, 200, 1)
    ratings, images = simulated.tables()
    frame = ratings.frame.merge(images.frame, left_on="unit", right_on="image")
    rates = frame.groupby(["made_by", "perceived_skin_tone"])["value"].mean()
    assert rates["generator", "darker"] == pytest.approx(simulated.passes[0], abs=0.02)
    assert rates["generator", "lighter"] == pytest.approx(simulated.passes[1], abs=0.02)
    assert rates["camera"].mean() == pytest.approx(1 - simulated.misses, abs=0.02)
    assert frame.groupby("unit")["rater"].nunique().eq(simulated.each).all()


def test_alpha_is_the_covariance_of_two_raters_over_the_variance():
    simulated = RealOrGenerated(20_000, 4000, 2, each=2)  # many raters: two of them hardly ever meet again
    wide = simulated.tables()[0].frame["value"].to_numpy().reshape(-1, 2)
    found = np.cov(wide.T)[0, 1] / wide.var()
    assert found == pytest.approx(simulated.alpha, abs=0.03)


def test_label_rates_by_edit_strength_against_a_large_draw():
    simulated = EditedLabels(6000, 1, bend=0.01)
    ratings, images = simulated.tables()
    frame = ratings.frame.merge(images.frame, left_on="unit", right_on="image")
    rates = frame.groupby("level")["value"].mean()
    for strength in STRENGTHS:
        expected = simulated.middle + simulated.slope * strength + simulated.bend * strength**2
        assert rates[strength] == pytest.approx(expected, abs=0.02)
    assert frame.groupby("parent").size().eq(len(STRENGTHS)).all()
    slope = np.polyfit(rates.index, rates / simulated.middle, 1)[0]
    assert slope == pytest.approx(simulated.relative, abs=0.02)


def test_log_odds_slope_is_that_of_a_logistic_regression():
    simulated = EditedLabels(20_000, 1, images_each=1)
    ratings, images = simulated.tables()
    fitted = LogisticRegression(C=1e9).fit(images.frame[["level"]].to_numpy(), ratings.frame["value"])
    assert fitted.coef_[0, 0] == pytest.approx(simulated.log_odds_slope, abs=0.01)


def test_without_an_effect_all_slopes_are_zero():
    assert EditedLabels(10, 1, slope=0.0).relative == 0
    assert EditedLabels(10, 1, slope=0.0).log_odds_slope == pytest.approx(0, abs=1e-9)
