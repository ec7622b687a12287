"""What people make of generated faces: plain counts, known d', arms, scales and power."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

import likewise as lw
from likewise.analysis.crowd.quality import quality
from likewise.analysis.crowd.scales import scales
from likewise.analysis.power import power
from likewise.errors import SpecError, TableError
from likewise.simulation.system_ratings import RealOrGenerated
from picked import only

TONE = lw.Contrast("perceived_skin_tone", focal="darker", reference="lighter")
MADE: dict[str, Any] = {"made_by": "made_by", "generated": "generator"}


def answers(seed=0, **options):
    ratings, faces = RealOrGenerated(200, 60, seed, **options).tables()
    frame = ratings.frame.merge(faces.frame, left_on="unit", right_on="image")
    return ratings, faces, frame


def test_rates_are_the_plain_counts():
    ratings, faces, frame = answers()
    found = quality(ratings, faces, TONE, **MADE)
    dark = frame[frame["perceived_skin_tone"] == "darker"]
    passed = dark[dark["made_by"] == "generator"]["value"].mean()
    failed = 1 - dark[dark["made_by"] == "camera"]["value"].mean()
    for stat, value in (("pass_rate", passed), ("base_failure", failed), ("quality", passed / (1 - failed))):
        assert only(found, stat=stat, group="darker")["estimate"] == pytest.approx(value)
    d = stats.norm.ppf(1 - passed) - stats.norm.ppf(failed)
    assert only(found, stat="d_prime", group="darker")["estimate"] == pytest.approx(d, abs=0.02)
    right = (dark["value"] == (dark["made_by"] == "camera")).mean()
    assert only(found, stat="accuracy", group="darker")["estimate"] == pytest.approx(right)
    each = dark[dark["made_by"] == "generator"].groupby("unit")["value"].mean()
    assert only(found, stat="sd_over_images", group="darker")["estimate"] == pytest.approx(each.std())


def test_the_paper_measures_quality_against_all_real_faces():
    ratings, faces, frame = answers()
    found = quality(ratings, faces, TONE, base="pooled", **MADE)
    real = frame[frame["made_by"] == "camera"]["value"].mean()
    own = only(found, stat="pass_rate", group="lighter")["estimate"]
    assert only(found, stat="quality", group="lighter")["estimate"] == pytest.approx(own / real)


def test_gaps_are_found_and_the_log_odds_agree_in_sign():
    ratings, faces, _ = answers(passes=(0.27, 0.5))
    found = quality(ratings, faces, TONE, **MADE)
    gap = only(found, stat="gap", quantity="people: judged_real, pass_rate")
    assert gap["low"] < -0.23 < gap["high"] < 0
    assert only(found, stat="log_odds_gap")["high"] < 0


def test_arms_are_compared():
    ratings, faces, _ = answers()
    arms = np.where(ratings.frame["rater"] < "r0030", "attention", "plain")
    found = quality(ratings, faces, TONE, arms=list(arms), **MADE)
    between = only(found, sample="plain - attention", quantity="people: judged_real, quality")
    one, other = (
        only(found, sample=arm, stat="gap", quantity="people: judged_real, quality") for arm in ("plain", "attention")
    )
    assert between["estimate"] == pytest.approx(one["estimate"] - other["estimate"])
    assert between["low"] < 0 < between["high"]
    value, fake = ratings.frame["value"], ratings.frame["unit"].map(faces.attribute("made_by")).eq("generator")
    right = (value == ~fake).groupby(arms).mean()
    apart = only(found, sample="plain - attention", quantity="people: judged_real, accuracy")
    assert apart["estimate"] == pytest.approx(right["plain"] - right["attention"]) and apart["clusters"] > 20


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"base": "mine"}, SpecError, "'group', 'pooled'"),
        ({"arms": ["one"]}, SpecError, "one arm for each answer"),
        ({"generated": "nobody"}, TableError, "generated"),
    ],
)
def test_bad_input_is_refused(change, error, words):
    ratings, faces, _ = answers()
    with pytest.raises(error, match=words):
        quality(ratings, faces, TONE, **{**MADE, **change})


def test_a_group_that_never_passes_is_flagged():
    ratings, faces, frame = answers()
    dark = (frame["perceived_skin_tone"] == "darker") & (frame["made_by"] == "generator")
    found = quality(lw.Ratings(ratings.frame.assign(value=frame["value"].where(~dark, 0.0))), faces, TONE, **MADE)
    row = only(found, stat="pass_rate", group="darker")
    assert row["estimate"] == 0 and row["high"] > 0 and "rule of three" in row["method"]
    assert np.isfinite(only(found, stat="d_prime", group="darker")["estimate"])
    odds = only(found, stat="log_odds_gap")
    assert odds["estimate"] < -1 and np.isnan(odds["low"]) and "separated" in odds["method"]


def test_steps_stay_steps():
    ratings, faces, frame = answers()
    rng = np.random.default_rng(0)
    sure = np.where(
        frame["perceived_skin_tone"] == "darker", rng.integers(0, 3, len(frame)), rng.integers(0, 2, len(frame))
    )
    table = lw.Ratings(ratings.frame.assign(confidence=sure.astype(float)))
    found = scales(table, faces, TONE, question="judged_real", column="confidence")
    dark = frame["perceived_skin_tone"].to_numpy() == "darker"
    u = stats.mannwhitneyu(sure[dark], sure[~dark]).statistic / dark.sum() / (~dark).sum()
    assert only(found, stat="superiority")["estimate"] == pytest.approx(u)
    squared = lw.Ratings(ratings.frame.assign(confidence=(sure**2).astype(float)))
    again = scales(squared, faces, TONE, question="judged_real", column="confidence")
    assert only(again, stat="superiority")["estimate"] == pytest.approx(u)  # order is all that it looks at
    with pytest.raises(TableError, match="confidence"):
        scales(ratings, faces, TONE, question="judged_real", column="confidence")


def test_power_grows_and_is_five_percent_without_a_gap():
    options: dict[str, Any] = {"images": 50, "raters": 30, "each": 5, "rate": 0.4, "repeats": 300}
    none, some, much = (only(power(gap=gap, **options), stat="power")["estimate"] for gap in (0.0, 0.08, 0.2))
    assert none < 0.10 and none < some < much and much > 0.9
    with pytest.raises(SpecError, match="0 to 1"):
        power(gap=0.5, **options)


def test_several_generators_are_compared_with_the_same_real_images():
    ratings, faces, _ = answers()
    made = faces.attribute("made_by").astype(str)
    fakes = [image for image in faces.keys if made[image] == "generator"]
    half = {image: "other" if k % 3 == 0 else "generator" for k, image in enumerate(fakes)}
    several = faces.with_attribute("maker", {image: half.get(image, "camera") for image in faces.keys})
    found = quality(ratings, several, TONE, made_by="maker", generated=["generator", "other"])
    base = found.where(stat="base_failure").frame.set_index(["sample", "group"])["estimate"]
    assert base["generator"].tolist() == base["other"].tolist()  # the same real images
    own = ratings.frame[ratings.frame["unit"].map(half) == "other"]
    darker = own["unit"].map(faces.attribute("perceived_skin_tone")) == "darker"
    rate = only(found, stat="pass_rate", sample="other", group="darker")["estimate"]
    assert rate == pytest.approx(own[darker]["value"].mean())
    assert len(found.where(sample="other - generator"))
    with pytest.raises(SpecError, match="cannot be compared at once"):
        quality(ratings, several, TONE, made_by="maker", generated=["generator"], arms=["a"] * len(ratings.frame))
