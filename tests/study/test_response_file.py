from __future__ import annotations

import pandas as pd

import likewise as lw
from likewise.runtime.registry import create
from shell import run


def test_answers_come_from_a_file(world, tmp_path):
    asked = lw.trials(world.faces, seed=0)
    given = lw.Ratings(
        pd.DataFrame({"unit": asked.frame["trial"].head(2), "rater": "anna", "question": "same", "value": [1, None]})
    )
    given.write(tmp_path / "answers.csv")
    crowd = create("crowd", "file", {"path": str(tmp_path / "answers.csv")})
    assert crowd.answers(asked, world.look, 0) == given


def test_answers_about_something_else_are_refused(audit, capsys):
    lw.Ratings(pd.DataFrame({"unit": ["x"], "rater": "anna", "question": "same", "value": 1})).write(audit / "a.csv")
    plan = audit / "audit.toml"
    plan.write_text(plan.read_text().replace('crowd = "world"', 'crowd = "file"\noptions = { path = "a.csv" }'))
    for stage in ("read", "trials"):
        assert run(capsys, stage, audit)[0] == 0
    code, _, err = run(capsys, "collect", audit)
    assert (code, "Rated units that are not in the design: 'x'" in err) == (2, True)
