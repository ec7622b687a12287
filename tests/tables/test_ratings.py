from __future__ import annotations

import pandas as pd
import pytest

import likewise as lw
from invariants import check_ratings
from likewise.errors import TableError

ROWS = pd.DataFrame(
    {"unit": ["1", "1"], "rater": ["dlib", "anna"], "question": ["distance", "same"], "value": [0.4, None]}
)


def test_a_model_and_a_person_are_both_raters(tmp_path):
    ratings = lw.Ratings(ROWS)
    check_ratings(ratings)
    assert lw.Ratings.read(ratings.write(tmp_path / "r.csv")) == ratings
    assert "no answer: 1" in str(ratings)


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (pd.concat([ROWS, ROWS]), "Duplicate unit x rater x question in Ratings"),
        (ROWS.drop(columns="rater"), "Column 'rater' not found in Ratings"),
        (ROWS.assign(value="yes"), "Column 'value' of Ratings has values that are not finite numbers: 'yes'"),
        (ROWS.assign(value=float("inf")), "not finite numbers"),
        (ROWS.assign(mood=1), "unknown columns: 'mood'"),
        (ROWS.assign(unit=[None, "1"]), "has no value for"),
    ],
)
def test_wrong_ratings_are_refused(frame, says):
    with pytest.raises(TableError, match=says):
        lw.Ratings(frame)


def test_every_unit_is_known():
    with pytest.raises(TableError, match="not in the design: '1'"):
        lw.Ratings(ROWS, units=["2"])


def test_parts_are_put_together():
    parts = [lw.Ratings(ROWS[:1]), lw.Ratings(ROWS[1:])]
    assert lw.Ratings.together(parts) == lw.Ratings(ROWS)
    assert len(lw.Ratings.together([])) == 0
