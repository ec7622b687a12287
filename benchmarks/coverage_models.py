"""Experiments about recognizers, and the resampling beneath."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pandas as pd

import likewise as lw
from benchmarks.outcome import Outcome, ends, normal
from likewise.analysis.gaps.estimate import gaps
from likewise.analysis.verification.adjusted import adjusted_fnmr_gap
from likewise.analysis.verification.error_rates import det, error_rates
from likewise.analysis.verification.operating_points import TrialSample, errors_at
from likewise.simulation.system_ratings import CONTRAST, VerificationTrials
from likewise.stats.bootstrap import bootstrap
from likewise.stats.intervals import share_interval, wilson

Floats = npt.NDArray[np.float64]
RATE = 0.01


def recognition(n: int, seed: int) -> Iterator[Outcome]:
    """Four genuine trials an identity, impostor trials that share identities."""
    world = VerificationTrials(n, seed, impostors=8)
    ratings, trials, faces, pairs = world.tables()
    frame = trials.frame
    same = lw.Trials(frame[frame["same"]])
    own = lw.Ratings(ratings.frame[ratings.frame["unit"].isin(same.frame["trial"])])
    side = own.frame["unit"].str.split("|").str[0].map(CONTRAST.side(faces)).to_numpy()
    d = own.frame["value"].to_numpy()
    unmatched, alike = world.gaps
    plain = gaps(own, same, faces, CONTRAST, pairs=pairs).frame
    naive = d[side == 1].var(ddof=1) / (side == 1).sum() + d[side == -1].var(ddof=1) / (side == -1).sum()
    gap, low, high, _ = ends(plain, stat="gap", sample="all")
    yield Outcome("gap of a mean (jackknife by identity)", unmatched, low, high, normal(gap, float(naive)))
    gap, low, high, _ = ends(plain, stat="gap", sample="matched")
    yield Outcome("matched gap (jackknife by pair)", alike, low, high, None)
    _, low, high, _ = ends(plain, stat="explained_share")
    if np.isfinite(low):  # without a crude gap to speak of there is no interval, and the row says so
        yield Outcome("share of the gap that goes away (Fieller)", 1 - alike / unmatched, low, high, None)


def adjusted(n: int, seed: int) -> Iterator[Outcome]:
    """Eyeglasses vary between the images of an identity and are more frequent in one group; matching is at random.

    What is true is what the attribute adds. The naive interval is that of a plain regression on the same covariates.
    """
    rng, effect, k = np.random.default_rng(seed), 0.05, 4
    focal = np.arange(n) % 2 == 0
    worn = rng.random((n, k + 1)) < np.where(focal, 0.45, 0.15)[:, None]
    mean, apart = (worn[:, 1:] + 1.0 * worn[:, :1]) / 2, (worn[:, 1:] != worn[:, :1]) * 1.0
    own = rng.normal(0, 0.05, (n, 1))
    d = 0.35 + effect * focal[:, None] + 0.04 * mean + 0.08 * apart + own + rng.normal(0, 0.07, (n, k))
    names = np.array([[f"p{i:05d}-{j}" for j in range(k + 1)] for i in range(n)])
    table = pd.DataFrame({"image": names.ravel(), "identity": np.repeat(names[:, 0], k + 1)})
    table[CONTRAST.column] = np.repeat(np.where(focal, CONTRAST.focal, CONTRAST.reference), k + 1)
    faces = lw.Images(table.assign(eyeglasses=worn.ravel().astype(int)))
    trials = pd.DataFrame({"a": names[:, 1:].ravel(), "b": np.repeat(names[:, 0], k), "same": True})
    trials.insert(0, "trial", trials["a"] + "|" + trials["b"])
    ratings = trials[["trial"]].rename(columns={"trial": "unit"}).assign(rater="simulated", question="distance")
    pairs = pd.DataFrame({"pair": names[::2, 0], "a": names[::2, 1], "b": names[1::2, 1]})
    about = (lw.Ratings(ratings.assign(value=d.ravel())), lw.Trials(trials), faces, CONTRAST)
    found = gaps(*about, pairs=lw.Matches(pairs), covariates=["eyeglasses"]).frame
    _, low, high, _ = ends(found, stat="adjusted_gap")
    x = np.column_stack([np.ones(n * k), np.repeat(focal, k), mean.ravel(), apart.ravel()])
    inverse = np.linalg.inv(x.T @ x)
    slope = inverse @ x.T @ d.ravel()
    noise = float(np.square(d.ravel() - x @ slope).sum() / (n * k - 4))
    naive = normal(float(slope[1]), noise * float(inverse[1, 1]))
    yield Outcome("matched gap, adjusted (jackknife by pair)", effect, low, high, naive)


def missed(n: int, seed: int) -> Iterator[Outcome]:
    """Matched pairs with the same eyeglasses, at a threshold that is found on the impostors.

    True is what such pairs have: the share of eyeglasses among them is theirs, not the population's.
    """
    world = VerificationTrials(n, seed, impostors=8)
    ratings, trials, faces, pairs = world.tables()
    rates = error_rates(ratings, trials, faces, CONTRAST, pairs=pairs, rates=[RATE])
    worn = float(faces.attribute("eyeglasses").loc[pairs.frame["a"]].mean())
    spread, limit = (world.person**2 + world.noise**2) ** 0.5, world.limit(RATE)
    focal, other = (
        sum(
            share * (1 - NormalDist(0.35 + side * world.effect + glasses * world.mixed, spread).cdf(limit))
            for glasses, share in ((0, 1 - worn), (1, worn))
        )
        for side in (1, 0)
    )
    share, low, high, count = ends(rates.frame, stat="fnmr", sample="matched", group="female")
    naive = wilson(share, count, level=0.95)
    yield Outcome("matched FNMR at FMR 1e-2, female (clustered)", focal, low, high, naive)
    _, low, high, _ = ends(rates.frame, stat="gap", sample="matched")
    yield Outcome("matched gap in FNMR (clustered, Newcombe)", focal - other, low, high, None)
    about = (rates, ratings, trials, faces, CONTRAST)
    found = adjusted_fnmr_gap(*about, pairs=pairs, covariates=["eyeglasses"]).frame
    _, low, high, _ = ends(found, stat="adjusted_gap")
    yield Outcome("matched gap in FNMR, adjusted (Newcombe)", focal - other, low, high, None)
    gone = rates.frame[rates.frame["stat"] == "explained_share"]
    if len(gone) and np.isfinite(gone["low"].iloc[0]):
        _, low, high, _ = ends(gone)
        true = world.fnmr(RATE)
        truth = 1 - (focal - other) / (true["female"] - true["male"])
        yield Outcome("share of the gap in FNMR that goes away (Fieller)", truth, low, high, None)


def failing(n: int, seed: int) -> Iterator[Outcome]:
    """A tenth of one side's trials have no distance, of some people more often than of others."""
    world = VerificationTrials(n, seed, impostors=8, failures=0.1)
    ratings, trials, faces, _ = world.tables()
    found = error_rates(ratings, trials, faces, CONTRAST, rates=[RATE]).frame
    share, low, high, count = ends(found, stat="enrolment_failure", group="female")
    yield Outcome("enrolment failures (clustered)", 0.1, low, high, wilson(share, count, level=0.95))


def operating(n: int, seed: int) -> Iterator[Outcome]:
    """The same, at a threshold that is set on the impostor trials."""
    world = VerificationTrials(n, seed, impostors=8)
    ratings, trials, faces, _ = world.tables()
    rates = error_rates(ratings, trials, faces, CONTRAST, rates=[RATE]).frame
    true = world.fnmr(RATE)
    for group in ("female", "male"):
        share, low, high, count = ends(rates, stat="fnmr", group=group)
        yield Outcome(
            f"FNMR at FMR 1e-2, {group} (clustered)", true[group], low, high, wilson(share, count, level=0.95)
        )
    gap, low, high, _ = ends(rates, stat="gap")
    p, q = (ends(rates, stat="fnmr", group=group) for group in ("female", "male"))
    naive = p[0] * (1 - p[0]) / p[3] + q[0] * (1 - q[0]) / q[3]
    yield Outcome("gap in FNMR (clustered, Newcombe)", true["female"] - true["male"], low, high, normal(gap, naive))
    share, low, high, count = ends(rates, stat="fmr", group="within female")
    yield Outcome("FMR within a group (clustered)", RATE, low, high, wilson(share, count, level=0.95))
    _, low, high, _ = ends(rates, stat="threshold")
    if np.isfinite(low):  # too few false matches bound no threshold, and the row says so
        yield Outcome("threshold for FMR 1e-2 (clustered, Woodruff)", world.limit(RATE), low, high, None)
    worse, better = true["female"], true["male"]
    for stat, name, truth in (
        ("max_min", "max / min of FNMR (clustered)", worse / better),
        ("max_geometric_mean", "max / geometric mean of FNMR (clustered)", (worse / better) ** 0.5),
        ("gini", "Gini coefficient of FNMR (clustered)", (worse - better) / (worse + better)),
    ):
        _, low, high, _ = ends(rates, stat=stat, group="FNMR, all groups")
        if np.isfinite(low):  # too few errors bound no ratio, and the row says so
            yield Outcome(name, truth, low, high, None)
    curve = det(ratings, trials, faces, CONTRAST, points=3).where(group="female", stat="det").frame
    for place, quantity in zip(("at FMR 0.5", "in the middle", "at its lowest FMR"), curve["quantity"], strict=True):
        _, low, high, _ = ends(curve, quantity=quantity)
        truth = world.fnmr(float(quantity.rsplit(" ", 1)[-1]))["female"]
        yield Outcome(f"DET curve {place} (clustered)", truth, low, high, None)


def lowest(n: int, seed: int) -> Iterator[Outcome]:
    """The lowest point of one group's DET curve and nothing else, so that many worlds can be had: ten false matches."""
    rng, people = np.random.default_rng(seed), n // 2
    own, who = rng.normal(0, 0.05, people), np.repeat(np.arange(people), 4)
    glasses = rng.random(people) < 0.7
    near = 0.4 + 0.06 * glasses[who] + own[who] + rng.normal(0, 0.07, len(who))
    other = (who + np.tile(np.arange(1, 5), people)) % people
    far = 0.7 - 0.7 * (own[who] + own[other]) + rng.normal(0, 0.07, len(who))
    genuine, pool = (
        TrialSample.of(near, who, who, np.full(len(who), -1)),
        TrialSample.of(far, who, other, np.arange(len(who))),
    )
    rate = 10 / len(pool)
    found = errors_at(
        [genuine], pool.threshold(rate), linked=np.arange(people), meetings=len(who), smallest=people, pool=pool
    )  # fmt: skip
    share, variance = float(found.rates[0]), float(found.covariance[0, 0])
    dof = min(found.dof(0), people - 1)
    low, high, _ = share_interval(share, variance, n=len(who), clusters=people, level=0.95, dof=dof)
    truth = VerificationTrials(n, seed, impostors=8).fnmr(rate)["female"]
    naive = wilson(share, len(who), level=0.95)
    yield Outcome("DET curve at its lowest FMR, that point alone", truth, low, high, naive)


def resampled(n: int, seed: int) -> Iterator[Outcome]:
    """A skewed answer, three rows a cluster; and a grid of n raters and n units, a tenth of it filled."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(n), 3)
    y = rng.exponential(1, n)[codes] + rng.normal(0, 0.5, 3 * n)
    columns = np.column_stack([np.ones(len(y)), y])
    found = bootstrap(columns, _mean, [codes], level=0.95, seed=seed, resamples=500)
    naive = normal(float(y.mean()), float(y.var(ddof=1)) / len(y))
    yield Outcome("mean of skewed answers (cluster bootstrap)", 1.0, found.low, found.high, naive)
    rater, unit = (rng.integers(0, n, 10 * n) for _ in range(2))
    rater, unit = (np.unique(code, return_inverse=True)[1].astype(np.int64) for code in (rater, unit))
    y = rng.normal(0, 0.5, n)[rater] + rng.normal(0, 0.7, n)[unit] + rng.normal(0, 1, len(rater))
    columns = np.column_stack([np.ones(len(y)), y])
    found = bootstrap(columns, _mean, [rater, unit], level=0.95, seed=seed, resamples=500)
    naive = normal(float(y.mean()), float(y.var(ddof=1)) / len(y))
    yield Outcome("mean of crossed answers (crossed bootstrap)", 0.0, found.low, found.high, naive)


def _mean(total: Floats) -> Floats:
    mean: Floats = total[..., 1] / total[..., 0]
    return mean
