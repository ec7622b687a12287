"""Experiments about people's answers, and about pictures."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats
from scipy.special import ndtri

import likewise as lw
from benchmarks.outcome import Outcome, ends, normal
from likewise.analysis.crowd.agreement import agreement, rater_quality
from likewise.analysis.crowd.panel import panel
from likewise.analysis.crowd.quality import mixed_quality, quality
from likewise.analysis.crowd.scales import scales
from likewise.analysis.crowd.skin_tone import tone_agreement
from likewise.analysis.exclusion import exclusion_rates
from likewise.analysis.images.feature_distances import kernel_distance
from likewise.analysis.images.means import image_means
from likewise.analysis.images.quality import feature_distances, inception_scores
from likewise.analysis.representation import representation
from likewise.simulation.panel_ratings import (
    TONE,
    BinaryResponses,
    ClassScores,
    ImageFeatures,
    OrdinalResponses,
    ToneResponses,
)
from likewise.simulation.system_ratings import RealOrGenerated
from likewise.stats.intervals import wilson

Floats = npt.NDArray[np.float64]
RATE = 0.01


def crowd(n: int, seed: int) -> Iterator[Outcome]:
    """Ten answers an image, twenty a rater: n images and n / 2 raters."""
    world = RealOrGenerated(
        n, n // 2, seed, each=10, passes=(0.42, 0.52), misses=0.42, image_reach=0.25, rater_reach=0.15
    )
    ratings, faces = world.tables()
    found = quality(ratings, faces, TONE, made_by="made_by", generated="generator").frame
    (darker, lighter), miss = world.passes, world.misses
    share, low, high, count = ends(found, stat="pass_rate", group="darker")
    yield Outcome("pass rate (jackknife, crossed)", darker, low, high, wilson(share, count, level=0.95))
    other, *_, others = ends(found, stat="pass_rate", group="lighter")
    naive = share * (1 - share) / count + other * (1 - other) / others
    gap, low, high, _ = ends(found, stat="gap", quantity="people: judged_real, pass_rate")
    yield Outcome("gap in pass rate (jackknife, crossed)", darker - lighter, low, high, normal(gap, naive))
    _, low, high, _ = ends(found, stat="quality", group="darker")
    yield Outcome("quality (jackknife, crossed)", darker / (1 - miss), low, high, None)
    hits, alarms = float(ndtri(1 - darker)), float(ndtri(miss))
    _, low, high, _ = ends(found, stat="d_prime", group="darker")
    yield Outcome("d' (jackknife, crossed)", hits - alarms, low, high, None)
    _, low, high, _ = ends(found, stat="criterion", group="darker")
    yield Outcome("criterion (jackknife, crossed)", -(hits + alarms) / 2, low, high, None)
    for stat, truth in (("base_failure", miss), ("accuracy", (2 - darker - miss) / 2)):
        share, low, high, count = ends(found, stat=stat, group="darker")
        naive_share = wilson(share, count, level=0.95)
        yield Outcome(f"{stat.replace('_', ' ')} (jackknife, crossed)", truth, low, high, naive_share)
    _, low, high, _ = ends(found, stat="gap", quantity="people: judged_real, quality")
    yield Outcome("gap in quality (jackknife, crossed)", (darker - lighter) / (1 - miss), low, high, None)
    _, low, high, _ = ends(found, stat="gap", quantity="people: judged_real, d_prime")
    yield Outcome("gap in d' (jackknife, crossed)", hits - float(ndtri(1 - lighter)), low, high, None)
    _, low, high, _ = ends(found, stat="log_odds_gap")
    truth = float(np.log(darker / (1 - darker)) - np.log(lighter / (1 - lighter)))
    yield Outcome("gap in log odds (GEE logit, crossed)", truth, low, high, None)
    among = agreement(ratings, question="judged_real").frame
    _, low, high, _ = ends(among, stat="alpha")
    yield Outcome("Krippendorff's alpha (jackknife by unit)", world.alpha, low, high, None)
    share, low, high, count = ends(among, stat="pairwise_agreement")
    base = np.array([darker, lighter, 1 - miss, 1 - miss])
    truth = 1 - 2 * float((base * (1 - base)).mean() - world.image_reach**2 / 3)
    pairs = wilson(share, count * (world.each - 1) / 2, level=0.95)
    yield Outcome("chance that two raters agree (Wilson by unit)", truth, low, high, pairs)


def arms(n: int, seed: int) -> Iterator[Outcome]:
    """The same crowd, every other rater in another arm, which changes nothing: all images are seen in both."""
    world = RealOrGenerated(
        n, n // 2, seed, each=10, passes=(0.42, 0.52), misses=0.42, image_reach=0.25, rater_reach=0.15
    )
    ratings, faces = world.tables()
    arm = np.where(ratings.frame["rater"].str[1:].astype(int) % 2 == 0, "plain", "with feedback")
    found = quality(ratings, faces, TONE, made_by="made_by", generated="generator", arms=arm.tolist()).frame
    right = ratings.frame["value"].eq(ratings.frame["unit"].map(faces.attribute("made_by")).eq("camera"))
    sides = [right[arm == name] for name in ("with feedback", "plain")]
    gap, low, high, _ = ends(found, quantity="people: judged_real, accuracy", stat="gap")
    naive = normal(gap, float(sum(side.var(ddof=1) / side.size for side in sides)))
    yield Outcome("accuracy of two arms compared (jackknife, crossed)", 0.0, low, high, naive)
    between = found[found["sample"].eq("with feedback - plain")]
    _, low, high, _ = ends(between, quantity="people: judged_real, quality")
    yield Outcome("gap in quality of two arms compared (jackknife, crossed)", 0.0, low, high, None)


def consensus(n: int, seed: int) -> Iterator[Outcome]:
    """Four raters who are right four times in five about n units; the naive interval lets a rater's own answer vote.

    True is how often one agrees with the majority of the other three.
    """
    rng, right = np.random.default_rng(seed), 0.8
    truth = rng.integers(0, 2, n)
    answers = np.where(rng.random((n, 4)) < right, truth[:, None], 1 - truth[:, None])
    unit, rater = (code.ravel() for code in np.mgrid[:n, :4])
    frame = pd.DataFrame({"unit": [f"u{k:05d}" for k in unit], "rater": [f"r{k}" for k in rater]})
    ratings = lw.Ratings(frame.assign(question="same", value=answers.ravel().astype(float)))
    found = rater_quality(ratings, question="same", consensus="majority").frame
    _, low, high, _ = ends(found, group="r0")
    most = right**3 + 3 * right**2 * (1 - right)
    votes = answers.sum(axis=1)
    agrees = (answers[:, 0] == (votes > 2))[votes != 2]
    naive = wilson(float(agrees.mean()), len(agrees), level=0.95)
    yield Outcome("agreement with the others (Wilson)", right * most + (1 - right) * (1 - most), low, high, naive)


def shown(n: int, seed: int) -> Iterator[Outcome]:
    """Three photographs of each of n people, under one term."""
    rng = np.random.default_rng(seed)
    chance = rng.choice([0.05, 0.75], n, p=[0.6, 0.4])
    who = np.repeat(np.arange(n), 3)
    woman = rng.random(3 * n) < chance[who]
    frame = pd.DataFrame({"image": [f"i{k}" for k in range(3 * n)], "identity": [f"p{k}" for k in who]})
    faces = lw.Images(frame.assign(search_term="nurse", perceived_gender=np.where(woman, "woman", "man")))
    found = representation(faces, term="search_term", attribute="perceived_gender", share_of="woman").frame
    share, low, high, count = ends(found, stat="share")
    yield Outcome("share under a term (Wilson by identity)", 0.33, low, high, wilson(share, count, level=0.95))
    gone = exclusion_rates(
        frame.loc[woman, "image"].tolist(), _sided(frame), TONE, quantity="gate", permutations=1
    ).frame
    share, low, high, count = ends(gone, stat="left_out", group="darker")
    yield Outcome("share left out at a gate (Wilson by identity)", 0.33, low, high, wilson(share, count, level=0.95))
    other, *_, others = ends(gone, stat="left_out", group="lighter")
    naive = normal(share - other, share * (1 - share) / count + other * (1 - other) / others)
    _, low, high, _ = ends(gone, stat="gap")
    yield Outcome("gap in what a gate leaves out (jackknife by identity)", 0.0, low, high, naive)
    yield from _terms(n, rng)


def _sided(frame: pd.DataFrame) -> lw.Images:
    who = frame["identity"].str[1:].astype(int)
    return lw.Images(frame.assign(perceived_skin_tone=np.where(who % 2 == 0, "darker", "lighter")))


def _terms(n: int, rng: np.random.Generator) -> Iterator[Outcome]:
    """The same n people under ten terms, whose shares are draws from a beta distribution; and who is smiling."""
    true, term = rng.beta(6, 9, 10), np.arange(n) % 10
    person = rng.random(n) < true[term]
    who = np.repeat(np.arange(n), 3)
    woman = np.where(rng.random(3 * n) < 0.8, person[who], rng.random(3 * n) < true[term[who]])
    frame = pd.DataFrame({"image": [f"i{k:05d}" for k in range(3 * n)], "identity": [f"p{k}" for k in who]})
    frame["perceived_skin_tone"] = np.where(who % 2 == 0, "darker", "lighter")
    faces = lw.Images(
        frame.assign(search_term=[f"t{k}" for k in term[who]], perceived_gender=np.where(woman, "woman", "man"))
    )
    found = representation(faces, term="search_term", attribute="perceived_gender", share_of="woman").frame
    _, low, high, _ = ends(found, stat="shrunk_share", group="t0")
    naive = stats.beta(6 + woman[term[who] == 0].sum(), 9 + (~woman[term[who] == 0]).sum()).interval(0.95)
    yield Outcome("shrunk share of a term (beta-binomial)", float(true[0]), low, high, (naive[0], naive[1]))
    value = rng.normal(0, 0.6, n)[who] + rng.normal(0, 0.5, 3 * n) + np.where(who % 2 == 0, 0.2, 0.0)
    table = pd.DataFrame({"unit": frame["image"], "rater": "meter", "question": "smile", "value": value})
    gap, low, high, _ = ends(image_means(lw.Ratings(table), faces, TONE).frame, stat="gap")
    sides = [value[who % 2 == k] for k in (0, 1)]
    spread = float(sum(side.var(ddof=1) / side.size for side in sides))
    yield Outcome("gap of single images' means (jackknife by identity)", 0.2, low, high, normal(gap, spread))


def leaning(n: int, seed: int) -> Iterator[Outcome]:
    """Eight answers an image in log odds: n images, half as many raters but no more than 60."""
    world = BinaryResponses(n, min(n // 2, 60), seed)
    ratings, faces = world.tables()
    try:
        found = mixed_quality(ratings, faces, TONE, made_by="made_by", generated="generator").frame
    except lw.LikewiseError:  # there is no fit, and the error says so
        return
    _, low, high, _ = ends(found, stat="mixed_log_odds_gap")
    generated = faces.frame["made_by"].eq("generator")
    y = ratings.frame["value"].to_numpy().reshape(n, -1)[generated]
    (p, k), (q, m) = ((part.mean(), part.size) for part in (y[::2], y[1::2]))
    plain = float(np.log(p / (1 - p)) - np.log(q / (1 - q)))
    naive = normal(plain, float(1 / (k * p * (1 - p)) + 1 / (m * q * (1 - q))))
    yield Outcome("gap in log odds, one image and rater (mixed logit)", world.gap, low, high, naive)


def steps(n: int, seed: int) -> Iterator[Outcome]:
    """Eight answers an image in four steps: n images and n / 2 raters."""
    world = OrdinalResponses(n, n // 2, seed)
    ratings, faces = world.tables()
    found = scales(ratings, faces, TONE, question="how_sure").frame
    value = ratings.frame["value"].to_numpy().reshape(n, -1)
    focal, reference = (value[k::2].ravel() for k in (0, 1))
    test = stats.mannwhitneyu(focal, reference)
    chance = float(test.statistic) / (focal.size * reference.size)
    naive = normal(chance, (focal.size + reference.size + 1) / (12 * focal.size * reference.size))
    _, low, high, _ = ends(found, stat="superiority")
    yield Outcome("superiority of ordinal answers (jackknife, crossed)", world.superiority, low, high, naive)
    share, low, high, count = ends(found, stat="share", group="darker, step 4")
    naive = wilson(share, count, level=0.95)
    yield Outcome("share of a step (jackknife, crossed)", float(world.shares[0][3]), low, high, naive)
    mean, low, high, _ = ends(found, stat="mean", group="darker")
    truth = float(world.shares[0] @ np.arange(1, 5))
    naive = normal(mean, float(focal.var(ddof=1)) / focal.size)
    yield Outcome("mean of ordinal answers (jackknife, crossed)", truth, low, high, naive)
    yes = lw.Ratings(ratings.frame.assign(value=(ratings.frame["value"] > 2).astype(float)))
    kind = dict(faces.attribute("perceived_skin_tone"))
    found = panel(yes, kind, question="how_sure", compare=("darker", "lighter")).frame
    true = [float(part[2:].sum()) for part in world.shares]
    share, low, high, count = ends(found, stat="share", group="darker")
    yield Outcome("panel: share of yes (jackknife, crossed)", true[0], low, high, wilson(share, count, level=0.95))
    other, *_ = ends(found, stat="share", group="lighter")
    gap, low, high, _ = ends(found, stat="gap")
    naive = normal(gap, share * (1 - share) / count + other * (1 - other) / count)
    yield Outcome("panel: gap in shares (jackknife, crossed)", true[0] - true[1], low, high, naive)


def tones(n: int, seed: int) -> Iterator[Outcome]:
    """Eight answers an image about its tone: n images and n / 2 raters."""
    world = ToneResponses(n, n // 2, seed)
    ratings, faces = world.tables()
    r, low, high, _ = ends(tone_agreement(ratings, faces, question="tone", measured="measured_ita").frame)
    half = 1.96 / (n - 3) ** 0.5
    naive = (float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half)))
    yield Outcome("rank correlation of tones (influence, crossed)", world.correlation, low, high, naive)


def pictures(n: int, seed: int) -> Iterator[Outcome]:
    """Two real and two generated pictures an identity, n / 2 identities of each in a group."""
    world = ImageFeatures(n, seed)
    found = feature_distances(*world.tables(), TONE, made_by="made_by", generated="generator", permutations=0).frame
    values, faces = world.tables()
    mine = faces.frame["perceived_skin_tone"].eq("darker").to_numpy()
    fake = faces.frame["made_by"].eq("generator").to_numpy()
    own, other = (values.values[mine & kind].astype(np.float64) for kind in (fake, ~fake))
    naive = normal(*kernel_distance(own, other))
    _, low, high, _ = ends(found, stat="kid", group="darker")
    yield Outcome("KID (U-statistic, jackknife by identity)", world.kid, low, high, naive)
    _, low, high, _ = ends(found, stat="gap", quantity="simulated, kid")
    yield Outcome("gap in KID (Newcombe)", world.kid, low, high, None)
    _, low, high, _ = ends(found, stat="fid", group="darker")
    if np.isfinite(low):  # fewer than 100 identities have no interval
        yield Outcome("FID (jackknife by blocks of identities)", 3 * world.shift**2, low, high, None)
        _, low, high, _ = ends(found, stat="gap", quantity="simulated, fid")
        yield Outcome("gap in FID (Newcombe)", 3 * world.shift**2, low, high, None)
    classes = ClassScores(n, seed)
    found = inception_scores(*classes.tables(), TONE, made_by="made_by", generated="generator").frame
    _, low, high, _ = ends(found, stat="inception_score", sample="generated", group="darker")
    yield Outcome("Inception Score (jackknife by identity)", classes.score, low, high, None)
    _, low, high, _ = ends(found, stat="gap", sample="generated")
    yield Outcome("gap in the log Inception Score (Newcombe)", 0.0, low, high, None)
