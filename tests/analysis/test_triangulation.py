"""Matching and edits on one scale: the change in edited pictures, the difference and the curve of designs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.analysis.gaps.estimate import gaps
from likewise.analysis.specification_curve import specification_curve
from likewise.analysis.triangulation import compare_approaches, edited_gaps, standardized_gaps
from likewise.errors import TableError
from likewise.simulation.system_ratings import CONTRAST, VerificationTrials

EFFECT = 0.05


def world(seed: int, *, made: float = EFFECT, identities: int = 120):
    """Return a simulated recognizer whose edited pictures carry an effect of their own."""
    simulated = VerificationTrials(identities, seed, genuine=2, impostors=2, effect=EFFECT)
    ratings, trials, faces, pairs = simulated.tables()
    rng = np.random.default_rng([seed, 5])
    genuine = trials.genuine().frame.drop_duplicates("b")[: identities // 2]
    levels = (-1.0, 0.0, 1.0)
    frame = pd.concat([genuine.assign(level=level) for level in levels], ignore_index=True)
    tag = frame["level"].map("@{:+g}".format)
    counterfactuals = pd.concat(
        [
            pd.DataFrame({"image": frame[end] + tag, "parent": frame[end], "level": frame["level"]})
            for end in ("a", "b")
        ],
        ignore_index=True,
    ).drop_duplicates("image")
    counterfactuals["identity"] = counterfactuals["parent"].map(faces.identities)
    own = frame["a"].map(
        ratings.frame.set_index("unit")["value"]
        .rename(index=dict(zip(trials.frame["trial"], trials.frame["a"], strict=True)))
        .groupby(level=0)
        .first()
    )
    answers = pd.DataFrame({"unit": frame["trial"] + tag, "rater": "simulated", "question": "distance"})
    answers["value"] = own.to_numpy() + made / 2 * frame["level"].to_numpy() + rng.normal(0, 0.03, len(frame))
    asked = pd.DataFrame({"trial": answers["unit"], "a": frame["a"] + tag, "b": frame["b"] + tag, "same": True})
    both = lw.Ratings(pd.concat([ratings.frame, answers], ignore_index=True))
    return both, trials, faces, pairs, lw.Trials(asked), lw.Images(counterfactuals)


def compared(seed: int, **options) -> pd.DataFrame:
    ratings, trials, faces, pairs, asked, counterfactuals = world(seed, **options)
    found = compare_approaches(
        ratings, trials.genuine(), faces, CONTRAST, pairs=pairs, edited_trials=asked, edited=counterfactuals
    )
    return found.frame.set_index("stat")


def test_the_change_in_edited_pictures_is_the_mean_of_plain_differences():
    ratings, _, _, _, asked, counterfactuals = world(1)
    row = edited_gaps(ratings, asked, counterfactuals, CONTRAST).frame.iloc[0]
    wide = ratings.frame.set_index("unit")["value"]
    high, low = (wide[wide.index.str.endswith(end)].to_numpy() for end in ("@+1", "@-1"))
    assert row["estimate"] == pytest.approx((high - low).mean())
    assert row["low"] < EFFECT < row["high"]
    assert (row["sample"], row["n"], row["clusters"]) == ("counterfactual", len(high), len(high))


def test_the_difference_of_two_designs_is_that_of_their_estimates():
    ratings, trials, faces, pairs, asked, counterfactuals = world(2)
    found = compare_approaches(
        ratings, trials.genuine(), faces, CONTRAST, pairs=pairs, edited_trials=asked, edited=counterfactuals
    )
    own = lw.Ratings(ratings.frame[ratings.frame["unit"].isin(trials.genuine().frame["trial"])])
    matched = gaps(own, trials.genuine(), faces, CONTRAST, pairs=pairs).where(sample="matched", stat="gap").frame
    made = edited_gaps(ratings, asked, counterfactuals, CONTRAST).frame
    expected = matched["estimate"].iloc[0] - made["estimate"].iloc[0]
    assert found.where(stat="design_difference").frame["estimate"].iloc[0] == pytest.approx(expected)


@pytest.mark.slow
def test_equal_designs_differ_significantly_in_one_world_of_twenty_and_unequal_ones_mostly():
    seeds = range(200)
    p = np.array([compared(seed).loc["agreement_p", "estimate"] for seed in seeds])
    assert abs(np.mean(p < 0.05) - 0.05) < 3 * (0.05 * 0.95 / len(p)) ** 0.5
    apart = [compared(seed, made=EFFECT + 0.08).loc["agreement_p", "estimate"] < 0.05 for seed in range(20)]
    assert np.mean(apart) > 0.8


def labeled(seed: int, *, made: float, people: int = 160):
    """Return labels of images, of which females get 0.2 more, and of the same faces edited, which get ``made`` more."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"identity": np.repeat([f"p{k:03d}" for k in range(people)], 2)})
    frame["image"] = frame["identity"] + frame.groupby("identity").cumcount().map("-{}".format)
    frame[CONTRAST.column] = np.repeat([CONTRAST.focal, CONTRAST.reference] * (people // 2), 2)
    own = np.repeat(rng.uniform(0.2, 0.4, people), 2)
    given = rng.uniform(size=2 * people) < own + 0.2 * (frame[CONTRAST.column] == CONTRAST.focal)
    counterfactuals = pd.concat([frame.assign(level=level) for level in (-1.0, 1.0)], ignore_index=True)
    counterfactuals["parent"], rate = counterfactuals["image"], np.tile(own, 2) + made * (counterfactuals["level"] == 1)
    counterfactuals["image"] += counterfactuals["level"].map("@{:+g}".format)
    edited = rng.uniform(size=len(counterfactuals)) < rate
    units = [*frame["image"], *counterfactuals["image"]]
    answers = pd.DataFrame({"unit": units, "rater": "api", "question": "hat", "value": [*given, *edited]})
    first = frame[frame["image"].str.endswith("-0")]
    pairs = pd.DataFrame({"a": first["image"].to_numpy()[::2], "b": first["image"].to_numpy()[1::2]})
    ratings = lw.Ratings(answers.astype({"value": float}))
    return ratings, lw.Images(frame), lw.Matches(pairs.assign(pair=pairs["a"])), lw.Images(counterfactuals)


def agreed(seed: int, *, made: float) -> float:
    ratings, faces, pairs, counterfactuals = labeled(seed, made=made)
    found = compare_approaches(ratings, None, faces, CONTRAST, pairs=pairs, edited_trials=None, edited=counterfactuals)
    return float(found.where(stat="agreement_p").frame["estimate"].iloc[0])


def test_labels_of_single_images_are_compared_over_designs_too():
    ratings, faces, pairs, counterfactuals = labeled(1, made=0.2)
    wide = ratings.frame.set_index("unit")["value"]
    made = edited_gaps(ratings, None, counterfactuals, CONTRAST).frame.iloc[0]
    expected = wide[wide.index.str.endswith("@+1")].mean() - wide[wide.index.str.endswith("@-1")].mean()
    assert made["estimate"] == pytest.approx(expected)
    assert (made["n"], made["clusters"]) == (len(faces), 160)
    a, b = (wide[pairs.frame[end]].mean() for end in ("a", "b"))
    found = compare_approaches(ratings, None, faces, CONTRAST, pairs=pairs, edited_trials=None, edited=counterfactuals)
    assert found.where(stat="design_difference").frame["estimate"].iloc[0] == pytest.approx(a - b - expected)


@pytest.mark.slow
def test_designs_that_agree_on_labels_differ_significantly_in_one_world_of_twenty():
    p = np.array([agreed(seed, made=0.2) for seed in range(300)])
    assert abs(np.mean(p < 0.05) - 0.05) < 3 * (0.05 * 0.95 / len(p)) ** 0.5
    assert np.mean([agreed(seed, made=-0.2) < 0.05 for seed in range(20)]) > 0.8


def test_a_trial_at_two_levels_is_refused():
    ratings, _, _, _, asked, counterfactuals = world(3)
    frame = asked.frame
    frame.loc[0, "b"] = frame.loc[0, "b"].replace("@-1", "@+1")
    with pytest.raises(TableError, match="two edit strengths"):
        edited_gaps(ratings, lw.Trials(frame), counterfactuals, CONTRAST)


def test_a_gap_in_standard_deviations_is_the_gap_over_the_spread_of_answers():
    ratings, trials, faces, pairs, *_ = world(4)
    genuine = trials.genuine()
    own = lw.Ratings(ratings.frame[ratings.frame["unit"].isin(genuine.frame["trial"])])
    found = gaps(own, genuine, faces, CONTRAST, pairs=pairs, covariates=["eyeglasses"])
    scaled = standardized_gaps(found, own, genuine).frame
    plain = found.frame[found.frame["stat"].isin(["gap", "adjusted_gap"])]
    np.testing.assert_allclose(scaled["estimate"], plain["estimate"] / own.frame["value"].std())
    assert set(scaled["stat"]) == {"gap_in_sd", "adjusted_gap_in_sd"}


def test_the_curve_holds_every_design_and_names_what_it_cannot_carry():
    ratings, trials, faces, pairs, *_ = world(5)
    genuine = trials.genuine()
    own = lw.Ratings(ratings.frame[ratings.frame["unit"].isin(genuine.frame["trial"])])
    few = lw.Matches(pairs.frame[:1])
    faces = faces.with_attribute("yaw", pd.Series(np.arange(len(faces)) % 3, index=faces.keys))
    found, left_out = specification_curve(
        own, genuine, faces, CONTRAST, designs={"plan": pairs, "few": few}, covariates=["eyeglasses", "yaw"]
    )
    assert list(found.frame["sample"].unique()) == [
        "design: plan", "design: plan, without eyeglasses", "design: plan, without yaw",
    ]  # fmt: skip
    assert {line.split(":")[0].split(",")[0] for line in left_out} == {"few"}
    direct = gaps(own, genuine, faces, CONTRAST, pairs=pairs, covariates=["yaw"]).where(stat="adjusted_gap").frame
    without = found.where(sample="design: plan, without eyeglasses").frame
    assert without["estimate"].iloc[0] == pytest.approx(direct["estimate"].iloc[0])
