"""Rosenbaum bounds of 1:k sets, panels whose raters are a sample, and omitted-variable bias."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import likewise as lw
from likewise.analysis.sensitivity.matched_gaps import sensitivity
from likewise.analysis.sensitivity.omitted_variable import as_strong_as, confounder_bias, robustness_value
from likewise.analysis.sensitivity.rosenbaum import (
    Sampling,
    aligned_rank_p,
    bound_of,
    critical_gamma,
    mantel_haenszel_p,
    mcnemar_p,
    signed_rank_p,
)
from likewise.simulation.system_ratings import CONTRAST, VerificationTrials
from likewise.stats.randomization import set_permutation
from picked import only


def null_sets(rng: np.random.Generator, kind: str, k: int = 3, sets: int = 100) -> list[np.ndarray]:
    draw = {
        "exponential": lambda size: rng.exponential(size=size),
        "lognormal": lambda size: rng.lognormal(size=size),
        "rare": lambda size: (rng.random(size) < 0.03).astype(float),
    }[kind]
    return list(draw((sets, k + 1)))


@pytest.mark.parametrize("kind", ["exponential", "lognormal", "rare"])
def test_gamma_of_sets_exceeds_one_in_no_more_null_worlds_than_alpha(kind):
    """A signed rank of set differences did in 48 % of them."""
    rng = np.random.default_rng(3)
    above = [critical_gamma(bound_of(null_sets(rng, kind))[0], alpha=0.025) > 1 for _ in range(150)]
    assert np.mean(above) <= 0.05 + 2.5 * (0.05 * 0.95 / 150) ** 0.5
    if kind != "rare":
        wrong = [
            signed_rank_p(np.array([v[0] - v[1:].mean() for v in null_sets(rng, kind, sets=400)]) * -1, 1.0) < 0.025
            for _ in range(40)
        ]
        assert np.mean(wrong) > 0.3


def test_the_separable_bound_is_the_worst_assignment_of_the_unmeasured_cause():
    """Two routes: the bound, and every 0/1 cause in every set gone through."""
    rng, gamma = np.random.default_rng(1), 2.0
    sets = [rng.normal(size=3) for _ in range(4)]
    aligned = stats.rankdata(np.concatenate([s - s.mean() for s in sets]))
    ranks = np.split(aligned, 4)
    mean, variance = 0.0, 0.0
    for q in ranks:
        best = (-np.inf, 0.0)
        for cause in product((0, 1), repeat=3):
            w = gamma ** np.array(cause, dtype=float)
            m = float(w @ q / w.sum())
            best = max(best, (m, float(w @ q**2 / w.sum()) - m**2))
        mean, variance = mean + best[0], variance + best[1]
    expected = stats.norm.sf((sum(q[0] for q in ranks) - mean) / variance**0.5)
    assert aligned_rank_p(sets, gamma) == pytest.approx(expected)


def test_mantel_haenszel_of_pairs_is_mcnemar():
    rng = np.random.default_rng(2)
    pairs = list((rng.random((60, 2)) < [0.5, 0.2]).astype(float))
    more, fewer = (sum(1 for p in pairs if p[0] - p[1] == sign) for sign in (1, -1))
    assert mantel_haenszel_p(pairs, 1.5) == pytest.approx(mcnemar_p(more, fewer, 1.5))


def test_a_permutation_within_sets_is_that_of_pairs():
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=4) for _ in range(30)]
    assert 0 < set_permutation(sets, seed=1) <= 1
    shifted = [s + np.array([2.0, 0, 0, 0]) for s in sets]
    assert set_permutation(shifted, seed=1) < 0.001


def panel_world(seed: int, raters: int = 6, pairs: int = 60):
    """No gap, but raters who differ in how they answer about the two groups."""
    rng = np.random.default_rng(seed)
    names = [f"i{k:03d}" for k in range(2 * pairs)]
    focal = np.arange(2 * pairs) % 2 == 0
    images = pd.DataFrame({"image": names, "identity": names})
    images[CONTRAST.column] = np.where(focal, CONTRAST.focal, CONTRAST.reference)
    lean = rng.normal(0, 0.5, raters)  # toward the focal group, of each rater
    value = lean[:, None] * focal + rng.normal(0, 0.7, 2 * pairs) + rng.normal(0, 0.7, (raters, 2 * pairs))
    table = pd.DataFrame(
        [(names[k], f"r{r}", "q", value[r, k]) for r in range(raters) for k in range(2 * pairs)],
        columns=["unit", "rater", "question", "value"],
    )
    match = lw.Matches(pd.DataFrame({"pair": names[::2], "a": names[::2], "b": names[1::2]}))
    return lw.Ratings(table), lw.Images(images), match


def test_a_panel_is_a_sample_in_p_gamma_and_e_value():
    """Raters' leanings alone made p < .05, Gamma > 1 and an E-value limit > 1 in 46 % of null worlds."""
    found = {"p_value": [], "gamma": [], "e_value_limit": []}
    for seed in range(30):
        ratings, images, pairs = panel_world(seed)
        rows = sensitivity(ratings, None, images, CONTRAST, pairs=pairs, panel="people")
        found["p_value"].append(only(rows, stat="p_value")["estimate"] < 0.05)
        found["gamma"].append(only(rows, stat="gamma")["estimate"] > 1)
        found["e_value_limit"].append(only(rows, stat="e_value_limit")["estimate"] > 1)
    assert all(np.mean(hits) <= 0.2 for hits in found.values()), {k: np.mean(v) for k, v in found.items()}


def test_the_robustness_value_is_that_of_cinelli_and_hazlett():
    """The example of their paper (sensemakr, Darfur): estimate 0.097, se 0.023, 783 df, benchmark 'female'."""
    t, dof = 0.09731582 / 0.02325654, 783
    assert robustness_value(abs(t) / dof**0.5) == pytest.approx(0.13878, abs=1e-4)
    limit = abs(t) / dof**0.5 - stats.t.ppf(0.975, dof - 1) / (dof - 1) ** 0.5
    assert robustness_value(limit) == pytest.approx(0.07626, abs=1e-4)
    r2_answer, r2_attribute = as_strong_as(0.10903, 0.00908)
    assert r2_attribute == pytest.approx(0.00916, abs=1e-4) and r2_answer == pytest.approx(0.12464, abs=1e-3)
    bias = confounder_bias(r2_answer, r2_attribute, 0.02325654 * dof**0.5)
    assert 0.09731582 - bias == pytest.approx(0.0752, abs=1e-3)


def test_the_adjusted_gap_has_a_bound_of_its_own_with_benchmarks():
    ratings, trials, images, pairs = VerificationTrials(120, seed=3, impostors=4).tables()
    same = trials.genuine()
    own = lw.Ratings(ratings.frame[ratings.frame["unit"].isin(same.keys)])
    found = sensitivity(own, same, images, CONTRAST, pairs=pairs, covariates=["eyeglasses"])
    value = only(found, stat="robustness_value")["estimate"]
    assert 0 < only(found, stat="robustness_value_limit")["estimate"] < value < 1
    left = only(found, stat="gap_with_confounder", group="eyeglasses")
    gap = lw.gaps(own, same, images, CONTRAST, pairs=pairs, covariates=["eyeglasses"])
    assert abs(left["estimate"]) < abs(only(gap, stat="adjusted_gap")["estimate"])


def test_reused_references_have_no_gamma():
    ratings, images, pairs = panel_world(0)
    one = lw.Ratings(ratings.frame[ratings.frame["rater"] == "r0"])
    frame = pairs.frame
    frame.loc[1, "b"] = frame.loc[0, "b"]
    found = sensitivity(one, None, images, CONTRAST, pairs=lw.Matches(frame))
    assert "gamma" not in set(found.frame["stat"]) and "linked" in only(found, stat="p_value")["method"]


def linked_world(seed: int, identities: int = 30, each: int = 6):
    """No gap, and every identity of a group is in ``each`` pairs with the same partner, with images that are alike."""
    rng = np.random.default_rng(seed)
    keys = [[f"{side}{i}-{j}" for i in range(identities) for j in range(each)] for side in "fm"]
    owner = [f"{key.partition('-')[0]}" for side in keys for key in side]
    images = pd.DataFrame({"image": keys[0] + keys[1], "identity": owner})
    images[CONTRAST.column] = np.repeat([CONTRAST.focal, CONTRAST.reference], identities * each)
    value = np.repeat(rng.normal(size=2 * identities), each) + rng.exponential(size=2 * identities * each)
    table = pd.DataFrame({"unit": images["image"], "rater": "r", "question": "q", "value": value})
    pairs = pd.DataFrame({"pair": [f"m{k}" for k in range(len(keys[0]))], "a": keys[0], "b": keys[1]})
    return lw.Ratings(table), lw.Images(images), lw.Matches(pairs)


def test_identities_that_are_in_several_pairs_make_the_pairs_dependent():
    """Sign flips and bounds of independent pairs found p < .05 and Gamma > 1 in 30 % of null worlds."""
    found = {"p_value": [], "gamma": []}
    for seed in range(40):
        ratings, images, pairs = linked_world(seed)
        rows = sensitivity(ratings, None, images, CONTRAST, pairs=pairs)
        found["p_value"].append(only(rows, stat="p_value")["estimate"] < 0.05)
        found["gamma"].append(only(rows, stat="gamma")["estimate"] > 1)
    assert all(np.mean(hits) <= 0.15 for hits in found.values()), {k: np.mean(v) for k, v in found.items()}
    assert "linked pairs" in only(rows, stat="gamma")["method"]


def test_few_raters_leave_the_variance_uncertain():
    """The same deviate has a larger p with few raters: a normal one put Gamma above 1 in 10 % of null worlds."""
    d = np.array([3.0, 1.0, 2.0, 4.0, -1.0, 2.5, 3.5, 1.5])
    few, many = (signed_rank_p(d, 1.0, sampling=Sampling(1.5, dof)) for dof in (4.0, 1000.0))
    assert many < few and many == pytest.approx(signed_rank_p(d, 1.0, sampling=Sampling(1.5)), rel=0.02)
