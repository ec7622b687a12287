"""Shifts of placebo arms: the right number, face by face, with an interval that holds the truth as often as it says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from likewise.analysis.slopes.placebo import rate_shifts
from likewise.errors import TableError
from likewise.tables import Images, Ratings


def arms(before, after, identities=None):
    n = len(before)
    who = identities or [f"p{k}" for k in range(n)]
    rows, said = [], []
    for source, values in (("original", before), ("mask", after)):
        for k, value in enumerate(values):
            key = f"i{k}~{source}@+0"
            rows.append({"image": key, "identity": who[k], "parent": f"i{k}", "level": 0.0, "source": source})
            said.append({"unit": key, "rater": "r", "question": "Tie", "value": float(value)})
    return Ratings(pd.DataFrame(said)), Images(pd.DataFrame(rows))


def test_a_shift_is_the_mean_difference_face_by_face():
    found = rate_shifts(*arms([0, 0, 1, 1, 0, 1], [1, 0, 1, 0, 1, 1]), threshold=0.5).frame.iloc[0]
    assert found["estimate"] == pytest.approx(1 / 6)
    assert (found["stat"], found["sample"], found["n"]) == ("rate_shift", "placebo: mask", 6)
    assert found["low"] < 0 < found["high"]


def test_faces_without_an_answer_in_one_arm_are_left_out():
    ratings, faces = arms([0, 0, 1, 1], [1, 0, 1, 1])
    frame = ratings.frame
    frame.loc[0, "value"] = np.nan
    assert rate_shifts(Ratings(frame), faces, threshold=0.5).frame.iloc[0]["n"] == 3


def test_without_untouched_pictures_there_is_no_shift():
    ratings, faces = arms([0, 1], [1, 1])
    kept = faces.frame[faces.frame["source"] != "original"]
    left = ratings.frame[ratings.frame["unit"].isin(kept["image"])]
    with pytest.raises(TableError, match="originals"):
        rate_shifts(Ratings(left), Images(kept), threshold=0.5)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    """Two faces an identity that go together; the true shift is 0.1. 150 seeds at 95 % give 142, hardly below 133."""
    inside = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        lean = np.repeat(rng.random(60), 2)
        before, gain = (lean < 0.4).astype(int), np.repeat(rng.random(60) < 1 / 6, 2)
        after = np.where((before == 0) & gain, 1, before)
        row = rate_shifts(*arms(before, after, [f"p{k // 2}" for k in range(120)]), threshold=0.5).frame.iloc[0]
        inside += bool(row["low"] <= 0.1 <= row["high"])
    assert 133 <= inside <= 149
