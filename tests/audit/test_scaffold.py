from __future__ import annotations

import json

import pandas as pd
import pytest

import likewise as lw
from likewise.audit.matching import own_directions
from likewise.audit.plan.compose import compose_plan
from likewise.audit.plan.file import plan_of
from likewise.audit.plan.photo_editor import photo_editor
from likewise.audit.stages import STAGES, read_plan
from likewise.cli.main import cli, main
from likewise.cli.stage_commands import is_paid, stage_help
from likewise.data.describe_spec import BALANCED
from likewise.errors import PlanError


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
    assert "120 images of 40 identities, all found in" in out
    assert "female 60, male 60, neither 0" in out
    plan = read_plan(given[0] / "audit.toml")
    assert plan.covariates == ("perceived_age", "eyeglasses", "smiling", "light", "yaw")
    assert code_of(["run", str(given[0]), "--quiet"]) == 0
    page = (given[0] / "report.html").read_text()
    assert "No system was audited" in page


def test_the_direction_editor_takes_the_latents_of_the_projection(given):
    rated = ("--rater", "classifier:gender", "--editor", "direction")
    assert code_of(init(*given, *rated)) == 0
    plan = read_plan(given[0] / "audit.toml")
    assert plan.counterfactual is not None and plan.project is not None
    assert plan.counterfactual.options == {"generator": "mobilestylegan", "latents": "latents"}
    assert code_of(init(*given, *rated, "--encoder", "perceptual:pixels", "--force")) == 0
    plan = read_plan(given[0] / "audit.toml")
    alone = {"generator": "mobilestylegan", "perceptual": "lpips-alex", "method": "refine"}
    assert plan.counterfactual is not None and plan.counterfactual.options == alone, "nothing is projected by the audit"


def test_the_editor_for_photographs_is_set_up_completely(given, capsys):
    rated = ("--rater", "classifier:gender", "--editor", "auto")
    assert code_of(init(*given, *rated)) == 0
    section = read_plan(given[0] / "audit.toml").counterfactual
    assert section is not None and section.editor == "direction" and len(section.strengths) == 7
    assert section.options == {"generator": "mobilestylegan", "latents": "latents"}
    assert code_of(init(*given, "--rater", "classifier:gender", "--force")) == 0
    assert code_of(["counterfactual", str(given[0]), "--editor", "auto", "--dry-run"]) == 2, "nothing is written"
    assert "editor = direction" in capsys.readouterr().err, "later, into a plan without an editor"


def test_auto_names_no_editor_for_other_attributes():
    tone = photo_editor("skin_tone")
    assert tone["editor"] == "distilled" and tone["attribute"] == "skin_tone"
    with pytest.raises(PlanError, match="No editor of 'uniform' is known"):
        photo_editor("uniform")
    assert "size" not in photo_editor("gender")["options"], "edits of large photographs are to be sharp"


def test_the_commented_parts_of_the_plan_are_right_too(given):
    assert code_of(init(*given)) == 0
    path = given[0] / "audit.toml"
    lines = path.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("# [[rater]]"))
    more = [line.removeprefix("# ") if i >= start else line for i, line in enumerate(lines)]
    path.write_text("\n".join(line for line in more if not line.startswith("labels")))  # they need a classifier
    plan = read_plan(path)
    assert [rater.kind for rater in plan.rater] == ["recognizer"]
    assert plan.collect is not None
    assert plan.counterfactual is not None
    assert plan.executor.workers == 8


def test_a_plan_is_not_overwritten_unasked(given, capsys):
    assert code_of(init(*given)) == 0
    assert code_of(init(*given)) == 3
    assert "add --force" in capsys.readouterr().err
    assert code_of(init(*given, "--force", "--seed", "7")) == 0
    assert read_plan(given[0] / "audit.toml").seed == 7


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--identity", "person"], "Column 'person' not found in"),
        (["--focal", "woman"], "The levels are 'female', 'male'"),
        (["--protected", "gender"], "Did you mean 'perceived_gender'"),
        (["--covariates", "light,yaaw"], "Did you mean 'yaw'"),
        (["--by", "perceived_gendre"], "Did you mean 'perceived_gender'"),
        (["--images", "nowhere"], "Folder of images not found: nowhere"),
        (["--table", "nowhere.csv"], "File not found"),
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
    assert "has no vector of an image of the table" in capsys.readouterr().err


def test_show_tells_what_an_artifact_holds(tmp_path, capsys):
    main(["demo", "--toy", str(tmp_path / "d"), "--identities", "20", "--quiet"])
    capsys.readouterr()
    for name in (
        "images.parquet",
        "latents",
        "matches.parquet",
        "counterfactuals",
        "ratings.parquet",
        "estimates.parquet",
    ):
        assert code_of(["show", str(tmp_path / "d" / name)]) == 0
    shown = capsys.readouterr().out
    assert all(noun in shown for noun in ("Images: 60", "Vectors: 60", "Matches:", "Ratings:", "Estimates:"))
    assert code_of(["show", str(tmp_path / "d" / "audit.toml")]) == 2


def test_a_demo_that_is_there_is_not_drawn_again(tmp_path, capsys):
    arguments = ["demo", "--toy", str(tmp_path / "d"), "--identities", "20"]
    assert code_of(arguments) == code_of(arguments) == 0
    err = capsys.readouterr().err
    assert err.count("a simulated world of 20 identities") == err.count("is up to date") == 1


def test_the_commands_are_the_stages():
    assert stage_help() == {stage.name: stage.help for stage in STAGES}, "the source says what the classes say"
    assert [stage.name for stage in STAGES if is_paid(stage.name)] == ["counterfactual", "rate"]
    assert {stage.name for stage in STAGES} <= set(cli.list_commands(None))


def test_usage_errors_have_the_code_of_wrong_input(capsys):
    assert code_of(["run"]) == 2
    assert code_of(["rum", "x"]) == 2
    assert code_of(["components"]) == 0
    assert "recognizer" in capsys.readouterr().out


def test_json_is_for_machines(tmp_path, capsys):
    assert code_of(["run", str(tmp_path), "--json"]) == 3
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["kind"], error["exit_code"]) == ("StoreError", 3)


def test_a_target_that_is_a_file_is_an_error(given, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert code_of(init(tmp_path / "file", *given[1:])) == 3
    assert "is a file, not a folder" in capsys.readouterr().err


def test_all_images_missing_is_an_error_at_init(given, tmp_path, capsys):
    (tmp_path / "elsewhere").mkdir()
    assert code_of(init(given[0], tmp_path / "elsewhere", given[2])) == 2
    assert "None of the 120 images of the table is in" in capsys.readouterr().err


def test_another_spelling_of_a_level_is_named_with_its_count(given, capsys):
    frame = pd.read_csv(given[2])
    rows = frame.index[frame["perceived_gender"] == "female"]
    frame.loc[rows[0], "perceived_gender"], frame.loc[rows[1], "perceived_gender"] = "FEMALE", "Female "
    frame.to_csv(given[2], index=False)
    assert code_of(init(*given)) == 0
    out = capsys.readouterr().out
    assert "2 cells of 'perceived_gender' are in no group because of their spelling" in out
    assert "'FEMALE' (1, probably 'female')" in out
    assert "neither 2: 'FEMALE' (1), 'Female ' (1)" in out


@pytest.mark.parametrize(
    ("raters", "kind"),
    [
        (["--rater", "recognizer:world"], "trials"),
        (["--rater", "classifier:world"], "images"),
        (["--rater", "classifier:world", "--rater", "recognizer:world"], "trials"),
        ([], "trials"),
    ],
)
def test_what_is_rated_is_matched_and_balanced(given, raters, kind):
    assert code_of(init(*given, *raters)) == 0
    plan = read_plan(given[0] / "audit.toml")
    assert plan.units.kind == kind
    assert plan.units.features == "auto"
    assert plan.match.method == "cardinality"
    assert plan.match.max_smd == 0.1


def test_trials_of_photographs_balance_described_and_named_columns(given):
    assert code_of(init(*given, "--rater", "recognizer:dlib", "--covariates", "eyeglasses")) == 0
    plan = read_plan(given[0] / "audit.toml")
    assert plan.describe is not None and plan.describe.columns == BALANCED
    assert plan.units.described and plan.match.balance == ("eyeglasses",)


@pytest.mark.parametrize("more", [(), ("--generator", "world"), ("--encoder", "perceptual:pixels")])
def test_named_covariates_are_balanced_beside_any_features(given, more):
    assert code_of(init(*given, *more, "--covariates", "eyeglasses")) == 0
    assert read_plan(given[0] / "audit.toml").match.balance == ("eyeglasses",)


def test_a_call_balances_named_covariates_as_the_command_does(given, tmp_path):
    common = {"contrast": ("perceived_gender", "female", "male"), "raters": ["recognizer:world"]}
    named = compose_plan(tmp_path, given[2], given[1], generator="world", covariates=["eyeglasses"], **common)
    assert plan_of(named).match.balance == ("eyeglasses",)
    columns = compose_plan(tmp_path, given[2], given[1], encoder="columns", covariates=["eyeglasses"], **common)
    assert plan_of(columns).match.balance == ()


def test_columns_that_nobody_named_and_columns_that_are_the_features_are_not_balanced_twice(given):
    assert code_of(init(*given, "--generator", "world")) == 0
    assert read_plan(given[0] / "audit.toml").match.balance == ()
    assert '# balance = ["' in (given[0] / "audit.toml").read_text(encoding="utf-8")
    assert code_of(init(*given, "--encoder", "columns", "--covariates", "eyeglasses", "--force")) == 0
    assert read_plan(given[0] / "audit.toml").match.balance == ()


@pytest.mark.parametrize("more", [
    ("--rater", "classifier:gender"), ("--rater", "recognizer:dlib", "--generator", "world"),
    ("--rater", "recognizer:dlib", "--encoder", "perceptual:pixels"),
])  # fmt: skip
def test_nothing_is_described_where_its_own_part_is_not_known(given, more):
    assert code_of(init(*given, *more)) == 0
    plan = read_plan(given[0] / "audit.toml")
    assert plan.describe is None and not plan.units.described


def test_a_call_and_a_command_describe_the_same_columns(given, tmp_path):
    contrast = ("perceived_gender", "female", "male")
    text = compose_plan(tmp_path, given[2], given[1], contrast=contrast, raters=["recognizer:dlib"])
    plan = plan_of(text)
    assert plan.describe is not None and plan.describe.columns == BALANCED and plan.units.described


@pytest.mark.parametrize("column", ["gender", "sex", "perceived_gender", "annotated_sex"])
def test_the_own_direction_is_found_by_what_a_column_is_about(column):
    names = ["predicted_gender", "predicted_age", "predicted_smile"]
    assert own_directions(names, column) == ["predicted_gender"]
    assert own_directions(names, "perceived_race") == []
