"""likewise scores: from a stranger's file to the report."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.cli.main import main

NAMES = {"image": "img", "identity": "who", "perceived_gender": "perceived_sex"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table and score files with column names of their own."""
    folder = tmp_path_factory.mktemp("files")
    images, _ = lw.World(identities=80, seed=4).draw()
    table = images.frame[["image", "identity", "perceived_gender", "perceived_age", "eyeglasses"]].rename(columns=NAMES)
    table["perceived_sex"] = table["perceived_sex"].map({"female": "F", "male": "M"})
    table.assign(eyeglasses=np.where(table["eyeglasses"] > 0, "yes", "no")).to_csv(folder / "people.csv", index=False)
    pairs = lw.trials(images, seed=0, genuine="all", impostors=8).frame
    rng = np.random.default_rng(1)
    frame = pairs[["a", "b"]].set_axis(["left", "right"], axis=1)
    frame["score"] = (np.where(pairs["same"], 70, 30) + rng.normal(0, 9, len(pairs))).round(2)
    frame.to_csv(folder / "scores.csv", index=False)
    other = frame.assign(score=1 - frame["score"] / 100).rename(columns={"score": "far"})
    other.to_csv(folder / "far.csv", index=False)
    both = [frame.assign(system="old"), frame.assign(system="new", score=frame["score"] + 1)]
    pd.concat(both).to_csv(folder / "long.csv", index=False)
    return folder


def code_of(*arguments: object) -> int:
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_the_command_of_the_documents_writes_a_report(files, tmp_path, capsys):
    table = ["--table", files / "people.csv", "--image-column", "img", "--identity", "who"]
    contrast = ["--protected", "perceived_sex", "--focal", "F", "--reference", "M", "--threshold", "50"]
    arguments = ["scores", files / "scores.csv", "--columns", "left,right,score", *table, *contrast]
    more = ["--by", "perceived_sex", "--by", "eyeglasses", "--no-cache"]
    assert code_of(*arguments, *more, "--out", tmp_path / "audit") == 0
    out = capsys.readouterr().out
    assert "similarities (median" in out
    audit = lw.Audit(tmp_path / "audit")
    assert audit.plan.groups.by == ("perceived_sex", "eyeglasses")
    page = (tmp_path / "audit" / "report.html").read_text()
    assert "Groups and intersections" in page and "scores (similarity) in scores.csv" in page
    assert "Edit validity:" not in page and "This audit has no images" in page
    assert audit.plan.matches_trials
    assert audit.matches.spec.method == "cardinality"
    assert (audit.stages()["status"] == "up to date").all()
    smd = audit.balance.where(stat="smd", sample="matched").frame
    assert smd["estimate"].abs().max() <= 0.1 + 1e-9
    distance = audit.ratings.frame["value"]
    assert distance.between(-0.5, 1.2).all()
    assert audit.plan.precomputed[0].rating_threshold == pytest.approx(0.5)
    assert code_of(*arguments, *more, "--out", tmp_path / "audit", "--json") == 0  # the same command resumes
    assert {each["status"] for each in json.loads(capsys.readouterr().out)["stages"]} == {"up to date"}


def test_everything_obvious_is_recognized_for_several_systems(files, tmp_path, capsys):
    arguments = ["scores", files / "scores.csv", f"far={files / 'far.csv'}", "--table", files / "people.csv"]
    assert code_of(*arguments, "--out", tmp_path / "audit", "--quiet") == 0
    audit = lw.Audit(tmp_path / "audit")
    assert {entry.rater: entry.measure for entry in audit.plan.precomputed} == {
        "scores": "similarity", "far": "distance"
    }  # fmt: skip
    values = audit.ratings.frame.pivot(index="unit", columns="rater", values="value")
    assert np.allclose(values["scores"], values["far"])  # both are the same distances
    fnmr = audit.estimates.where(stat="fnmr", sample="matched").frame
    assert len(fnmr) > 0


def test_a_column_of_systems(files, tmp_path):
    assert code_of("scores", files / "long.csv", "--table", files / "people.csv", "--out", tmp_path / "a",
                   "--dry-run", "--quiet") == 0  # fmt: skip
    assert not (tmp_path / "a").exists()
    audit = lw.scores(files / "long.csv", files / "people.csv", out=tmp_path / "b", progress=False)
    assert [(each.rater, each.where) for each in audit.plan.precomputed] == [
        ("old", {"system": "old"}), ("new", {"system": "new"})
    ]  # fmt: skip
    values = audit.ratings.frame.pivot(index="unit", columns="rater", values="value")
    assert np.allclose(values["old"] - values["new"], 0.01)


@pytest.mark.parametrize(("more", "message"), [
    (["--measure", "distance"], 'Set measure = "similarity"'),
    (["--focal", "F"], "Give both"),
    (["--threshold", "x=3"], "Systems: 'scores'"),
    (["--threshold", "high"], "not a number"),
    (["--identity", "img"], "no pair is of one identity"),
    (["--columns", "left,right,nothing"], "nothing"),
])  # fmt: skip
def test_bad_input_is_an_error_before_any_work(files, tmp_path, capsys, more, message):
    given = ["scores", files / "scores.csv", "--table", files / "people.csv", "--out", tmp_path / "audit"]
    assert code_of(*given, *more) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "audit").exists()


def test_a_table_without_covariates_is_an_error(files, tmp_path, capsys):
    table = pd.read_csv(files / "people.csv")[["img", "who", "perceived_sex"]]
    table.to_csv(tmp_path / "bare.csv", index=False)
    given = ["scores", files / "scores.csv", "--table", tmp_path / "bare.csv", "--out", tmp_path / "audit"]
    assert code_of(*given) == 2
    assert "no covariates to match on" in capsys.readouterr().err


def test_check_finds_a_measure_that_pairs_contradict(files, tmp_path, capsys):
    lw.scores(files / "scores.csv", files / "people.csv", out=tmp_path / "audit", progress=False)
    plan = tmp_path / "audit" / "audit.toml"
    kept = [line for line in plan.read_text().splitlines() if not line.startswith(("measure", "scale"))]
    plan.write_text("\n".join(kept) + "\n")
    assert code_of("check", tmp_path / "audit") == 2
    assert "have larger distances than impostor pairs" in capsys.readouterr().out
