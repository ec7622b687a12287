"""Experiments about labels of edited faces, the two legs, and what goes with a covariate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

import likewise as lw
from benchmarks.outcome import Outcome, ends, normal
from likewise.analysis.sensitivity.matched_gaps import sensitivity
from likewise.analysis.slopes.estimate import slopes
from likewise.analysis.slopes.placebo import rate_shifts
from likewise.analysis.slopes.tests import excess_over_placebo, slope_tests
from likewise.analysis.triangulation import compare_approaches, edited_gaps
from likewise.simulation.system_ratings import CONTRAST, STRENGTHS, EditedLabels, VerificationTrials
from likewise.stats.intervals import wilson

Floats = npt.NDArray[np.float64]


def turned(n: int, seed: int) -> Iterator[Outcome]:
    """Five faces an identity, each at five levels."""
    world = EditedLabels(n, seed, images_each=5)
    ratings, faces = world.tables()
    found, tests = slopes(ratings, faces, threshold=0.5).frame, slope_tests(ratings, faces, threshold=0.5).frame
    y = ratings.frame["value"].to_numpy().reshape(-1, len(STRENGTHS)).mean(axis=0)
    line = stats.linregress(np.array(STRENGTHS), y / y[2])
    half = stats.t.ppf(0.975, 3) * line.stderr
    _, low, high, count = ends(found, stat="slope")
    naive = (line.slope - half, line.slope + half)
    yield Outcome("slope of a label (jackknife by identity)", world.relative, low, high, naive)
    share, low, high, _ = ends(found, stat="rate", group="level +0")
    yield Outcome(
        "label rate (jackknife by identity, Wilson)", world.middle, low, high, wilson(share, count, level=0.95)
    )
    _, low, high, _ = ends(tests, stat="log_odds_slope")
    yield Outcome("slope of the log odds (GEE logit)", world.log_odds_slope, low, high, None)
    still = EditedLabels(
        n, seed, images_each=5, slope=0.0
    )  # the same people: what they lean to, they lean to in both arms
    _, low, high, _ = ends(
        excess_over_placebo(ratings, faces, *still.tables(), threshold=0.5).frame, stat="slope_excess"
    )
    yield Outcome("slope beyond the placebo's (jackknife by identity)", world.relative, low, high, None)
    seldom = EditedLabels(n, seed, images_each=5, middle=1 / (2 * n), slope=1 / (8 * n), reach=1 / (4 * n))
    ratings, faces = seldom.tables()
    found = slopes(ratings, faces, threshold=0.5).frame
    if (found["stat"] == "rate_slope").any():
        _, low, high, _ = ends(found, stat="rate_slope")
        if low < high:  # no face ever changes: said so, and no interval to speak of
            yield Outcome("slope of a rare label's rate (jackknife by identity)", seldom.slope, low, high, None)


def shifted(n: int, seed: int) -> Iterator[Outcome]:
    """Three faces of each person, untouched and drawn again; drawing adds the label to some people's faces more."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n), 3)
    had = rng.random(3 * n) < rng.choice([0.1, 0.7], n)[who]
    added = ~had & (rng.random(3 * n) < rng.choice([0.0, 0.5], n)[who])
    lost = had & (rng.random(3 * n) < 0.1)
    after = (had | added) & ~lost
    true = 0.6 * 0.25 - 0.4 * 0.1
    parents = [f"f{k:05d}" for k in range(3 * n)]
    frame = pd.concat(
        [
            pd.DataFrame({"image": [f"{arm}-{key}" for key in parents], "identity": [f"p{k:05d}" for k in who]}).assign(
                parent=parents, source=arm, level=0.0, value=value.astype(float)
            )
            for arm, value in (("original", had), ("reconstruct", after))
        ],
        ignore_index=True,
    )
    ratings = frame[["image", "value"]].rename(columns={"image": "unit"}).assign(rater="simulated", question="Nurse")
    arms = lw.Images(frame.drop(columns="value"))
    shift, low, high, _ = ends(rate_shifts(lw.Ratings(ratings), arms, threshold=0.5).frame, stat="rate_shift")
    moved = after.astype(float) - had
    naive = normal(shift, float(moved.var(ddof=1)) / len(moved))
    yield Outcome("shift of a label's rate by editing alone (jackknife by identity)", true, low, high, naive)


def legs(n: int, seed: int) -> Iterator[Outcome]:
    """One face of each person, looked at as it is and turned both ways; partners share half of what makes them."""
    rng = np.random.default_rng(seed)
    names = np.array([f"p{k:05d}" for k in range(n)])
    focal = np.arange(n) % 2 == 0
    own = rng.normal(0, 1, n) + np.repeat(rng.normal(0, 1, n // 2), 2)
    pull = rng.normal(0.3, 0.4, n)  # what turning a face does differs from person to person
    value = 0.5 * focal + own + rng.normal(0, 0.5, n)
    faces = pd.DataFrame({"image": names, "identity": names, CONTRAST.column: np.where(focal, "female", "male")})
    turned = pd.concat(
        [faces.assign(image=np.char.add(names, f"@{level:+g}"), parent=names, level=level) for level in (-1.0, 1.0)],
        ignore_index=True,
    )
    about = np.r_[value, *(own + sign * pull / 2 + rng.normal(0, 0.5, n) for sign in (-1, 1))]
    units = [*names, *turned["image"]]
    ratings = lw.Ratings(pd.DataFrame({"unit": units, "rater": "simulated", "question": "Nurse", "value": about}))
    pairs = lw.Matches(pd.DataFrame({"pair": names[::2], "a": names[::2], "b": names[1::2]}))
    made = lw.Images(turned)
    only = lw.Ratings(ratings.frame[ratings.frame["unit"].isin(made.keys)])
    _, low, high, _ = ends(edited_gaps(only, None, made, CONTRAST).frame, stat="gap")
    yield Outcome("change in edited pictures (jackknife by identity)", 0.3, low, high, None)
    found = compare_approaches(
        ratings, None, lw.Images(faces), CONTRAST, pairs=pairs, edited_trials=None, edited=made
    ).frame
    gap, low, high, _ = ends(found, stat="design_difference")
    sides, moved = (value[focal], value[~focal]), about[2 * n :] - about[n : 2 * n]
    naive = normal(gap, float(sum(side.var(ddof=1) / side.size for side in sides) + moved.var(ddof=1) / n))
    yield Outcome("matched gap less the change in edited pictures (jackknife by pair)", 0.2, low, high, naive)


def observed(n: int, seed: int) -> Iterator[Outcome]:
    """How eyeglasses go with the attribute and with the distance, four trials an identity."""
    world = VerificationTrials(n, seed, impostors=2)
    ratings, trials, faces, pairs = world.tables()
    same = trials.genuine()
    own = lw.Ratings(ratings.frame[ratings.frame["unit"].isin(same.frame["trial"])])
    found = sensitivity(own, same, faces, CONTRAST, pairs=pairs, covariates=["eyeglasses"]).frame
    _, low, high, _ = ends(found, stat="odds_ratio")
    # The odds are (7 / 3)^2 higher with eyeglasses than without, which is two standard deviations.
    yield Outcome("odds ratio of a covariate (GEE logit)", 7 / 3, low, high, None)
    _, low, high, _ = ends(found, stat="answer_ratio")
    # Eyeglasses vary by 1 / 4; so does the side, and the two together by 0.1.
    shared = world.mixed / 4 + world.effect * 0.1
    spread = (
        world.person**2 + world.noise**2 + (world.mixed**2 + world.effect**2) / 4 + 0.2 * world.mixed * world.effect
    )
    truth = float(np.exp(0.91 * shared / (0.25 * spread) ** 0.5))
    yield Outcome("ratio of answers to a covariate (jackknife by identity)", truth, low, high, None)
