"""Agreement: a published example, other people's implementations, and simulated raters."""

from __future__ import annotations

import importlib
import warnings

import krippendorff
import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.analysis.crowd.agreement import agreement, rater_quality
from likewise.analysis.crowd.consensus import Votes, crowd_kit, dawid_skene, majority
from likewise.errors import SpecError, TableError
from picked import only

# The four observers of Krippendorff, "Computing Krippendorff's alpha-reliability" (2011), section C; 0 = no answer.
PUBLISHED = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
    [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
]


def ratings_of(table):
    rows = [
        {"unit": f"u{u}", "rater": f"r{r}", "question": "q", "value": float(value) if value else None}
        for r, line in enumerate(table)
        for u, value in enumerate(line)
    ]
    return lw.Ratings(pd.DataFrame(rows))


def simulated(accuracies, units=400, seed=0, values=3):
    """Raters who know the truth with these chances, each seeing half the units."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, values, units)
    rows = []
    for r, accuracy in enumerate(accuracies):
        for u in np.flatnonzero(rng.random(units) < 0.5):
            right = rng.random() < accuracy
            value = truth[u] if right else (truth[u] + rng.integers(1, values)) % values
            rows.append({"unit": f"u{u:04d}", "rater": f"r{r}", "question": "q", "value": float(value)})
    return lw.Ratings(pd.DataFrame(rows)), pd.Series(truth, index=[f"u{u:04d}" for u in range(units)])


@pytest.mark.parametrize(("scale", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_the_published_alphas(scale, alpha):
    row = only(agreement(ratings_of(PUBLISHED), question="q", scale=scale), stat="alpha")
    assert row["estimate"] == pytest.approx(alpha, abs=5e-4)
    assert row["clusters"] == 11 and row["n"] == 40  # the unit with one answer carries nothing


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
def test_alpha_agrees_with_krippendorff_and_crowd_kit(scale):
    ratings, _ = simulated([0.9, 0.7, 0.6, 0.5, 0.4], units=80, seed=5, values=4)
    frame = ratings.frame
    ours = only(agreement(ratings, question="q", scale=scale), stat="alpha")["estimate"]
    wide = frame.pivot(index="rater", columns="unit", values="value")
    assert ours == pytest.approx(krippendorff.alpha(wide.to_numpy(), level_of_measurement=scale), abs=1e-12)
    if scale == "nominal":
        metrics = importlib.import_module("crowdkit.metrics.data")
        named = frame.rename(columns={"unit": "task", "rater": "worker", "value": "label"})
        assert ours == pytest.approx(metrics.alpha_krippendorff(named[["task", "worker", "label"]]), abs=1e-9)


def test_alpha_is_zero_for_guessing_and_one_for_agreement():
    found = [only(agreement(simulated([1 / 3] * 6, 100, seed)[0], question="q"), stat="alpha") for seed in range(200)]
    assert 0.91 < np.mean([row["low"] < 0 < row["high"] for row in found]) < 0.985
    same, _ = simulated([1.0] * 4)
    assert only(agreement(same, question="q"), stat="alpha")["estimate"] == 1
    assert "rule of three" in only(agreement(same, question="q"), stat="pairwise_agreement")["method"]


def test_answers_that_never_differ_have_no_alpha():
    still = lw.Ratings(simulated([1.0] * 4)[0].frame.assign(value=1.0))
    found = agreement(still, question="q")
    assert found.where(stat="alpha").frame.empty and len(found) == 1
    assert found.frame["method"].iloc[0].endswith("; all answers equal: no alpha")


def test_dawid_skene_beats_the_majority_when_raters_differ():
    ratings, truth = simulated([0.95, 0.9, 0.4, 0.4, 0.4, 0.4], seed=2)
    votes = Votes.of(ratings, "q")
    labels = dawid_skene(votes).idxmax(axis=1)
    counted = majority(votes).idxmax(axis=1)
    assert (labels == truth.loc[labels.index]).mean() > (counted == truth.loc[counted.index]).mean() + 0.05


def test_reliable_raters_rank_last_when_two_others_are_reliable():
    """Leaving one out must leave reliable raters: a consensus of random answers ranks no rater."""
    ratings, _ = simulated([0.95, 0.9, 0.85, 0.4, 0.4, 0.4], seed=2)
    order = rater_quality(ratings, question="q").frame["group"].tolist()
    assert set(order[-3:]) == {"r0", "r1", "r2"}


def test_dawid_skene_agrees_with_crowd_kit():
    aggregation = importlib.import_module("crowdkit.aggregation")
    ratings, _ = simulated([0.9, 0.8, 0.7, 0.6, 0.5], seed=3)
    votes = Votes.of(ratings, "q")
    frame = pd.DataFrame({"task": votes.unit, "worker": votes.rater, "label": votes.value})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = aggregation.DawidSkene(n_iter=200).fit_predict_proba(frame)
    ours = dawid_skene(votes).to_numpy()
    assert np.abs(ours - other.sort_index().to_numpy()).max() < 0.05
    assert (ours.argmax(axis=1) == other.sort_index().to_numpy().argmax(axis=1)).mean() > 0.99
    for method in ("glad", "mace"):
        assert (crowd_kit(votes, method).to_numpy().argmax(axis=1) == ours.argmax(axis=1)).mean() > 0.8


def test_what_is_not_there_is_refused():
    ratings, _ = simulated([0.9] * 3)
    with pytest.raises(SpecError, match="'ordinal'"):
        agreement(ratings, question="q", scale="ordinl")
    with pytest.raises(TableError, match="No answers"):
        agreement(ratings, question="other")
    with pytest.raises(SpecError, match="majority"):
        rater_quality(ratings, question="q", consensus="loudest")
    single = lw.Ratings(ratings.frame.drop_duplicates("unit"))
    with pytest.raises(TableError, match="two answers"):
        agreement(single, question="q")
    with pytest.raises(SpecError, match="'glad', 'mace'"):
        crowd_kit(Votes.of(ratings, "q"), "loudest")
