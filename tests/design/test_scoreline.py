from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import likewise as lw
from likewise.design import match as matching
from likewise.design.propensity import overlap, propensity, score_weights
from likewise.errors import SpecError
from matching_problems import CONTRAST, Problem, problems


def general(*args, **options) -> lw.Pairs:
    """The same matching by the general search."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_only_score", lambda spec: False)
        return lw.match(*args, **options)


@pytest.fixture(scope="module")
def mild(world) -> lw.Vectors:
    """Vectors in which the groups lie apart by somewhat less than their spread."""
    side = CONTRAST.side(world.faces).to_numpy()
    noise = np.random.default_rng(5).normal(size=(len(side), 3, 4))
    return lw.Vectors(world.faces.images, noise + 0.3 * side[:, None, None], source="mild")


@settings(max_examples=150, deadline=None)
@given(
    problems(most_people=20),
    st.sampled_from(["closest", "key", "random", "largest", "smallest"]),
    st.sampled_from([("identity",), ()]),
    st.sampled_from([0.0, 0.25, 1.0, float("inf")]),
    st.sampled_from([None, 2]),
    st.booleans(),
    st.integers(0, 2**31),
)
def test_the_fast_way_is_the_general_search_on_one_number(
    problem: Problem, order: str, antiexact, limit: float, most: int | None, ties: bool, seed: int
):
    rng = np.random.default_rng(seed)
    count = len(problem.faces)
    values = rng.integers(0, 5, count) / 4 if ties else rng.normal(size=count)
    scores = pd.Series(values, index=problem.faces.images)
    spec = lw.MatchSpec(method="propensity", order=order, antiexact=antiexact, caliper={"score": limit}, max_pairs=most)
    fast = lw.match(problem.faces, None, CONTRAST, spec, scores=scores)
    slow = general(problem.faces, None, CONTRAST, spec, scores=scores)
    assert fast == slow
    assert fast.dropped.equals(slow.dropped)


def test_scores_are_kept_and_the_caliper_is_two_tenths_of_a_logit_deviation(world, mild, contrast):
    found = lw.match(world.faces, mild, contrast, lw.MatchSpec(method="propensity"))
    frame = found.frame
    assert (frame["distance"] - (frame["score_a"] - frame["score_b"]).abs()).abs().max() < 1e-12
    fit = propensity(world.faces, mild, contrast)
    within = np.sqrt(np.mean([fit.logit[fit.side == sign].var() for sign in (1, -1)]))
    assert frame["distance"].max() <= 0.2 * within + 1e-9
    assert "caliper score" in found.ledger.columns
    assert lw.match(world.faces, None, contrast, found.spec, scores=fit.on("logit")).frame.equals(frame)


def test_cross_fitting_never_scores_an_identity_that_it_has_seen(world, contrast):
    noise = np.random.default_rng(0).normal(size=(len(world.faces), 60)).astype(np.float32)
    vectors = lw.Vectors(world.faces.images, noise, source="noise")
    seen, unseen = (propensity(world.faces, vectors, contrast, folds=folds).auc for folds in (0, 5))
    assert seen > 0.8
    assert abs(unseen - 0.5) < 0.15


def test_separated_groups_are_said_in_the_first_line(world, contrast):
    side = contrast.side(world.faces)
    far = lw.Vectors(world.faces.images, np.c_[side.to_numpy() * 9, np.arange(len(side)) % 7], source="apart")
    spec = lw.MatchSpec(method="propensity", caliper={"score": float("inf")})
    found = lw.match(world.faces, far, contrast, spec)
    assert "little to stand on" in str(found).splitlines()[0]


def test_the_overlap_is_diagnosed(world, mild, contrast):
    fit = propensity(world.faces, mild, contrast)
    told = overlap(fit, contrast)
    shares = told.where(stat="share").frame.groupby("group")["estimate"].sum()
    assert np.allclose(shares, 1)
    assert 0 <= told.where(stat="overlap").frame["estimate"].item() <= 1
    assert told.where(stat="auc").frame["estimate"].item() == fit.auc
    assert set(told.where(stat="score_accuracy").frame["quantity"]) == {
        "propensity, training fit",
        "propensity, as scored",
    }


def test_overlap_weights_give_the_groups_equal_means_of_what_the_model_fits(world, mild, contrast):
    """Overlap weights of an unpenalised logistic fit balance its covariates exactly (Li, Morgan and Zaslavsky 2018)."""
    fit = propensity(world.faces, mild, contrast, folds=0)
    weights = score_weights(fit)
    logit = fit.logit
    means = [np.average(logit[fit.side == sign], weights=weights[fit.side == sign]) for sign in (1, -1)]
    plain = [logit[fit.side == sign].mean() for sign in (1, -1)]
    assert abs(means[0] - means[1]) < 0.1 * abs(plain[0] - plain[1])
    with pytest.raises(SpecError, match="one of"):
        score_weights(fit, kind="guess")


def test_the_paper_way_lets_the_smaller_group_choose_at_random_on_the_raw_score(world, mild, contrast):
    found = lw.match(world.faces, mild, contrast, lw.MatchSpec(preset="singh2021-propensity"))
    frame = found.frame
    assert (frame["distance"] <= 0.1).all()
    assert frame["score_a"].between(0, 1).all()
    assert frame["score_b"].between(0, 1).all()
