"""A study about an audit, responses from any long table, and the way back into the audit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import likewise as lw
from likewise.cli.main import cli
from likewise.cli.study.from_audit import study_from_audit
from likewise.errors import StageError, StoreError, TableError
from likewise.study.config.load import read_study
from likewise.study.long_table import LongColumns, read_long_table
from shell import run
from small_study import PLAN, write_study


@pytest.fixture
def study(tmp_path):
    return read_study(write_study(tmp_path))


def test_trials_of_an_audit_become_a_study_and_responses_come_back(audit, tmp_path, capsys):
    folder = tmp_path / "people"
    with pytest.raises(StageError, match=r"images.parquet is missing. Run: likewise read"):
        study_from_audit(folder, audit, "same-person", units=0, seed=1)
    for stage in ("read", "trials"):
        assert run(capsys, stage, audit)[0] == 0
    done = CliRunner().invoke(
        cli,
        ["study", "init", str(folder), "--from", str(audit), "--units", "12", "--seed", "5"],
        catch_exceptions=False,
    )
    assert "12 trials" in done.output
    found = read_study(folder)
    trials = lw.Trials.read(audit / "trials.parquet").frame.set_index("trial")
    assert (found.kind, len(found.units), found.raters_per_unit) == ("same-person", 12, 3)
    assert all(unit.key in trials.index for unit in found.units)
    assert {unit.group for unit in found.units} <= {"female", "male", "mixed"}
    with pytest.raises(StoreError, match=r"already has a study"):
        study_from_audit(folder, audit, "same-person", units=0, seed=1)
    rows = [
        {"trial": unit.key, "worker": f"w{k}", "answer": "Same person" if (k + j) % 3 else "Different people"}
        for j, unit in enumerate(found.units)
        for k in range(4)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "answers.csv", index=False)
    given = ["study", "import", str(folder), str(tmp_path / "answers.csv"), "--into", str(audit)]
    done = CliRunner().invoke(cli, given, catch_exceptions=False)
    assert "[collect] of" in done.output
    assert run(capsys, "collect", audit)[0] == 0
    collected = lw.Ratings.read(audit / "responses.parquet").frame
    assert len(collected) == 48
    assert set(collected["value"]) == {0.0, 1.0}


def test_images_of_an_audit_become_a_study(audit, tmp_path, capsys):
    assert run(capsys, "read", audit)[0] == 0
    study_from_audit(tmp_path / "tones", audit, "skin-tone", units=5, seed=0)
    found = read_study(tmp_path / "tones")
    images = lw.Images.read(audit / "images.parquet")
    assert [len(unit.images) for unit in found.units] == [1] * 5
    assert {unit.key for unit in found.units} <= set(images.keys)


def test_any_long_table_is_read(study, tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("Image,Participant,Response,ms\nu0.png,7,Yes,1\nu0.png,8,0,1\nu1.png,7,,1\n")
    frame = read_long_table(study, path).frame
    assert list(zip(frame["unit"], frame["rater"], strict=True)) == [("u0.png", "7"), ("u0.png", "8"), ("u1.png", "7")]
    np.testing.assert_equal(frame["value"].to_numpy(), [1.0, 0.0, np.nan])
    path.write_text("what,who,seen,spent\nu0.png,anna,1,2.5\nu1.png,anna,No,\n")
    frame = read_long_table(study, path, LongColumns(unit="what", rater="who", seconds="spent")).frame
    np.testing.assert_equal(frame["value"].to_numpy(), [1.0, 0.0])
    np.testing.assert_equal(frame["seconds"].to_numpy(), [2.5, np.nan])


def test_long_numbers_of_raters_keep_their_digits(study, tmp_path):
    """An empty cell makes the column a float; 123456701 and 123456702 were one rater then, 1.23457e+08."""
    path = tmp_path / "long.csv"
    path.write_text("unit,worker,value\nu0.png,123456701,1\nu0.png,123456702,0\nu1.png,,1\n")
    assert read_long_table(study, path).frame["rater"].tolist() == ["123456701", "123456702"]


def test_raters_07_and_7_are_two(study, tmp_path):
    """Columns of ids were read as numbers, which joined the two raters, or refused the file for contradictions."""
    path = tmp_path / "long.csv"
    path.write_text("unit, worker,value\nu0.png,07,1\nu0.png,7,0\n")
    frame = read_long_table(study, path).frame
    assert dict(zip(frame["rater"], frame["value"], strict=True)) == {"07": 1.0, "7": 0.0}


@pytest.mark.parametrize(
    ("text", "columns", "problem"),
    [
        ("x,who,value\nu0.png,a,1\n", {"rater": "who"}, "looks like the unit .* Name it with --unit"),
        ("unit,who,value\nu0.png,a,1\n", {}, "looks like the rater"),
        ("unit,rater,hm\nu0.png,a,1\n", {}, "looks like the value"),
        ("unit,rater,value\nu0.png,a,1\n", {"unit": "unti"}, "Column 'unti' not found .* Did you mean 'unit'"),
        ("unit,rater,value\nu77.png,a,1\n", {}, "Unit 'u77.png' is not in the study"),
        ("unit,rater,value\nu0.png,a,maybe\n", {}, "'maybe' is not an option of question 'seen'"),
        ("unit,rater,value\nu0.png,a,1\nu0.png,a,0\n", {}, "two different responses"),
        ("unit,rater,question,value\nu0.png,a,sen,1\n", {}, "Question 'sen' is not in the study. Did you mean 'seen'"),
    ],
)
def test_what_is_wrong_with_a_long_table_is_said(text, columns, problem, study, tmp_path):
    path = tmp_path / "long.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=problem):
        read_long_table(study, path, LongColumns(**columns))


def test_several_questions_need_their_column(tmp_path):
    second = PLAN[PLAN.index("[[question]]") : PLAN.index("[units]")].replace('"seen"', '"liked"')
    study = read_study(write_study(tmp_path, more=second))
    path = tmp_path / "long.csv"
    path.write_text("unit,rater,value\nu0.png,a,1\n")
    with pytest.raises(TableError, match=r"looks like the question"):
        read_long_table(study, path)
    path.write_text("unit,rater,seen,liked\nu0.png,a,1,0\n")
    assert dict(read_long_table(study, path).frame[["question", "value"]].to_numpy()) == {"seen": 1.0, "liked": 0.0}
