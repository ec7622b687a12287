"""Groups of unlike size and sets of several references: intervals and tests know how few there are of the smaller."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.analysis.crowd.quality import quality
from likewise.analysis.gaps.estimate import gaps
from likewise.analysis.images.means import image_means
from likewise.analysis.images.quality import feature_distances
from likewise.analysis.sensitivity.matched_gaps import sensitivity
from likewise.analysis.slopes.estimate import slopes
from likewise.analysis.verdict import verdicts
from likewise.analysis.verification.error_rates import error_rates
from likewise.tables import Vectors

CONTRAST = lw.Contrast("perceived_gender", focal="female", reference="male")


def images(sides: list[str], each: int = 2) -> pd.DataFrame:
    """A row an image, ``each`` of every person."""
    frame = pd.DataFrame({"identity": np.repeat([f"p{k:04d}" for k in range(len(sides))], each)})
    frame["image"] = frame["identity"] + frame.groupby("identity").cumcount().map("-{}".format)
    return frame.assign(perceived_gender=np.repeat(sides, each))


def answered(frame: pd.DataFrame, value: np.ndarray, question: str = "score") -> lw.Ratings:
    return lw.Ratings(pd.DataFrame({"unit": frame["image"], "rater": "r", "question": question, "value": value}))


@pytest.mark.slow
def test_a_gap_holds_with_five_people_on_one_side_and_two_hundred_on_the_other():
    held = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        frame = images(["female"] * 5 + ["male"] * 200)
        value = np.repeat(rng.normal(0, 1, 205), 2) + rng.normal(0, 0.5, 410)
        about = (answered(frame, value), lw.Images(frame), CONTRAST)
        rows = [
            gaps(about[0], None, *about[1:]).where(stat="gap").frame.iloc[0],
            image_means(*about).where(stat="gap").frame.iloc[0],
        ]
        held.append([row["low"] <= 0 <= row["high"] for row in rows])
    assert (np.mean(held, axis=0) > 0.925).all()
    assert (np.mean(held, axis=0) < 0.975).all()


@pytest.mark.slow
def test_sets_of_five_references_are_one_each_to_the_sensitivity_analysis():
    """Under the null: the five pairs of a set share their focal face, so they are not five findings."""
    found = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        frame = images(["female"] * 40 + ["male"] * 200, each=1)
        names = frame["image"].to_numpy()
        pairs = pd.DataFrame({"a": np.repeat(names[:40], 5), "b": names[40:]})
        pairs.insert(0, "pair", [f"m{k}" for k in range(200)])
        ratings = answered(frame, rng.normal(size=240))
        rows = sensitivity(ratings, None, lw.Images(frame), CONTRAST, pairs=lw.Matches(pairs)).frame
        found.append(rows.set_index("stat").loc["p_value", "estimate"] < 0.05)
    assert np.mean(found) < 0.05 + 3 * (0.05 * 0.95 / len(found)) ** 0.5


def test_the_e_value_of_yes_and_no_is_that_of_the_risk_ratio():
    """60 of 100 against 20 of 100: a risk ratio of 3, whose E-value is 3 + sqrt(3 * 2) = 5.449."""
    frame = images(["female"] * 100 + ["male"] * 100, each=1)
    names = frame["image"].to_numpy()
    pairs = lw.Matches(pd.DataFrame({"pair": names[:100], "a": names[:100], "b": names[100:]}))
    value = np.r_[np.ones(60), np.zeros(40), np.ones(20), np.zeros(80)]
    rows = sensitivity(answered(frame, value), None, lw.Images(frame), CONTRAST, pairs=pairs).frame.set_index("stat")
    assert rows.loc["e_value", "estimate"] == pytest.approx(3 + 6**0.5)
    assert 1 < rows.loc["e_value_limit", "estimate"] < rows.loc["e_value", "estimate"]
    assert "risk ratio" in rows.loc["e_value", "method"]


@pytest.mark.slow
def test_groups_that_look_unlike_but_are_drawn_perfectly_are_not_called_apart():
    """30 and 120 people a side with other places and spreads; generated and real from one distribution each."""
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        frame = images((["female"] * 30 + ["male"] * 120) * 2, each=1)
        frame["made_by"] = ["camera"] * 150 + ["gan"] * 150
        few = (frame["perceived_gender"] == "female").to_numpy()[:, None]
        values = np.where(few, rng.normal(1, 2, (300, 4)), rng.normal(0, 1, (300, 4))).astype(np.float32)
        vectors = Vectors(frame["image"].tolist(), values, source="net")
        rows = feature_distances(
            vectors, lw.Images(frame), CONTRAST, made_by="made_by", generated="gan", permutations=59, seed=seed
        )
        p = rows.where(stat="p_value").frame.set_index("quantity")["estimate"]
        found.append(p["net, kid"] <= 0.05)
    assert np.mean(found) < 0.05 + 3 * (0.05 * 0.95 / len(found)) ** 0.5


def test_a_share_of_none_among_ten_people_is_not_known_better_for_thirty_others():
    rng = np.random.default_rng(0)
    frame = images(["female"] * 10 + ["male"] * 30)
    frame["made_by"] = np.tile(["gan", "camera"], 40)
    rows = []
    for rater in range(12):
        seen = rng.uniform(size=80) < np.where(frame["made_by"] == "camera", 0.8, 0.5)
        seen &= ~((frame["made_by"] == "gan") & (frame["perceived_gender"] == "female")).to_numpy()
        rows.append(frame[["image"]].assign(rater=f"r{rater}", value=seen.astype(float)))
    table = pd.concat(rows, ignore_index=True).rename(columns={"image": "unit"}).assign(question="judged_real")
    found = quality(lw.Ratings(table), lw.Images(frame), CONTRAST, made_by="made_by", generated="gan").frame
    row = found[(found["stat"] == "pass_rate") & (found["group"] == "female")].iloc[0]
    assert (row["estimate"], row["clusters"]) == (0.0, 10)
    assert row["high"] > 0.2, "the rule of three for ten people"


def test_a_label_that_one_person_alone_carries_is_rare_and_ends_nothing():
    people = [f"p{k}" for k in range(12)]
    rows = [(f"{who}-{j}", who, level) for who in people for j in range(6) for level in (-1.0, 0.0, 1.0)]
    frame = pd.DataFrame(rows, columns=["parent", "identity", "level"])
    frame["image"] = frame["parent"] + frame["level"].map("@{:+g}".format)
    value = ((frame["identity"] == "p0") & (frame["level"] >= 0)).astype(float)
    answers = pd.DataFrame({"unit": frame["image"], "rater": "r", "question": "hat", "value": value})
    found = slopes(lw.Ratings(answers), lw.Images(frame), threshold=0.5).frame
    assert "rate_slope" in set(found["stat"])


def test_matched_error_rates_are_of_pairs_that_both_have_a_trial():
    """Ten men were matched, but only six of their partners were asked about: six on either side count."""
    frame = images(["female"] * 10 + ["male"] * 10, each=2)
    first, second = (frame[frame["image"].str.endswith(end)]["image"].to_numpy() for end in ("-0", "-1"))
    pairs = lw.Matches(pd.DataFrame({"pair": first[:10], "a": first[:10], "b": first[10:]}))
    kept = np.r_[np.arange(6), np.arange(10, 20)]
    genuine = pd.DataFrame({"a": first[kept], "b": second[kept], "same": True})
    others = pd.DataFrame({"a": np.repeat(first, 19), "b": [x for k in range(20) for x in np.delete(first, k)]})
    trials = pd.concat([genuine, others.assign(same=False)], ignore_index=True)
    trials.insert(0, "trial", trials["a"] + "|" + trials["b"])
    distance = np.r_[np.full(len(kept), 0.3), np.random.default_rng(0).uniform(0.5, 1, len(others))]
    ratings = pd.DataFrame({"unit": trials["trial"], "rater": "r", "question": "distance", "value": distance})
    found = error_rates(lw.Ratings(ratings), lw.Trials(trials), lw.Images(frame), CONTRAST, pairs=pairs, rates=[0.05])
    matched = found.where(stat="fnmr", sample="matched").frame
    assert matched["n"].tolist() == [6, 6]


def test_a_gap_rests_on_the_people_of_the_smaller_group():
    """Three people against two hundred were 203 independent clusters, and had a verdict."""
    rng = np.random.default_rng(0)
    frame = images(["female"] * 3 + ["male"] * 200)
    about = (answered(frame, rng.normal(size=406)), lw.Images(frame), CONTRAST)
    for found in (gaps(about[0], None, *about[1:]), image_means(*about)):
        assert found.where(stat="gap").frame["clusters"].tolist() == [3]
        assert verdicts(found).where(stat="verdict").frame["method"].tolist() == ["interval; too few"]
