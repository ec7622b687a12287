"""Hidden bias: well-known examples, other routes to the same numbers, and the room's own tables.

Where the examples are printed is quoted from memory; neither the books nor the R packages rbounds and EValue were at
hand. The numbers are not from memory: plain R (4.2.2) gives them again, by the code in the docstrings, and below they
are derived by going through every sign and every hidden factor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats

import likewise as lw
from likewise.analysis.sensitivity.e_value import e_value, e_value_limit
from likewise.analysis.sensitivity.matched_gaps import sensitivity
from likewise.analysis.sensitivity.rosenbaum import critical_gamma, mcnemar_p, signed_rank_p
from likewise.errors import InputError
from likewise.simulation.system_ratings import CONTRAST, VerificationTrials
from likewise.stats.logit import coefficient, firth, fit_logit
from picked import only

# Blood lead of 33 children of exposed workers and of 33 neighbors (Morton and others 1982), from Rosenbaum's
# Observational Studies (2002), table 3.1. Compared number by number with rbounds 2.2's own help page, ?psens.
EXPOSED = [38, 23, 41, 18, 37, 36, 23, 62, 31, 34, 24, 14, 21, 17, 16, 20, 15, 10, 45, 39, 22, 35, 49, 48, 44, 35, 43,
           39, 34, 13, 73, 25, 27]  # fmt: skip
CONTROL = [16, 18, 18, 24, 19, 11, 10, 15, 16, 18, 18, 13, 19, 10, 16, 16, 24, 13, 9, 14, 21, 19, 7, 18, 19, 12, 11, 22,
           25, 16, 13, 11, 13]  # fmt: skip
LEAD = np.array(EXPOSED) - np.array(CONTROL)


@pytest.mark.parametrize(("gamma", "p"), [(2, 0.0018), (3, 0.0136), (4, 0.0388), (4.25, 0.0468), (5, 0.0740)])
def test_signed_rank_bounds_of_the_lead_example(gamma, p):
    """As in Rosenbaum (2002), table 4.1; recomputed in R 4.2.2 (rbounds drops the zero pair before it ranks):

    d <- exposed - control; r <- rank(abs(d)); T <- sum(r[d > 0]); k <- d != 0; p <- g / (1 + g)
    1 - pnorm((T - p * sum(r[k])) / sqrt(p * (1 - p) * sum(r[k]^2)))      # T = 527
    """
    assert signed_rank_p(LEAD, gamma) == pytest.approx(p, abs=5e-5)


@pytest.mark.parametrize(
    ("gamma", "exact"), [(2, 0.00043386693548), (3, 0.00655214381758), (4, 0.0269994722568), (5, 0.0635622718049)]
)
def test_the_large_sample_bound_is_close_to_the_exact_one_and_above_it(gamma, exact):
    """The exact chance that T reaches 527, in R 4.2.2, by adding up ranks one at a time (doubled, for the ties):

    f <- 1; for (w in round(2 * r[k])) f <- c(f, rep(0, w)) * (1 - p) + c(rep(0, w), f) * p
    sum(f[(2 * T + 1):length(f)])
    """
    assert exact < signed_rank_p(LEAD, gamma) < exact + 0.013


def test_no_hidden_factor_does_worse_than_the_one_that_is_bounded():
    """Every sign of nine pairs, and every pattern of hidden advantages, each pair's odds 1 / Gamma or Gamma."""
    gamma, d = 2.0, np.array([0.3, 1.1, -0.2, 0.8, 1.9, -0.6, 2.2, 0.5, 1.4])
    ranks = stats.rankdata(np.abs(d))
    signs = (np.arange(2**9)[:, None] >> np.arange(9)) & 1  # [512, 9]
    reached = signs @ ranks >= ranks[d > 0].sum()
    p = []
    for pattern in signs:  # who has the advantage in each pair
        favored = signs == pattern
        p.append(np.where(favored, gamma, 1).prod(axis=1)[reached].sum() / (1 + gamma) ** 9)
    assert np.argmax(p) == 2**9 - 1  # the advantage lies with every focal image
    assert signed_rank_p(d, gamma) == pytest.approx(max(p), abs=0.03)


def test_mcnemar_is_the_worst_of_all_hidden_factors():
    gamma, more, fewer = 1.7, 7, 2
    signs = (np.arange(2**9)[:, None] >> np.arange(9)) & 1
    reached = signs.sum(axis=1) >= more
    brute = np.where(signs == 1, gamma, 1.0).prod(axis=1)[reached].sum() / (1 + gamma) ** 9
    assert mcnemar_p(more, fewer, gamma) == pytest.approx(brute)


def test_dropping_the_zero_pair_first_gives_what_rbounds_prints():
    dropped = LEAD[LEAD != 0]
    assert [round(signed_rank_p(dropped, gamma), 4) for gamma in (2, 3, 4)] == [0.0018, 0.0131, 0.0367]


def test_without_bias_it_is_wilcoxon():
    dropped = LEAD[LEAD != 0]
    wilcoxon: Any = stats.wilcoxon
    other = wilcoxon(dropped, alternative="greater", correction=False, method="asymptotic")
    assert signed_rank_p(dropped, 1) == pytest.approx(other.pvalue, rel=1e-6)


def test_the_lead_example_is_the_one_that_others_print():
    """R's exactRankTests::wilcox.exact(exposed, control, paired = TRUE) prints V = 499 and p = 8.037e-07, as in notes

    to chapter 4 of Rosenbaum's book (a course at Wharton). The exact chance, by adding up ranks one at a time.
    """
    dropped = LEAD[LEAD != 0]
    ranks = stats.rankdata(np.abs(dropped))
    chances = np.ones(1)
    for rank in (2 * ranks).astype(int):  # doubled, for the ties
        chances = (np.r_[chances, np.zeros(rank)] + np.r_[np.zeros(rank), chances]) / 2
    reached = ranks[dropped > 0].sum()
    assert reached == 499
    assert 2 * chances[int(2 * reached) :].sum() == pytest.approx(8.037e-07, rel=1e-3)


@pytest.mark.parametrize(("gamma", "p"), [(4, 0.0036), (5, 0.03), (6, 0.1)])
def test_mcnemar_bounds_of_the_smoking_example(gamma, p):
    """Hammond (1964): of 122 discordant pairs the smoker died in 110 (the example of rbounds' ?binarysens).

    Rosenbaum (2002, section 4.3.2) prints the normal approximation with continuity correction; ours is the exact
    binomial, and both are held here. R 4.2.2 prints 0.00196334, 0.0231686 and 0.0969288 for
    binom.test(110, 122, g / (1 + g), alternative = "greater")$p.value.
    """
    chance = gamma / (1 + gamma)
    normal = stats.norm.sf((109.5 - 122 * chance) / np.sqrt(122 * chance * (1 - chance)))
    assert normal == pytest.approx(p, rel=0.06)
    assert mcnemar_p(110, 12, gamma) == pytest.approx(
        stats.binomtest(110, 122, chance, alternative="greater").pvalue, rel=1e-9
    )
    assert mcnemar_p(110, 12, gamma) == pytest.approx({4: 0.00196334, 5: 0.0231686, 6: 0.0969288}[gamma], rel=1e-5)


def test_gamma_is_where_the_bound_passes_alpha():
    lost = critical_gamma(lambda gamma: signed_rank_p(LEAD, gamma))
    assert 4.25 < lost < 4.4
    assert signed_rank_p(LEAD, lost) == pytest.approx(0.05, abs=1e-6)
    assert critical_gamma(lambda gamma: signed_rank_p(LEAD - 20, gamma)) == 1.0


def test_e_values_of_the_paper_that_made_them():
    """VanderWeele and Ding (2017): RR 3.9 (1.8 to 8.7) has 7.26 and 3.0. In R: EValue::evalues.RR(3.9, 1.8, 8.7).

    The help page of the R package rmorie, which calls EValue::evalue, prints 7.263034 for 3.9 and 4.23303 for 2.4.
    """
    assert e_value(3.9) == pytest.approx(7.263034, abs=5e-7)
    assert e_value_limit(2.4, 6.0) == pytest.approx(4.23303, abs=5e-6)
    assert e_value_limit(1.8, 8.7) == pytest.approx(3.0, abs=0.005)
    assert e_value(1 / 3.9) == pytest.approx(e_value(3.9))
    assert e_value_limit(0.9, 1.4) == 1.0


@pytest.mark.parametrize("ratio", [1.2, 2.0, 3.9])
def test_a_hidden_factor_of_the_e_value_can_explain_the_ratio_and_a_weaker_one_cannot(ratio):
    """A yes-or-no factor with prevalence p among the one group, q among the other, multiplies the risk by r.

    Without any effect of the group the ratio then is (1 + p (r - 1)) / (1 + q (r - 1)). All prevalences on a grid.
    """
    p, q = np.meshgrid(np.linspace(0.001, 1, 1000), np.linspace(0.001, 1, 1000))

    def most(strength: float) -> float:
        reached = (1 + p * (strength - 1)) / (1 + q * (strength - 1))
        return float(reached[p / q <= strength + 1e-9].max())

    assert most(e_value(ratio)) == pytest.approx(ratio, rel=2e-3)
    assert most(0.97 * e_value(ratio)) < ratio


def test_the_logit_agrees_with_geepack():
    """Printed by geepack 1.3.9 on R 4.2.2:

    d <- data.frame(id = rep(1:8, each = 4), x = rep(c(-1.5, -0.5, 0.5, 1.5), 8), y = c(0,0,1,1, 0,1,0,1, 1,1,1,1,
                    0,0,0,1, 0,0,0,0, 1,0,1,1, 0,1,1,1, 1,0,0,1))
    f <- geeglm(y ~ x, id = id, data = d, family = binomial, corstr = "independence"); coef(f); f$geese$vbeta
    """
    answers = ["0011", "0101", "1111", "0001", "0000", "1011", "0111", "1001"]
    y = np.array([float(one) for row in answers for one in row])
    x = np.column_stack([np.ones(32), np.tile([-1.5, -0.5, 0.5, 1.5], 8)])
    fitted = fit_logit(x, y, [np.repeat(np.arange(8), 4)])
    assert fitted is not None
    assert fitted.beta == pytest.approx([0.144367121125, 0.707010005097], rel=1e-6)
    printed = np.array([[0.22839740505848, 0.00885769235197], [0.00885769235197, 0.07317561649018]])
    assert fitted.covariance * 7 / 8 == pytest.approx(printed, rel=1e-5)  # ours is larger by G / (G - 1)


def test_the_logit_agrees_with_gee():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(60), 4)
    x = np.column_stack([np.ones(240), rng.normal(size=240)])
    y = (rng.random(240) < 1 / (1 + np.exp(-0.5 * x[:, 1] - rng.normal(size=60)[codes]))).astype(float)
    other = sm.GEE(y, x, groups=codes, family=sm.families.Binomial(), cov_struct=sm.cov_struct.Independence()).fit()
    fitted = fit_logit(x, y, [codes])
    assert fitted is not None
    assert fitted.beta == pytest.approx(other.params, abs=1e-6)
    assert fitted.covariance * 59 / 60 == pytest.approx(other.cov_robust, rel=1e-5)


def test_a_separated_logit_does_not_exist():
    x = np.column_stack([np.ones(20), np.arange(20.0)])
    apart = (np.arange(20) > 9).astype(float)
    assert fit_logit(x, apart, [np.arange(20)]) is None
    found, word = coefficient(x, apart, [np.arange(20)], 1, level=0.95)
    assert 0 < found.estimate < 5 and np.isnan(found.low) and "separated" in word


@pytest.mark.parametrize("cells", [(12, 3, 5, 9), (8, 0, 3, 6), (7, 0, 0, 4), (0, 5, 0, 6)])
def test_firth_adds_half_to_every_cell_of_a_two_by_two_table(cells):
    """Known answer: with one yes/no covariate Jeffreys' prior is half an answer more in each cell."""
    y = np.repeat([1.0, 0.0, 1.0, 0.0], cells)
    x = np.column_stack([np.ones(len(y)), np.repeat([1.0, 1.0, 0.0, 0.0], cells)])
    a, b, c, d = np.array(cells) + 0.5
    assert firth(x, y) == pytest.approx([np.log(c / d), np.log(a * d / b / c)], abs=1e-8)


def tables(**options):
    ratings, trials, faces, pairs = VerificationTrials(200, 3, **options).tables()
    same = trials.genuine()
    return lw.Ratings(ratings.frame[ratings.frame["unit"].isin(same.frame["trial"])]), same, faces, pairs


def test_rows_of_a_matched_gap_and_of_what_was_observed():
    ratings, trials, faces, pairs = tables(effect=0.08)
    one = sensitivity(ratings, trials, faces, CONTRAST, pairs=pairs, covariates=["eyeglasses"])
    assert only(one, stat="gamma")["estimate"] > 2 and only(one, stat="p_value")["estimate"] < 0.01
    assert only(one, stat="e_value")["estimate"] > only(one, stat="e_value_limit")["estimate"] > 1
    odds = only(one, stat="odds_ratio")  # true: log odds (0.7 / 0.3)^2 = 1.69 per unit, sd 0.5
    assert odds["low"] < np.exp(2 * np.log(0.7 / 0.3) * 0.5) < odds["high"]
    assert only(one, stat="answer_ratio")["low"] > 1


def test_no_gap_withstands_nothing():
    ratings, trials, faces, pairs = tables(effect=0.0, mixed=0.0)
    one = sensitivity(ratings, trials, faces, CONTRAST, pairs=pairs)
    assert only(one, stat="gamma")["estimate"] == 1 and "not significant" in only(one, stat="gamma")["method"]


def test_yes_and_no_go_to_mcnemar():
    ratings, trials, faces, pairs = tables(effect=0.1)
    frame = ratings.frame
    tested = frame["unit"].str.split("|").str[0].isin([*pairs.frame["a"], *pairs.frame["b"]])
    coins = lw.Ratings(frame[tested].assign(value=(frame["value"] > 0.42).astype(float)))
    one = sensitivity(coins, trials, faces, CONTRAST, pairs=pairs)
    assert "McNemar" in only(one, stat="gamma")["method"] and only(one, stat="gamma")["estimate"] > 1


def test_what_has_no_meaning_is_refused():
    with pytest.raises(InputError, match="at least 1"):
        signed_rank_p([1.0, 2.0], 0.5)
    with pytest.raises(InputError, match="positive"):
        e_value(-1.0)
    ratings, trials, faces, pairs = tables()
    constant = lw.Ratings(ratings.frame.assign(value=0.5))
    with pytest.raises(InputError, match="equal"):
        sensitivity(constant, trials, faces, CONTRAST, pairs=pairs)
    flat = faces.with_attribute("flat", pd.Series(1.0, index=faces.keys))
    with pytest.raises(InputError, match="no variation"):
        sensitivity(ratings, trials, flat, CONTRAST, pairs=pairs, covariates=["flat"])
