"""Verdicts, detectable gaps, corrected decisions, orientation of scores, agreement by identity."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import likewise as lw
from likewise.analysis.crowd.agreement import agreement, rater_quality
from likewise.analysis.crowd.consensus import Votes, dawid_skene
from likewise.analysis.crowd.panel import panel
from likewise.analysis.multiplicity import adjusted_p, discoveries
from likewise.analysis.verdict import VERDICTS, detectable_gap, verdict, verdicts
from likewise.analysis.verification.error_rates import det, error_rates
from likewise.errors import InputError, LikewiseWarning, SpecError
from likewise.simulation.system_ratings import CONTRAST, VerificationTrials
from likewise.tables.estimates import row
from picked import only


def gap_row(estimate, low, high, *, quantity="m: d", clusters=100, stat="gap"):
    line = row(quantity, stat, "matched", "f - m", estimate, n=10, method="t", clusters=clusters)
    return line | {"low": low, "high": high, "level": 0.95}


def test_tost_of_a_normal_gap_is_two_one_sided_tests():
    found = verdicts(lw.Estimates.of([gap_row(0.2, -0.2, 0.6)]), margin=0.5)
    error = 0.4 / stats.t.ppf(0.975, 99)
    expected = max(stats.t.sf((0.2 + 0.5) / error, 99), stats.t.sf((0.5 - 0.2) / error, 99))
    assert only(found, stat="equivalence_p")["estimate"] == pytest.approx(expected)
    assert only(found, stat="verdict")["estimate"] == VERDICTS.index("inconclusive")


@pytest.mark.parametrize("margin", [0.3, 0.6, 1.2])
def test_equivalence_is_where_its_p_is_below_alpha(margin):
    for estimate in np.linspace(-1, 1, 21):
        lines = lw.Estimates.of([gap_row(estimate, estimate - 0.4, estimate + 0.4)])
        found = verdicts(lines, margin=margin)
        equivalent = only(found, stat="verdict")["method"].endswith("equivalent")
        assert equivalent == (only(found, stat="equivalence_p")["estimate"] < 0.05)


def test_wrong_verdicts_of_a_page_stay_below_alpha_whatever_the_truth():
    """Four systems: two without a gap, two exactly at the margin, where "equivalent" is wrong."""
    rng, clusters, margin, wrong = np.random.default_rng(3), 100, 0.35, 0
    truth, half = np.array([0, 0, margin, -margin]), 0.1 * stats.t.ppf(0.975, clusters - 1)
    for _ in range(1500):
        page = [
            verdict(gap, gap - half, gap + half, level=0.95, clusters=clusters, margin=margin, comparisons=4)
            for gap in truth + 0.1 * rng.standard_t(clusters - 1, 4)
        ]
        wrong += "different" in page[:2] or "equivalent" in page[2:]
    assert wrong / 1500 < 0.065  # 8 to 10 % when equivalence was judged as if each system stood alone


def test_the_detectable_gap_is_that_of_the_corrected_verdict():
    found = verdicts(lw.Estimates.of([gap_row(0.1, -0.3, 0.5)]), comparisons=3)
    alone = verdicts(lw.Estimates.of([gap_row(0.1, -0.3, 0.5)]))
    ratio = (stats.t.ppf(1 - 0.025 / 3, 99) + stats.t.ppf(0.8, 99)) / (stats.t.ppf(0.975, 99) + stats.t.ppf(0.8, 99))
    pair = [only(each, stat="detectable_gap")["estimate"] for each in (found, alone)]
    assert pair[0] / pair[1] == pytest.approx(ratio)


def test_a_handful_gets_no_verdict():
    assert verdict(0.792, -1.0, 1.0, level=0.95, clusters=3) == "too few"
    assert verdict(0.5, 0.4, 0.6, level=0.95, clusters=4) == "too few"


def test_the_detectable_gap_is_found_with_the_power_that_it_says():
    rng, n, error = np.random.default_rng(0), 60, 0.1
    gap = detectable_gap(-error * stats.t.ppf(0.975, n - 1), error * stats.t.ppf(0.975, n - 1), level=0.95, clusters=n)
    sample = rng.normal(gap, error * n**0.5, (4000, n))
    t = sample.mean(axis=1) / (sample.std(axis=1, ddof=1) / n**0.5)
    assert np.mean(t > stats.t.ppf(0.975, n - 1)) == pytest.approx(0.8, abs=0.03)


def test_a_negative_margin_is_refused():
    with pytest.raises(SpecError, match="Margin -1"):
        verdicts(lw.Estimates.of([]), margin=-1)


def test_discoveries_are_corrected_for_how_many_were_looked_at():
    """Of 40 labels that do not move some are 'significant'; corrected, a discovery is rare."""
    rng, any_found, plain = np.random.default_rng(1), 0, 0
    for _ in range(40):
        t = rng.standard_t(99, 40)
        lines = [gap_row(v, v - 1.984, v + 1.984, quantity=f"c: label {k}") for k, v in enumerate(t)]
        q = discoveries(lw.Estimates.of(lines), sample="matched").frame["estimate"]
        any_found += bool((q <= 0.05).any())
        plain += bool((np.abs(t) > 1.984).any())
    assert plain > 25 and any_found <= 7


def test_corrections_are_those_of_statsmodels_and_scipy():
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(0).random(20) ** 3
    for ours, theirs in (("holm", "holm"), ("bonferroni", "bonferroni"), ("benjamini-hochberg", "fdr_bh")):
        assert adjusted_p(p, method=ours) == pytest.approx(multipletests(p, method=theirs)[1])
    with pytest.raises(SpecError, match="Unknown correction"):
        adjusted_p(p, method="tukey")


def test_simultaneous_gaps_are_wider_and_det_bands_too():
    ratings, trials, images, pairs = VerificationTrials(80, seed=2, impostors=10).tables()
    found = error_rates(ratings, trials, images, CONTRAST, pairs=pairs, rates=[0.01, 0.05])
    for sample in ("all", "matched"):
        plain, wide = (found.where(stat=stat, sample=sample).frame for stat in ("gap", "gap_simultaneous"))
        assert (wide["high"] - wide["low"] > plain["high"] - plain["low"]).all() and len(plain) == len(wide) == 2
        assert wide["estimate"].tolist() == plain["estimate"].tolist()
    curve = det(ratings, trials, images, "perceived_gender", points=4)
    point, band = (curve.where(stat=stat).frame for stat in ("det", "det_band"))
    assert (band["high"] >= point["high"]).all() and (band["high"] > point["high"]).any()


def test_similarities_read_as_distances_are_an_error():
    ratings, trials, images, _ = VerificationTrials(40, seed=0, impostors=4).tables()
    reversed_ = lw.Ratings(ratings.frame.assign(value=1 - ratings.frame["value"]))
    with pytest.raises(InputError, match="similarities"):
        error_rates(reversed_, trials, images, CONTRAST, rates=[0.05])


def test_a_genuine_pair_in_both_directions_counts_once():
    ratings, trials, images, _ = VerificationTrials(40, seed=0, impostors=4).tables()
    frame = trials.frame
    same = frame[frame["same"]]
    back = same.assign(trial=same["b"] + "|" + same["a"], a=same["b"], b=same["a"])
    value = ratings.frame.set_index("unit")["value"]
    more = pd.DataFrame({"unit": back["trial"], "rater": "simulated", "question": "distance"})
    more["value"] = value.loc[same["trial"]].to_numpy()
    both = lw.Ratings(pd.concat([ratings.frame, more], ignore_index=True))
    once = error_rates(ratings, trials, images, CONTRAST, rates=[0.05]).frame
    twice = error_rates(
        both, lw.Trials(pd.concat([frame, back], ignore_index=True)), images, CONTRAST, rates=[0.05]
    ).frame
    assert twice[["estimate", "low", "high", "n"]].to_numpy() == pytest.approx(
        once[["estimate", "low", "high", "n"]].to_numpy(), nan_ok=True
    )


def alike(seed: int, identities: int = 30, each: int = 6, raters: int = 4):
    """Images of one identity get the same answers, nearly; all raters answer about all images."""
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.6, 0.6, identities)
    n = identities * each
    yes = rng.random((n, raters)) < np.repeat(chance, each)[:, None]
    rows = [(f"u{u:04d}", f"r{r}", "q", float(yes[u, r])) for u in range(n) for r in range(raters)]
    ratings = lw.Ratings(pd.DataFrame(rows, columns=["unit", "rater", "question", "value"]))
    return ratings, {f"u{u:04d}": f"p{u // each}" for u in range(n)}


def test_identities_of_agreement_can_be_a_series():
    """``Images.identities`` is one; it failed with "the truth value of a Series is ambiguous"."""
    ratings, whose = alike(0, identities=8)
    found = [agreement(ratings, question="q", identities=given) for given in (whose, pd.Series(whose))]
    assert found[0] == found[1]


def test_agreement_leaves_out_identities():
    """By unit, the interval of pairwise agreement held in 82 % of worlds; the truth is 1 - 2 E p (1 - p)."""
    truth = 1 - 2 * (0.25 - 1 / (4 * 2.2))
    held = {"unit": 0, "identity": 0}
    for seed in range(60):
        ratings, whose = alike(seed)
        for by, given in (("unit", None), ("identity", whose)):
            line = only(agreement(ratings, question="q", identities=given), stat="pairwise_agreement")
            held[by] += line["low"] <= truth <= line["high"]
    assert held["identity"] >= 52 and held["unit"] < held["identity"]
    ratings, whose = alike(0)
    line = only(agreement(ratings, question="q", identities=whose), stat="alpha")
    assert line["clusters"] == 30 and line["method"] == "jackknife by identity"
    kind = {unit: "x" if int(unit[1:]) % 12 < 6 else "y" for unit in whose}
    share = panel(ratings, kind, question="q", identities=whose).frame.iloc[0]
    assert share["clusters"] <= 15 and "identity" in share["method"]
    assert (rater_quality(ratings, question="q", consensus="majority", identities=whose).frame["clusters"] <= 30).all()


def test_dawid_skene_says_when_it_has_not_converged():
    votes = Votes.of(alike(1)[0], "q")
    with pytest.warns(LikewiseWarning, match="has not converged after 2 iterations"):
        dawid_skene(votes, rounds=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dawid_skene(votes)
    assert found.to_numpy().sum(axis=1) == pytest.approx(1)


def test_ties_are_counted():
    rows = [(f"u{u}", f"r{r}", "q", float(r % 2)) for u in range(6) for r in range(3)]
    ratings = lw.Ratings(pd.DataFrame(rows, columns=["unit", "rater", "question", "value"]))
    found = rater_quality(ratings, question="q", consensus="majority").frame
    assert found.set_index("group").loc["r1", "n"] == 6
    assert set(found["group"]) == {"r1"}  # the others of r0 and r2 tie in every unit


def test_systems_that_are_judged_together_need_more():
    """Of five systems without a gap, one is called different in a fifth of reports unless verdicts are corrected."""
    ends = (0.03, 0.005, 0.055)
    assert verdict(*ends, level=0.95, clusters=500) == "different"
    assert verdict(*ends, level=0.95, clusters=500, comparisons=5) == "inconclusive"
    assert verdict(0.03, 0.02, 0.04, level=0.95, clusters=500, comparisons=5) == "different"
    line = gap_row(*ends)
    found = verdicts(lw.Estimates.of([line]), margin=0.01, comparisons=5).where(stat="verdict").frame
    assert found["method"].tolist() == ["interval for 5 comparisons, TOST, margin 0.01; inconclusive"]


def test_a_panel_that_never_says_yes_leaves_the_gap_open():
    """The jackknife of no yes at all had the interval 0 to 0."""
    table = [(f"i{u}", f"r{r}", "q", 0.0) for u in range(20) for r in range(6)]
    answers = lw.Ratings(pd.DataFrame(table, columns=["unit", "rater", "question", "value"]))
    kinds = {f"i{u}": "ab"[u % 2] for u in range(20)}
    line = only(panel(answers, kinds, question="q", compare=("a", "b")), stat="gap")
    assert line["estimate"] == 0 and line["low"] < -0.1 and line["high"] > 0.1
