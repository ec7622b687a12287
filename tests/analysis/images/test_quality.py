"""Features and scores of images: closed forms, brute force, and groups that differ or do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import linalg, stats

import likewise as lw
from likewise.analysis.crowd.skin_tone import _Answers, hue, ita, tone_agreement
from likewise.analysis.images.feature_distances import (
    frechet,
    frechet_distance,
    inception_columns,
    kernel_distance,
    log_inception,
)
from likewise.analysis.images.quality import feature_distances, inception_scores
from likewise.errors import TableError, VectorError
from likewise.simulation.panel_ratings import TONE, ImageFeatures
from picked import only

MADE: dict[str, Any] = {"made_by": "made_by", "generated": "generator"}


def tables(per=60, shift=0.0, seed=0, d=6):
    """Generated images of darker faces lie ``shift`` away from real ones; lighter ones lie where they should."""
    rng = np.random.default_rng(seed)
    tone, made = np.repeat(["darker", "lighter"], 2 * per), np.tile(np.repeat(["generator", "camera"], per), 2)
    values = rng.normal(size=(4 * per, d)) + shift * ((tone == "darker") & (made == "generator"))[:, None]
    keys = [f"i{k}" for k in range(4 * per)]
    faces = lw.Images(pd.DataFrame({"image": keys, "identity": keys, "made_by": made, "perceived_skin_tone": tone}))
    return lw.Vectors(keys, values, source="features"), faces


def test_frechet_is_the_textbook_formula():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, 5)), rng.normal(1, 2, size=(40, 5))
    a, b = np.cov(x.T), np.cov(y.T)
    known = np.square(x.mean(0) - y.mean(0)).sum() + np.trace(a + b - 2 * linalg.sqrtm(a @ b).real)
    assert frechet(x, y) == pytest.approx(known)


def test_frechet_loses_the_bias_of_few_people_and_knows_how_far_it_varies():
    """Two pictures of each of 40 people, both sets of one distribution: the truth is 0, the plain distance above it."""
    plain, mended, errors = [], [], []
    who = np.repeat(np.arange(40), 2)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x, y = (0.8 * rng.normal(size=(40, 8))[who] + 0.6 * rng.normal(size=(80, 8)) for _ in range(2))
        plain.append(frechet(x, y))
        found, variance, blocks = frechet_distance(x, y, who, 40 + who)
        mended.append(found)
        errors.append(variance**0.5)
    assert blocks == 20 and np.mean(plain) > 0.5 and abs(np.mean(mended)) < 0.1 * np.mean(plain)
    assert np.mean(errors) > 0.9 * np.std(mended)


def test_somebody_who_is_in_both_sets_is_left_out_of_both():
    """Two routes to one number: leaving out people by hand."""
    rng = np.random.default_rng(4)
    x, y, who = rng.normal(size=(10, 3)), rng.normal(1, 1, size=(8, 3)), np.arange(10) // 2
    other = np.array([3, 3, 4, 4, 5, 5, 6, 6])  # 3 and 4 are in both
    found, variance, blocks = frechet_distance(x, y, who, other)
    whole = frechet(x, y)
    assert blocks == 4  # dealt in turn: 0 1 2 3 4 get 1 2 3 0 1, and 5 6 get 1 2
    left = [frechet(x[~np.isin(who, out)], y[~np.isin(other, out)]) for out in ([3], [0, 4, 5], [1, 6], [2])]
    assert found == pytest.approx(whole - 3 * (np.mean(left) - whole))
    assert variance == pytest.approx(3 * np.var(left))


def test_kernel_distance_by_brute_force():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(7, 4)), rng.normal(0.3, 1, size=(9, 4))

    def k(a, b):
        return (a @ b / 4 + 1) ** 3

    def mmd(x, y):
        n, m = len(x), len(y)
        own = sum(k(x[i], x[j]) for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
        other = sum(k(y[i], y[j]) for i in range(m) for j in range(m) if i != j) / (m * (m - 1))
        return own + other - 2 * sum(k(a, b) for a in x for b in y) / (n * m)

    value, variance = kernel_distance(x, y)
    assert value == pytest.approx(mmd(x, y))
    left = [mmd(np.delete(x, i, 0), y) for i in range(7)]
    right = [mmd(x, np.delete(y, i, 0)) for i in range(9)]
    assert variance == pytest.approx(15 * np.var(left + right))


def test_kernel_distance_counts_pairs_of_two_identities_and_leaves_them_out_whole():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(8, 3)), rng.normal(size=(10, 3))
    x_who, y_who = np.repeat(np.arange(4), 2), np.repeat(np.arange(2, 7), 2)  # two people are in both sets

    def mean(a, who, b, other):
        found = [(a[i] @ b[j] / 3 + 1) ** 3 for i in range(len(a)) for j in range(len(b)) if who[i] != other[j]]
        return np.mean(found)

    def mmd(out):
        a, who, b, other = x[x_who != out], x_who[x_who != out], y[y_who != out], y_who[y_who != out]
        return mean(a, who, a, who) + mean(b, other, b, other) - 2 * mean(a, who, b, other)

    value, variance = kernel_distance(x, y, x_who, y_who)
    assert value == pytest.approx(mmd(-1))
    assert variance == pytest.approx(6 * np.var([mmd(out) for out in range(7)]))


def test_a_group_that_is_drawn_worse_is_found_and_one_that_is_not_is_not():
    vectors, faces = tables(shift=0.8)
    worse = feature_distances(vectors, faces, TONE, permutations=99, **MADE)
    assert only(worse, quantity="features, kid", stat="gap")["low"] > 0
    assert only(worse, quantity="features, fid", stat="p_value")["estimate"] <= 0.02
    assert only(worse, quantity="features, fid", stat="gap")["estimate"] > 0  # too few people for an interval
    vectors, faces = tables(seed=3)
    alike = feature_distances(vectors, faces, TONE, permutations=99, **MADE)
    gap = only(alike, quantity="features, kid", stat="gap")
    assert gap["low"] < 0 < gap["high"]
    assert only(alike, quantity="features, kid", stat="p_value")["estimate"] > 0.05


def test_the_inception_score_of_known_chances():
    sure = np.eye(5)[np.arange(50) % 5] * 50.0  # each image sure of one class, all classes alike: the score is 5
    assert np.exp(log_inception(inception_columns(sure).sum(axis=0))) == pytest.approx(5)
    assert np.exp(log_inception(inception_columns(np.zeros((9, 5))).sum(axis=0))) == pytest.approx(1)


def test_the_inception_score_has_no_small_sample_bias():
    rng = np.random.default_rng(0)
    truth = float(np.exp(log_inception(inception_columns(rng.normal(size=(200_000, 8))).sum(axis=0))))
    scores, plain = [], []
    for seed in range(60):
        vectors, faces = tables(per=20, seed=seed, d=8)
        found = inception_scores(vectors, faces, TONE, **MADE)
        scores.append(only(found, stat="inception_score", sample="real", group="darker")["estimate"])
        own = vectors.values[20:40].astype(float)
        plain.append(np.exp(log_inception(inception_columns(own).sum(axis=0))))
    assert abs(np.mean(scores) - truth) < 0.35 * abs(np.mean(plain) - truth)


def test_what_cannot_be_compared_is_refused():
    vectors, faces = tables(per=2)
    with pytest.raises(TableError, match="three of each"):
        feature_distances(vectors, faces, TONE, **MADE)
    with pytest.raises(VectorError, match="four images"):
        frechet_distance(np.eye(3), np.eye(3))
    with pytest.raises(VectorError, match="two identities"):
        frechet_distance(np.eye(5), np.eye(5), np.zeros(5, dtype=np.int64), np.ones(5, dtype=np.int64))
    deep = lw.Vectors(vectors.keys, vectors.values.reshape(8, 2, 3), source="w")
    with pytest.raises(VectorError, match=r"\[n, D\]"):
        inception_scores(deep, faces, TONE, **MADE)


def answers(noise, n=120, raters=5, seed=0):
    rng = np.random.default_rng(seed)
    keys = [f"i{k}" for k in range(n)]
    tone = rng.normal(size=n)
    faces = lw.Images(pd.DataFrame({"image": keys, "identity": keys, "measured_ita": tone}))
    rows = [
        {"unit": key, "rater": f"r{r}", "question": "tone", "value": float(np.round(3 - value + rng.normal(0, noise)))}
        for key, value in zip(keys, tone, strict=True)
        for r in range(raters)
    ]
    return lw.Ratings(pd.DataFrame(rows)), faces


def test_measured_and_answered_tone_agree_in_order():
    ratings, faces = answers(0.5)
    row = only(tone_agreement(ratings, faces, question="tone", measured="measured_ita"), stat="rank_correlation")
    mean = ratings.frame.groupby("unit")["value"].mean()
    known = stats.spearmanr(mean, faces.attribute("measured_ita").loc[mean.index]).statistic
    assert row["estimate"] == pytest.approx(known) and row["high"] < -0.8
    none = only(tone_agreement(*answers(50.0), question="tone", measured="measured_ita"), stat="rank_correlation")
    assert none["low"] < 0 < none["high"]
    still = lw.Ratings(ratings.frame.assign(value=1.0))
    with pytest.raises(TableError, match="answers that vary"):
        tone_agreement(still, faces, question="tone", measured="measured_ita")


def test_the_pull_of_images_and_answers_is_what_leaving_them_out_does():
    """Two routes: Spearman's correlation without one person, without one answer; and the influences."""
    rng = np.random.default_rng(0)
    image, rater = (codes.ravel() for codes in np.mgrid[:60, :6])
    tone = rng.normal(size=60)
    value = np.clip(np.round(tone[image] + rng.normal(size=360)), -2, 2)
    frame = pd.DataFrame({"unit": image, "rater": rater, "value": value, "measured": (tone**3)[image]})
    frame["identity"] = frame["unit"] // 2
    laid = _Answers.of(frame)

    def without(rows):
        means = frame[~rows].groupby("unit").agg(value=("value", "mean"), measured=("measured", "first"))
        return stats.spearmanr(means["value"], means["measured"]).statistic

    whole = laid.correlation
    assert whole == pytest.approx(without(frame["unit"] < 0))
    people = np.array([without(frame["identity"] == k) for k in range(30)])
    pulls = np.bincount(laid.identity, weights=laid._pull_of_images())
    assert 30 * np.var(pulls, ddof=1) == pytest.approx(29 * np.var(people), rel=0.1)
    answers = np.array([without(frame.index == k) for k in range(0, 360, 7)]) - whole
    assert np.corrcoef(answers, laid._pull_of_answers()[::7])[0, 1] > 0.99


def test_angles_of_skin():
    assert ita(70, 20) == pytest.approx(45) and ita(50, 10) == pytest.approx(0)
    assert hue(10, 10) == pytest.approx(45)


def test_fid_of_a_handful_says_that_it_tells_nothing():
    world = ImageFeatures(40, 1)
    found = feature_distances(*world.tables(), TONE, made_by="made_by", generated="generator", permutations=0).frame
    of_fid = found["stat"].eq("fid") | (found["stat"].eq("gap") & found["quantity"].str.endswith(", fid"))
    assert of_fid.sum() == 3 and found.loc[of_fid, "method"].str.contains("this FID says nothing").all()
    assert found.loc[of_fid, ["low", "high"]].isna().all(axis=None)  # the bias is not in the spread
    assert not found.loc[~of_fid, "method"].str.contains("says nothing").any()
