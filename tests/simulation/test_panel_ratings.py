"""Simulated rater panels and image features: the ground truth against large draws."""

from __future__ import annotations

import numpy as np
import pytest

from invariants import check_images, check_ratings, check_vectors
from likewise.simulation.panel_ratings import (
    TONE,
    BinaryResponses,
    ClassScores,
    ImageFeatures,
    OrdinalResponses,
    ToneResponses,
    assigned,
)

PANELS = [BinaryResponses(40, 20, 1), OrdinalResponses(40, 20, 1), ToneResponses(40, 20, 1)]


def joined(simulated):
    ratings, images = simulated.tables()
    return ratings.frame.merge(images.frame, left_on="unit", right_on="image")


@pytest.mark.parametrize("simulated", PANELS, ids=lambda s: type(s).__name__)
def test_panels_are_valid_and_determined_by_the_seed(simulated):
    (ratings, images), again = simulated.tables(), simulated.tables()
    check_ratings(ratings)
    check_images(images)
    assert (ratings, images) == again
    assert ratings != type(simulated)(40, 20, 2).tables()[0]
    assert set(TONE.side(images)) == {1, -1}
    assert ratings.frame.groupby("unit")["rater"].nunique().eq(simulated.each).all()


def test_assignment_uses_distinct_raters_and_all_of_them():
    image, rater = assigned(300, 12, 5, np.random.default_rng(0))
    pairs = set(zip(image.tolist(), rater.tolist(), strict=True))
    assert len(pairs) == 300 * 5
    load = np.bincount(rater, minlength=12)
    assert load.min() > 0.7 * load.mean()


def test_binary_responses_have_the_marginal_rate_of_the_model():
    """Two routes: a large draw, and Gauss-Hermite integration over the random effects."""
    simulated = BinaryResponses(6000, 600, 1)
    rates = joined(simulated).groupby("perceived_skin_tone")["value"].mean()
    points, weights = np.polynomial.hermite_e.hermegauss(40)
    spread = np.hypot(*simulated.spreads)
    for group, logit in (("darker", simulated.gap - 0.3), ("lighter", -0.3)):
        expected = (weights / (1 + np.exp(-(logit + spread * points)))).sum() / weights.sum()
        assert rates[group] == pytest.approx(expected, abs=0.02)


def test_binary_responses_of_an_image_are_correlated():
    wide = BinaryResponses(8000, 2000, 1, each=2).tables()[0].frame["value"].to_numpy().reshape(-1, 2)
    assert np.corrcoef(wide.T)[0, 1] > 0.05
    still = BinaryResponses(8000, 2000, 1, each=2, gap=0.0, spreads=(0.0, 0.0)).tables()[0]
    assert abs(np.corrcoef(still.frame["value"].to_numpy().reshape(-1, 2).T)[0, 1]) < 0.04


def test_ordinal_shares_against_a_large_draw():
    simulated = OrdinalResponses(8000, 600, 1)
    frame = joined(simulated)
    for group, shares in zip(("darker", "lighter"), simulated.shares, strict=True):
        found = frame.loc[frame["perceived_skin_tone"] == group, "value"].value_counts(normalize=True).sort_index()
        np.testing.assert_allclose(found, shares, atol=0.02)
        assert shares.sum() == pytest.approx(1)


def test_superiority_is_the_share_of_pairs_won():
    simulated = OrdinalResponses(10, 10, 1)
    focal, reference = simulated.shares
    brute = sum(
        focal[i] * reference[j] * (1.0 if i > j else 0.5 if i == j else 0.0) for i in range(4) for j in range(4)
    )
    assert simulated.superiority == pytest.approx(brute)
    assert OrdinalResponses(10, 10, 1, shift=0.0).superiority == pytest.approx(0.5)


def test_tone_correlation_against_a_large_draw():
    simulated = ToneResponses(6000, 800, 1)
    frame = joined(simulated)
    per_image = frame.groupby("unit").agg(answer=("value", "mean"), measured=("measured_ita", "first"))
    assert per_image.corr(method="spearman").iloc[0, 1] == pytest.approx(simulated.correlation, abs=0.03)
    assert set(frame["value"]) <= {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}


@pytest.mark.parametrize("simulated", [ImageFeatures(40, 1), ClassScores(40, 1)], ids=lambda s: type(s).__name__)
def test_features_are_valid_and_determined_by_the_seed(simulated):
    vectors, images = simulated.tables()
    check_vectors(vectors)
    check_images(images)
    assert vectors.keys == images.keys
    assert (vectors, images) == simulated.tables()
    assert vectors != type(simulated)(40, 2).tables()[0]
    made_by = images.frame.groupby("identity")["made_by"].nunique()
    assert made_by.eq(1).all()
    assert images.frame.groupby("identity").size().eq(2).all()


def by_group(simulated):
    vectors, images = simulated.tables()
    frame = images.frame
    return {
        key: vectors.take(part["image"].tolist()).astype(float)
        for key, part in frame.groupby(["made_by", "perceived_skin_tone"])
    }


def test_features_have_the_designed_moments():
    parts = by_group(ImageFeatures(8000, 1))
    for key, values in parts.items():
        expected = 0.8 if key == ("generator", "darker") else 0.0
        np.testing.assert_allclose(values.mean(axis=0), expected, atol=0.06)
        np.testing.assert_allclose(values.std(axis=0), 1.0, atol=0.04)


def test_kid_against_the_unbiased_estimate_of_a_large_draw():
    simulated = ImageFeatures(3000, 1)
    parts = by_group(simulated)
    x, y = parts["generator", "darker"][::2], parts["camera", "darker"][::2]  # one image an identity

    def kernel(a, b):
        return (a @ b.T / 3 + 1) ** 3

    def own(a):
        gram = kernel(a, a)
        return (gram.sum() - np.trace(gram)) / (len(a) * (len(a) - 1))

    assert own(x) + own(y) - 2 * kernel(x, y).mean() == pytest.approx(simulated.kid, rel=0.15)
    assert ImageFeatures(10, 1, shift=0.0).kid == 0


def test_inception_score_against_a_large_draw():
    simulated = ClassScores(20_000, 1)
    scores = simulated.tables()[0].values.astype(float)
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    divergence = (chances * np.log(chances / chances.mean(axis=0))).sum(axis=1).mean()
    assert np.exp(divergence) == pytest.approx(simulated.score, abs=0.02)
