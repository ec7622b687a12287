from __future__ import annotations

import pandas as pd
import pytest

from likewise.data.scores.columns import (
    as_text,
    guess_identity,
    guess_image_column,
    guess_levels,
    guess_protected,
    score_columns,
)
from likewise.errors import LikewiseError

TABLE = pd.DataFrame({
    "row": ["1", "2", "3", "4"], "img": ["007.jpg", "008.jpg", "009.jpg", "010.jpg"], "who": ["a", "a", "b", "b"],
    "perceived_sex": ["F", "F", "M", "M"],
})  # fmt: skip
SCORES = "left;right;shot;score\n007;008;1;0,91\n007;010;2;0,22\n009;010;3;0,88\n"


@pytest.fixture
def path(tmp_path):
    (tmp_path / "s.csv").write_text(SCORES)
    return tmp_path / "s.csv"


def test_columns_are_recognized_by_values(path):
    assert guess_image_column(TABLE, as_text(path), "people.csv") == "img"
    found = score_columns(path, (), TABLE["img"])
    assert (found.a, found.b, found.scores, found.system) == ("left", "right", ("score",), "")


def test_columns_of_the_table_are_recognized_by_name():
    assert guess_identity(TABLE, "img", "people.csv") == "who"
    assert guess_protected(TABLE, "people.csv") == "perceived_sex"
    assert guess_levels(TABLE, "perceived_sex") == ("F", "M")


def test_given_columns_are_taken_as_they_are(path):
    found = score_columns(path, ("left", "right", "score", "shot"), TABLE["img"])
    assert found.scores == ("score", "shot")


@pytest.mark.parametrize(("guess", "option"), [
    (lambda path: guess_identity(TABLE.rename(columns={"who": "x"}), "img", "t"), "--identity"),
    (lambda path: guess_identity(TABLE.assign(person=TABLE["who"]), "img", "t"), "--identity"),
    (lambda path: guess_protected(TABLE.assign(race="x"), "t"), "--protected"),
    (lambda path: guess_levels(TABLE.assign(perceived_sex=["x", "y", "x", "y"]), "perceived_sex"), "--focal"),
    (lambda path: guess_image_column(TABLE.drop(columns="img"), as_text(path), "t"), "--image-column"),
    (lambda path: score_columns(path, (), ["x", "y"]), "--columns"),
    (lambda path: score_columns(path, ("left", "right"), TABLE["img"]), "Name three"),
    (lambda path: score_columns(path, ("left", "right", "skore"), TABLE["img"]), "'score'"),
])  # fmt: skip
def test_what_is_not_obvious_is_an_error_that_names_the_option(path, guess, option):
    with pytest.raises(LikewiseError, match=option):
        guess(path)


def test_several_numbers_need_a_usual_name(path):
    path.write_text(SCORES.replace("score", "value"))
    with pytest.raises(LikewiseError, match=r"not obvious in s\.csv"):
        score_columns(path, (), TABLE["img"])


def test_a_flag_is_no_score(path):
    path.write_text("left;right;mated;dissim\n007;008;1;0,31\n007;010;0;0,92\n009;010;1;0,38\n")
    assert score_columns(path, (), TABLE["img"]).scores == ("dissim",)
