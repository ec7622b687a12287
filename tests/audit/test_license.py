"""init --license commercial: research-only parts are refused, and the message says which designs remain."""

from __future__ import annotations

from pathlib import Path

import pytest

import likewise as lw
from likewise.audit.preflight.check import check_audit
from likewise.audit.stages import read_plan
from likewise.cli.main import main


@pytest.fixture
def data(tmp_path):
    lw.World(identities=8).write(tmp_path / "data")
    return tmp_path / "data"


def init(data: Path, *more: str) -> Path:
    folder = data.parent / "audit"
    contrast = ["--protected", "perceived_gender", "--focal", "female", "--reference", "male"]
    given = ["--images", str(data / "images"), "--table", str(data / "faces.csv"), *contrast]
    main(["init", str(folder), *given, "--license", "commercial", "--no-times", *more])
    return folder


def test_the_default_space_is_one_that_firms_may_use(data):
    folder = init(data, "--rater", "recognizer:dlib", "--rater", "yunet-detector")
    plan = read_plan(folder / "audit.toml")
    assert (plan.license, plan.encode.name) == ("commercial", "sface")
    assert not [problem for problem in check_audit(folder).problems if "research only" in str(problem)]


@pytest.mark.parametrize(
    ("more", "part"),
    [
        (["--generator", "mobilestylegan"], "generator mobilestylegan"),
        (["--rater", "emotion", "--editor", "direction"], "editor direction"),
    ],
)
def test_parts_for_research_only_are_refused_and_nothing_is_written(data, capsys, more, part):
    with pytest.raises(SystemExit):
        init(data, *more)
    said = capsys.readouterr().err
    assert part in said and "StyleGAN2-FFHQ" in said
    assert "--encoder sface" in said and "import-edits" in said
    assert not (data.parent / "audit" / "audit.toml").exists()


def test_a_part_that_is_added_later_stops_the_run(data, capsys):
    folder = init(data)
    text = (folder / "audit.toml").read_text()
    (folder / "audit.toml").write_text(text + '\n[counterfactual]\neditor = "fader"\n')
    with pytest.raises(SystemExit):
        main(["run", str(folder), "--quiet"])
    said = capsys.readouterr().err
    assert "editor fader is for research only" in said and "likewise import-edits" in said


def test_without_the_option_nothing_is_refused(data):
    folder = init(data, "--license", "any", "--generator", "mobilestylegan")
    assert read_plan(folder / "audit.toml").license == "any"


def test_the_space_is_not_that_of_the_system_under_audit(data):
    assert read_plan(init(data, "--rater", "recognizer:sface") / "audit.toml").encode.name == "dlib"
