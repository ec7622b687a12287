"""likewise init: the plan that it writes runs as it is, for every method; and it asks when nothing is given."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.audit.plan.file import plan_of
from likewise.audit.plan.request import AuditRequest
from likewise.audit.plan.scaffold import plan_text
from likewise.audit.preflight.preset_times import in_words, lines_of, preset_times
from likewise.cli.main import main
from likewise.runtime.registry import register
from likewise.simulation.components import WorldGenerator

CONTRAST = {"protected": "perceived_gender", "focal": "female", "reference": "male"}


class OwnGenerator(WorldGenerator):
    """Someone's own generator: no frame, no gradients."""

    name = "own-generator"


register("generator", "own-generator", OwnGenerator)


def code_of(*arguments: object) -> int:
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def request(audit, **more) -> AuditRequest:
    return AuditRequest(images=audit / "images", table=audit / "faces.csv", **CONTRAST, **more)


SPACES = [{"generator": name} for name in ("", "mobilestylegan", "stylegan2", "own-generator", "world")]
SPACES += [{"encoder": name} for name in ("columns", "pixels", "recognizer:world")]
EDITED = [{}, *({"rater": ("classifier:world",), "editor": name} for name in ("world", "direction"))]


@pytest.mark.parametrize(
    ("space", "preset", "edited"), list(itertools.product(SPACES, ("quick", "standard", "thorough"), EDITED))
)
def test_every_plan_is_valid(audit, space, preset, edited):
    plan = plan_of(plan_text(None, request(audit, preset=preset, **space, **edited))[0])
    own = space.get("generator") in ("own-generator", "world")
    assert (plan.align is not None) == (plan.projects and not own)  # a generator without a frame needs no alignment
    quick = plan.projects and preset == "quick" and space["generator"] in ("", "mobilestylegan")
    edits = edited.get("editor") == "direction"  # edits of what the encoder alone finds are of another person
    assert (plan.project.method == "encoder") == (quick and not edits)
    assert len(plan.variant) == (3 if preset == "thorough" else 0)
    if edited.get("editor") == "direction" and plan.projects:
        assert plan.counterfactual.options["latents"] == "latents"  # nothing is projected a second time
        assert plan.counterfactual.options["generator"] == plan.project.generator


@pytest.mark.parametrize("more", [
    ["--generator", "own-generator"],
    ["--generator", "world", "--preset", "thorough", "--rater", "recognizer:world"],
    ["--encoder", "columns", "--rater", "classifier:world", "--editor", "world"],
], ids=["own", "thorough", "editor"])  # fmt: skip
def test_the_plan_runs_as_it_is(audit, tmp_path, more, capsys):
    given = [f"--{name}={value}" for name, value in CONTRAST.items()]
    data = ["--images", audit / "images", "--table", audit / "faces.csv"]
    assert code_of("init", tmp_path / "mine", *data, *given, *more, "--no-times") == 0
    assert code_of("check", tmp_path / "mine") == 0, capsys.readouterr().out
    assert code_of("run", tmp_path / "mine", "--quiet") == 0, capsys.readouterr().err
    assert (tmp_path / "mine" / "report.html").is_file()


def test_the_times_of_presets_are_measured(audit):
    found = preset_times(request(audit, generator="world", rater=("recognizer:world",)))
    assert [each.preset for each in found] == ["quick", "standard", "thorough"]
    assert all(each.seconds > 0 and not each.unknown for each in found)
    assert {"project (auto)", "rate (world)"} < set(found[0].parts)
    assert any(line.strip().startswith("> quick") for line in lines_of(found, "quick"))


def test_what_cannot_be_measured_is_said(audit, monkeypatch, tmp_path):
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path))
    found = preset_times(request(audit, generator="mobilestylegan"))
    assert any("mobilestylegan" in line for line in found[1].unknown)
    assert any("not measured" in line for line in lines_of(found, "standard"))


def test_durations_in_words():
    assert [in_words(seconds) for seconds in (5, 89, 91, 5400)] == ["5 s", "89 s", "2 min", "1.5 h"]


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """A folder with a table and a score file, with other column names."""
    monkeypatch.chdir(tmp_path)
    images, _ = lw.World(identities=40, seed=4).draw()
    table = images.frame[["image", "identity", "perceived_gender", "perceived_age"]]
    table.columns = ["img", "who", "perceived_sex", "perceived_age"]
    table.to_csv("people.csv", index=False)
    pairs = lw.trials(images, seed=0, impostors=6).frame
    score = np.where(pairs["same"], 0.8, 0.3) + np.random.default_rng(0).normal(0, 0.1, len(pairs))
    pairs[["a", "b"]].assign(score=score).to_csv("scores.csv", index=False)
    lw.Vectors(images.keys, np.random.default_rng(1).normal(size=(len(images), 4)), source="x").write("e.npz")
    labels = pd.DataFrame({"image": images.keys, "label": "Smile", "confidence": 0.7})
    labels.to_csv("labels.csv", index=False)
    return tmp_path


ANSWERS = {
    "scores": ["audit", "nowhere.csv", "people.csv", "", "", "", "", "", "scores", "My audit", "scores.csv"],
    "embeddings": ["audit", "people.csv", "", "", "", "", "", "embeddings", "", "", "arc", "e.npz"],
    "labels": ["audit", "people.csv", "", "", "", "", "", "labels", "", "", "api", "labels.csv"],
}


@pytest.mark.parametrize("have", ANSWERS)
def test_without_options_it_asks(stranger, have, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(ANSWERS[have]) + "\n"))
    assert code_of("init") == 0, capsys.readouterr().err
    plan = lw.Audit("audit").plan
    assert (plan.data.image, plan.data.identity) == ("img", "who")
    assert (plan.contrast.column, plan.contrast.focal) == ("perceived_sex", "female")
    assert plan.precomputed[0].kind == have
    assert code_of("check", "audit") == 0, capsys.readouterr().out


def test_it_asks_for_the_columns_of_a_score_file_where_they_are_not_obvious(stranger, monkeypatch, capsys):
    """Two systems in one file: the answers so far were lost in an error that named an option of another command."""
    pd.read_csv("scores.csv").assign(second=lambda frame: frame["score"] + 0.01).rename(
        columns={"score": "first"}
    ).to_csv("scores.csv", index=False)
    answers = [*ANSWERS["scores"], "a,b", "a,b,third", "a, b, first, second"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(answers) + "\n"))
    assert code_of("init") == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    assert "columns of scores.csv: a, b, first, second" in said
    assert "three or more columns are needed" in said and "not a column: third" in said
    assert [entry.rater for entry in lw.Audit("audit").plan.precomputed] == ["first", "second"]


def test_options_that_are_missing_are_named(stranger, capsys):
    assert code_of("init", "audit", "--table", "people.csv", "--protected", "perceived_sex") == 2
    assert "--focal and --reference missing" in capsys.readouterr().err


def test_a_misspelt_rater_is_an_error_at_init(audit, tmp_path, capsys):
    given = [f"--{name}={value}" for name, value in CONTRAST.items()]
    data = ["--images", audit / "images", "--table", audit / "faces.csv"]
    assert code_of("init", tmp_path / "mine", *data, *given, "--rater", "recognizer:dlibb", "--no-times") == 2
    assert "Unknown recognizer 'dlibb'. Did you mean 'dlib'?" in capsys.readouterr().err


def test_a_misspelt_column_names_the_table(audit, tmp_path, capsys):
    given = [f"--{name}={value}" for name, value in {**CONTRAST, "protected": "gender"}.items()]
    data = ["--images", audit / "images", "--table", audit / "faces.csv"]
    assert code_of("init", tmp_path / "mine", *data, *given, "--no-times") == 2
    said = capsys.readouterr().err
    assert "Column 'gender' not found in" in said and "Did you mean 'perceived_gender'?" in said


def test_a_preset_that_cannot_be_measured_has_a_least_time(audit, monkeypatch, tmp_path):
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path))
    lines = lines_of(preset_times(request(audit, generator="mobilestylegan")), "standard")
    assert all("at least" in line for line in lines if line.strip(" >").startswith(("standard", "thorough")))
