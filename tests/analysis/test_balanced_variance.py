"""The interval of a matched gap whose design balanced covariates, and gaps of weighted samples."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.analysis.gaps.balanced_variance import explained
from likewise.design.balance.weighting import overlap_weights
from likewise.errors import InputError
from likewise.tables import Ratings

CONTRAST = lw.Contrast("group", "x", "y")
EFFECT = 0.3


def audit(seed: int, people: int = 160) -> tuple[lw.Images, lw.Vectors, lw.Matches, Ratings]:
    """Images whose rating is an effect, much of a covariate that goes along with the group, and a little noise."""
    rng = np.random.default_rng(seed)
    side = np.arange(people) % 2 == 0
    covariates = rng.normal(size=(people, 3)) + 0.4 * side[:, None]
    frame = pd.DataFrame({"image": [f"{k:03d}" for k in range(people)], "identity": range(people)})
    images = lw.Images(frame.assign(group=np.where(side, "x", "y")))
    vectors = lw.Vectors(images.keys, covariates, source="covariates")
    pairs = lw.match(images, vectors, CONTRAST, lw.MatchSpec(method="cardinality"))
    value = EFFECT * side + covariates.sum(axis=1) + rng.normal(0, 0.5, people)
    table = pd.DataFrame({"unit": images.keys, "rater": "r", "question": "q", "value": value})
    return images, vectors, pairs, Ratings(table)


def interval(found: lw.Estimates, sample: str = "matched") -> tuple[float, float, float]:
    row = found.where(stat="gap", sample=sample).frame.iloc[0]
    return float(row["estimate"]), float(row["low"]), float(row["high"])


def test_the_gap_stays_and_its_interval_is_of_what_balance_leaves():
    images, vectors, pairs, ratings = audit(1)
    plain = interval(lw.gaps(ratings, None, images, CONTRAST, pairs=pairs))
    found = lw.gaps(ratings, None, images, CONTRAST, pairs=pairs, balanced=vectors)
    own = interval(found)
    assert own[0] == plain[0]
    assert own[2] - own[1] < 0.8 * (plain[2] - plain[1])
    assert "residuals of the balanced covariates" in found.where(stat="gap", sample="matched").frame["method"].iloc[0]


def test_the_interval_holds_the_truth_in_about_95_of_100():
    inside, weighted = [], []
    for seed in range(60):
        images, vectors, pairs, ratings = audit(seed)
        weights = {"overlap-weighted": overlap_weights(images, CONTRAST, vectors=vectors)}
        found = lw.gaps(ratings, None, images, CONTRAST, pairs=pairs, balanced=vectors, weights=weights)
        for sample, hits in (("matched", inside), ("overlap-weighted", weighted)):
            _, low, high = interval(found, sample)
            hits.append(low <= EFFECT <= high)
    assert 0.88 <= np.mean(inside) <= 0.995
    assert 0.88 <= np.mean(weighted) <= 0.995


def test_nearest_pairs_are_not_balanced_by_design_and_keep_the_jackknife():
    images, vectors, _, ratings = audit(2)
    pairs = lw.match(images, vectors, CONTRAST)
    found = lw.gaps(ratings, None, images, CONTRAST, pairs=pairs, balanced=vectors)
    assert interval(found) == interval(lw.gaps(ratings, None, images, CONTRAST, pairs=pairs))


def test_other_vectors_are_refused():
    images, vectors, pairs, ratings = audit(3)
    few = lw.Vectors(vectors.keys[:10], vectors.values[:10], source="few")
    with pytest.raises(InputError, match="Matched images without a vector"):
        lw.gaps(ratings, None, images, CONTRAST, pairs=pairs, balanced=few)


def test_slopes_are_those_of_other_people():
    rng = np.random.default_rng(0)
    y, x = rng.normal(size=60), rng.normal(size=(60, 40))
    part = explained(y, (np.arange(60) % 2).astype(float), x, np.ones(60), np.arange(60))
    assert np.corrcoef(y, part)[0, 1] < 0.5  # in-sample slopes of 40 numbers would explain nearly all of this noise
    assert not explained(y, np.ones(60), np.zeros((60, 2)), np.ones(60), np.arange(60)).any()


def test_weighted_samples_stand_beside_the_matched_one():
    images, vectors, pairs, ratings = audit(4)
    weights = {"overlap-weighted": overlap_weights(images, CONTRAST, vectors=vectors)}
    found = lw.gaps(ratings, None, images, CONTRAST, pairs=pairs, balanced=vectors, weights=weights).frame
    row = found[(found["sample"] == "overlap-weighted") & (found["stat"] == "gap")].iloc[0]
    assert row["estimand"] == "ATO"
    assert abs(row["estimate"] - EFFECT) < 0.25
