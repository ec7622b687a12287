from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from likewise.analysis.images.means import image_means
from likewise.errors import TableError
from likewise.tables import Contrast, Images, Ratings

CONTRAST = Contrast("perceived_gender", focal="female", reference="male")


def world(seed, people=60, images=4, gap=0.3):
    """Images of a person share most of what is said about them; the true gap is known."""
    rng = np.random.default_rng(seed)
    identity = np.repeat(np.arange(people), images)
    focal = identity % 2 == 0
    value = 1 + gap * focal + rng.normal(size=people)[identity] + 0.3 * rng.normal(size=people * images)
    faces = Images(
        pd.DataFrame(
            {
                "image": [f"i{k}" for k in range(len(identity))],
                "identity": [f"p{k}" for k in identity],
                "perceived_gender": np.where(focal, "female", "male"),
            }
        )
    )
    ratings = pd.DataFrame({"unit": faces.keys, "rater": "lpips", "question": "distance", "value": value})
    return Ratings(ratings), faces


def test_means_and_gap_are_the_plain_ones():
    ratings, faces = world(0)
    frame = ratings.frame.assign(group=faces.attribute("perceived_gender").to_numpy())
    means = frame.groupby("group")["value"].mean()
    found = image_means(ratings, faces, CONTRAST).frame.set_index(["stat", "group"])["estimate"]
    assert found["mean", "female"] == pytest.approx(means["female"])
    assert found["gap"].iloc[0] == pytest.approx(means["female"] - means["male"])


def test_the_interval_holds_and_the_naive_one_does_not():
    """400 seeds, 60 people with 4 images each: 95 % within what 400 draws allow; images taken as independent fail."""
    held, naive = [], []
    for seed in range(400):
        ratings, faces = world(seed)
        gap = image_means(ratings, faces, CONTRAST).frame.query("stat == 'gap'").iloc[0]
        held.append(gap["low"] <= 0.3 <= gap["high"])
        value, focal = ratings.frame["value"].to_numpy(), faces.attribute("perceived_gender").to_numpy() == "female"
        half = 1.96 * np.sqrt(value[focal].var() / focal.sum() + value[~focal].var() / (~focal).sum())
        naive.append(abs(gap["estimate"] - 0.3) <= half)
    assert 0.92 <= np.mean(held) <= 0.98
    assert np.mean(naive) < 0.85


def test_images_without_an_answer_are_left_out():
    ratings, faces = world(1)
    frame = ratings.frame.copy()
    frame.loc[:9, "value"] = np.nan
    found = image_means(Ratings(frame), faces, CONTRAST).frame
    assert found.query("stat == 'gap'")["n"].iloc[0] == len(frame) - 10


def test_a_group_of_one_person_is_refused():
    ratings, faces = world(2, people=2)
    with pytest.raises(TableError, match="Too few identities of 'female'"):
        image_means(ratings, faces, CONTRAST)
