from __future__ import annotations

import pandas as pd
import pytest

import likewise as lw
from likewise.errors import TableError
from likewise.plugins import create


def test_answers_come_from_a_file(world, tmp_path):
    asked = lw.trials(world.faces, seed=0)
    given = lw.Ratings(
        pd.DataFrame({"unit": asked.frame["pair"].head(2), "rater": "anna", "question": "same", "value": [1, None]})
    )
    given.write(tmp_path / "answers.csv")
    crowd = create("crowd", "file", {"path": str(tmp_path / "answers.csv")})
    assert crowd.answers(asked, world.look, 0) == given


def test_answers_about_something_else_are_refused(world, tmp_path):
    lw.Ratings(pd.DataFrame({"unit": ["x"], "rater": "anna", "question": "same", "value": 1})).write(tmp_path / "a.csv")
    with pytest.raises(TableError, match="every rated unit is known; got 'x'"):
        create("crowd", "file", {"path": str(tmp_path / "a.csv")}).answers(
            lw.trials(world.faces, seed=0), world.look, 0
        )
