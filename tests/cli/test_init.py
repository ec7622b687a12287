from __future__ import annotations

import json

import pandas as pd
import pytest

import likewise as lw
from likewise.cli.main import STAGES, cli, main
from likewise.cli.plan import read_plan
from likewise.cli.stages import ALL


def init(folder, images, table, *more: str) -> list[str]:
    given = ["--images", str(images), "--table", str(table), "--protected", "perceived_gender"]
    return ["init", str(folder), *given, "--focal", "female", "--reference", "male", *more]


def code_of(arguments: list[str]) -> int:
    try:
        main(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.fixture
def given(tmp_path, audit):
    return tmp_path / "mine", audit / "images", audit / "faces.csv"


def test_a_plan_is_written_that_can_be_run(given, capsys):
    assert code_of(init(*given, "--generator", "world")) == 0
    out = capsys.readouterr().out
    assert "120 images of 40 identities, 0 of them not in" in out
    assert "female 60, male 60, neither 0" in out
    plan = read_plan(given[0] / "audit.toml")
    assert plan.covariates == ("perceived_age", "eyeglasses", "smiling", "light", "yaw")
    assert code_of(["run", str(given[0]), "--quiet"]) == 0
    page = (given[0] / "report.html").read_text()
    assert "names nobody to audit" in page


def test_the_commented_parts_of_the_plan_are_right_too(given):
    assert code_of(init(*given)) == 0
    path = given[0] / "audit.toml"
    lines = path.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("# [[rater]]"))
    more = [
        line.removeprefix("# ") if i >= start and not line.startswith("# Who") else line for i, line in enumerate(lines)
    ]
    path.write_text("\n".join(more))
    plan = read_plan(path)
    assert [rater.slot for rater in plan.rater] == ["recogniser", "classifier"]
    assert plan.ask is not None
    assert plan.engine.workers == 2


def test_a_plan_is_not_overwritten_unasked(given, capsys):
    assert code_of(init(*given)) == 0
    assert code_of(init(*given)) == 3
    assert "add --force" in capsys.readouterr().err
    assert code_of(init(*given, "--force", "--seed", "7")) == 0
    assert read_plan(given[0] / "audit.toml").seed == 7


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--identity", "person"], "needs the column 'person'"),
        (["--focal", "woman"], "The levels are 'female', 'male'"),
        (["--protected", "gender"], "Did you mean 'perceived_gender'"),
        (["--covariates", "light,yaaw"], "Did you mean 'yaw'"),
        (["--images", "nowhere"], "--images is a folder"),
        (["--table", "nowhere.csv"], "is not there"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(given, capsys, more, says):
    assert code_of(init(*given, *more)) == 2
    assert says in capsys.readouterr().err
    assert not given[0].exists()


def test_plain_columns_are_pointed_out(given, capsys):
    frame = pd.read_csv(given[2]).rename(columns={"perceived_age": "age"})
    frame.to_csv(given[2], index=False)
    assert code_of(init(*given)) == 0
    assert 'rename = { age = "perceived_age" }' in capsys.readouterr().out


def test_own_vectors_are_looked_at(given, capsys):
    lw.Vectors(["x"], [[1.0]], source="elsewhere").write(given[0].parent / "v.npz")
    assert code_of(init(*given, "--vectors", str(given[0].parent / "v.npz"))) == 2
    assert "none of them" in capsys.readouterr().err


def test_show_tells_what_an_artefact_holds(tmp_path, capsys):
    main(["demo", "--toy", str(tmp_path / "d"), "--identities", "20", "--quiet"])
    capsys.readouterr()
    for name in (
        "faces.parquet",
        "latents",
        "pairs.parquet",
        "counterfactuals",
        "ratings.parquet",
        "estimates.parquet",
    ):
        assert code_of(["show", str(tmp_path / "d" / name)]) == 0
    shown = capsys.readouterr().out
    assert all(noun in shown for noun in ("Faces: 60", "Vectors: 60", "Pairs:", "Ratings:", "Estimates:"))
    assert code_of(["show", str(tmp_path / "d" / "audit.toml")]) == 2


def test_a_demo_that_is_there_is_not_drawn_again(tmp_path, capsys):
    arguments = ["demo", "--toy", str(tmp_path / "d"), "--identities", "20"]
    assert code_of(arguments) == code_of(arguments) == 0
    err = capsys.readouterr().err
    assert err.count("drew a world of 20 people") == err.count("is there already") == 1


def test_the_verbs_are_the_stages():
    assert list(STAGES) == [stage.name for stage in ALL]
    assert set(STAGES) < set(cli.commands)


def test_usage_errors_have_the_code_of_wrong_input(capsys):
    assert code_of(["run"]) == 2
    assert code_of(["rum", "x"]) == 2
    assert code_of(["slots"]) == 0
    assert "recogniser" in capsys.readouterr().out


def test_json_is_for_machines(tmp_path, capsys):
    assert code_of(["run", str(tmp_path), "--json"]) == 3
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["kind"], error["exit_code"]) == ("StoreError", 3)
