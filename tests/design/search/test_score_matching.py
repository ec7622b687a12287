from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import likewise as lw
from invariants import check_pairs
from likewise.design import match as matching
from likewise.design.propensity.matching import fitted
from likewise.design.propensity.scores import overlap, propensity, score_weights
from likewise.design.search import score_matching, score_rounds
from likewise.design.search.score_matching import Scoreline
from likewise.design.search.score_rounds import together
from likewise.errors import SpecError
from matching_problems import CONTRAST, Problem, problems


def general(*args, **options) -> lw.Matches:
    """The same matching by the general search."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_only_score", lambda spec: False)
        return lw.match(*args, **options)


@pytest.fixture(scope="module")
def mild(world) -> lw.Vectors:
    """Vectors in which the groups lie apart by somewhat less than their spread."""
    side = CONTRAST.side(world.faces).to_numpy()
    noise = np.random.default_rng(5).normal(size=(len(side), 3, 4))
    return lw.Vectors(world.faces.keys, noise + 0.3 * side[:, None, None], source="mild")


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
    scores = pd.Series(values, index=problem.faces.keys)
    spec = lw.MatchSpec(
        distance="propensity", order=order, antiexact=antiexact, caliper={"score": limit}, max_pairs=most
    )
    fast = lw.match(problem.faces, None, CONTRAST, spec, scores=scores)
    slow = general(problem.faces, None, CONTRAST, spec, scores=scores)
    check_pairs(fast, problem.faces, CONTRAST)
    assert fast == slow
    assert fast.dropped.equals(slow.dropped)


def one_by_one(line: Scoreline, order) -> list:
    """Everybody by union-find or by the heap, nobody in whole arrays."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_matching, "closest", lambda rows, columns, limit, used: (together([]), rows, columns))
        patch.setattr(score_matching, "in_turn", lambda rows, columns, limit, used, order: (together([]), order))
        return line.pairs(order=order)


@pytest.mark.parametrize("seed", range(60))
def test_whole_arrays_give_the_pairs_of_one_by_one(seed: int, monkeypatch):
    """With small batches, short patience and crowds, so that every turn of the way is taken."""
    rng = np.random.default_rng(seed)
    for name, options in (("_CROWD", (2, 32)), ("_BATCHES", (1, 20)), ("_STEPS", (3, 4000)), ("_WORTH", (0.02, 0.9))):
        monkeypatch.setattr(score_rounds, name, options[rng.integers(2)])
    sizes = rng.integers(1, 900, 2)
    left, right = rng.normal(size=sizes[0]) + rng.choice([0, 1, 3]), rng.normal(size=sizes[1])
    if seed % 2:
        left, right = np.round(left * 4) / 4, np.round(right * 4) / 4
    own, other = (rng.integers(0, size // 3 + 1, size) if seed % 3 else np.arange(size) for size in sizes)
    limit = float(rng.choice([0.01, 0.5, 2, np.inf]))
    line = Scoreline(left, right, own, other + int(own.max()) + 1, limit)
    for order in (None, rng.permutation(sizes[0])):
        assert line.pairs(order=order) == one_by_one(line, order)
        assert line.pairs(order=order, most=3) == one_by_one(line, order)[:3]


@settings(max_examples=60, deadline=None)
@given(problems(most_people=12), st.booleans(), st.sampled_from([None, 2]), st.integers(0, 2**31))
def test_optimal_matching_has_the_least_total_of_score_differences(problem: Problem, ties: bool, most, seed: int):
    """Against scipy on the distances of people: each identity once, as many pairs as can be had."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 5, len(problem.faces)) / 4 if ties else rng.normal(size=len(problem.faces))
    scores = pd.Series(values, index=problem.faces.keys)
    lifted = {"distance": "propensity", "caliper": {"score": float("inf")}, "max_pairs": most}
    best, greedy = (
        lw.match(problem.faces, None, CONTRAST, lw.MatchSpec(**how, **lifted), scores=scores)
        for how in ({"method": "optimal"}, {"order": "closest"})
    )
    for pairs in (best, greedy):
        check_pairs(pairs, problem.faces, CONTRAST)
    side, identity = CONTRAST.side(problem.faces), problem.faces.identities
    groups = [scores[side[side == sign].index].groupby(identity[side[side == sign].index]) for sign in (1, -1)]
    people = [[group.to_numpy() for _, group in sides] for sides in groups]
    cost = np.array([[np.abs(np.subtract.outer(a, b)).min() for b in people[1]] for a in people[0]])
    assert len(best) == min(*cost.shape, most or 10**9)
    if most is None:
        at = linear_sum_assignment(cost)
        assert np.isclose(best.frame["distance"].sum(), cost[at].sum())
    assert best.frame["distance"].sum() <= greedy.frame["distance"].sum() + 1e-9
    assert best.frame["score_a"].notna().all()


def test_scores_are_kept_and_the_caliper_is_two_tenths_of_a_logit_deviation(world, mild, contrast):
    found = lw.match(world.faces, mild, contrast, lw.MatchSpec(distance="propensity"))
    frame = found.frame
    assert (frame["distance"] - (frame["score_a"] - frame["score_b"]).abs()).abs().max() < 1e-12
    fit = propensity(world.faces, mild, contrast)
    within = np.sqrt(np.mean([fit.logit[fit.side == sign].var() for sign in (1, -1)]))
    assert frame["distance"].max() <= 0.2 * within + 1e-9
    assert "caliper score" in found.ledger.columns
    assert lw.match(world.faces, None, contrast, found.spec, scores=fit.on("logit")).frame.equals(frame)


def test_cross_fitting_never_scores_an_identity_that_it_has_seen(world, contrast):
    noise = np.random.default_rng(0).normal(size=(len(world.faces), 60)).astype(np.float32)
    vectors = lw.Vectors(world.faces.keys, noise, source="noise")
    seen, unseen = (propensity(world.faces, vectors, contrast, folds=folds).auc for folds in (0, 5))
    assert seen > 0.8
    assert abs(unseen - 0.5) < 0.15


def test_separated_groups_are_said_in_the_first_line(world, contrast):
    side = contrast.side(world.faces)
    far = lw.Vectors(world.faces.keys, np.c_[side.to_numpy() * 9, np.arange(len(side)) % 7], source="apart")
    spec = lw.MatchSpec(distance="propensity", caliper={"score": float("inf")})
    found = lw.match(world.faces, far, contrast, spec)
    assert "little overlap to match in" in str(found).splitlines()[0]


def test_the_overlap_is_diagnosed(world, mild, contrast):
    fit = propensity(world.faces, mild, contrast)
    told = overlap(fit, contrast)
    shares = told.where(stat="score_share").frame.groupby("group")["estimate"].sum()
    assert np.allclose(shares, 1)
    assert 0 <= told.where(stat="overlap").frame["estimate"].item() <= 1
    assert told.where(stat="auc").frame["estimate"].item() == fit.auc
    assert set(told.where(stat="score_accuracy").frame["quantity"]) == {
        "propensity, training fit",
        "propensity, as scored",
    }


@pytest.mark.parametrize("scale", ["logit", "probability"])
def test_given_scores_are_diagnosed_as_fitted_ones_are(world, mild, contrast, scale):
    fit = propensity(world.faces, mild, contrast)
    spec = lw.MatchSpec(distance="propensity", score=scale)
    given_ = fitted(world.faces, None, contrast, spec, fit.on(scale))
    told, wanted = overlap(given_, contrast).frame, overlap(fit, contrast).frame
    assert set(wanted["quantity"]) - set(told["quantity"]) == {"propensity, training fit"}
    both = told.merge(wanted, on=["quantity", "stat", "group"], suffixes=("", "_fitted"))
    assert len(both) == len(told)
    assert np.allclose(both["estimate"], both["estimate_fitted"], rtol=1e-5)


def test_overlap_weights_give_the_groups_equal_means_of_what_the_model_fits(world, mild, contrast):
    """Overlap weights of an unpenalized logistic fit balance its covariates exactly (Li, Morgan and Zaslavsky 2018)."""
    fit = propensity(world.faces, mild, contrast, folds=0)
    weights = score_weights(fit)
    logit = fit.logit
    means = [np.average(logit[fit.side == sign], weights=weights[fit.side == sign]) for sign in (1, -1)]
    plain = [logit[fit.side == sign].mean() for sign in (1, -1)]
    assert abs(means[0] - means[1]) < 0.1 * abs(plain[0] - plain[1])
    with pytest.raises(SpecError, match="unknown"):
        score_weights(fit, kind="guess")


def test_the_paper_way_lets_the_smaller_group_choose_at_random_on_the_raw_score(world, mild, contrast):
    found = lw.match(world.faces, mild, contrast, lw.MatchSpec(preset="singh2021-propensity"))
    frame = found.frame
    assert (frame["distance"] <= 0.1).all()
    assert frame["score_a"].between(0, 1).all()
    assert frame["score_b"].between(0, 1).all()
