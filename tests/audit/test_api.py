"""The Python API: an audit as an object, and a whole audit in one call."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import likewise as lw
from likewise.errors import PluginError, StageError, StoreError
from shell import run

CONTRAST = ("perceived_gender", "female", "male")


def brightness(pictures: np.ndarray) -> dict[str, np.ndarray]:
    """A classifier as anybody writes one."""
    return {"bright": pictures.mean(axis=(1, 2, 3)) / 255}


@pytest.fixture(scope="module")
def done(tmp_path_factory, world) -> lw.Audit:
    folder = tmp_path_factory.mktemp("api") / "audit"
    return lw.audit(
        world.faces, world.pictures, out=folder, contrast=CONTRAST, vectors=world.vectors,
        raters=["recognizer:world", ("classifier", brightness)], covariates=["perceived_age", "smiling"],
        progress=False,
    )  # fmt: skip


def test_one_call_leads_to_estimates_and_a_report(done):
    assert done.report().read_text().startswith("<!doctype html>")
    gaps = done.estimates.where(stat="gap", sample="all").frame["quantity"]
    assert any("world-recognizer" in quantity for quantity in gaps)
    assert "brightness" in set(done.ratings.frame["rater"])
    assert len(done.images) == len(done.vectors)
    assert repr(done).endswith("8 of 8 stages up to date>") or "up to date" in repr(done)
    assert done.plan.contrast == lw.Contrast(*CONTRAST)
    assert done.check().ready


def test_the_same_call_resumes_and_another_one_asks(done, world):
    given = {
        "out": done.folder, "contrast": CONTRAST, "vectors": world.vectors,
        "raters": ["recognizer:world", ("classifier", brightness)], "progress": False,
    }  # fmt: skip
    again = lw.audit(world.faces, world.pictures, covariates=["perceived_age", "smiling"], **given)
    assert set(again.stages()["status"]) == {"up to date"}
    with pytest.raises(StoreError, match="overwrite=True"):
        lw.audit(world.faces, world.pictures, covariates=["perceived_age"], **given)


def test_a_table_that_is_not_there_yet_names_the_way(audit):
    opened = lw.Audit(audit)
    with pytest.raises(StageError, match=r"estimates.parquet is not written yet .* audit.run\(\)"):
        opened.estimates  # noqa: B018
    assert "to run: read" in repr(opened)
    opened.run("read", progress=False)
    assert len(opened.images) == 120


@pytest.mark.parametrize(
    ("rater", "says"),
    [
        (brightness, r"Pass \('recognizer', brightness\)"),
        ("recognizer:wrld", "Did you mean 'world'"),
        (("judge", brightness), "Unknown kind of rater 'judge'"),
    ],
)
def test_a_rater_that_is_not_known(world, tmp_path, rater, says):
    with pytest.raises(PluginError, match=says):
        lw.audit(
            world.faces, world.pictures, out=tmp_path, contrast=CONTRAST, vectors=world.vectors, raters=[rater],
            progress=False,
        )  # fmt: skip


def test_a_class_of_a_module_is_a_rater_on_the_command_line(audit, capsys, tmp_path, monkeypatch):
    (tmp_path / "my_models.py").write_text(
        "class Bright:\n    threshold = 0.5\n    def score(self, pictures):\n"
        "        return {'bright': pictures.mean(axis=(1, 2, 3)) / 255}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    text = (audit / "audit.toml").read_text()
    (audit / "audit.toml").write_text(text + '\n[[rater]]\nkind = "classifier"\nname = "my_models:Bright"\n')
    code, out, err = run(capsys, "check", audit)
    assert (code, err) == (0, ""), out
    assert "classifier my_models:Bright: ready" in out


def test_audit_and_report_are_called_and_still_packages():
    code = (
        "import likewise as lw, likewise.audit.folder.store, likewise.report.page; "
        "assert callable(lw.audit) and callable(lw.report); print(lw.audit.folder.store.PLAN)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "audit.toml"


def test_every_stage_is_a_public_function():
    for name in lw.__all__:
        assert getattr(lw, name).__doc__, name


def test_help_and_import_are_light():
    heavy = ("pandas", "torch", "pydantic", "scipy")
    for code in (
        "import likewise",
        "from likewise.cli.main import main\ntry:\n    main(['--help'])\nexcept SystemExit: pass",
    ):
        check = f"\nimport sys; print('loaded:', [name for name in {heavy} if name in sys.modules])"
        shown = subprocess.run([sys.executable, "-c", code + check], capture_output=True, text=True, check=True)
        assert shown.stdout.strip().splitlines()[-1] == "loaded: []"


def test_relative_paths_of_the_call_are_those_of_the_caller(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    world.faces.write("people.csv")
    made = lw.audit(
        "people.csv", out="out", contrast=CONTRAST, covariates=["perceived_age", "smiling"],
        scores={}, progress=False,
    )  # fmt: skip
    monkeypatch.chdir(Path("/"))
    assert len(made.images) == len(world.faces)


def test_a_call_that_names_no_design_matches_what_is_rated(done):
    assert done.plan.units.kind == "trials"
    assert done.plan.match.method == "cardinality"


class WithoutThreshold:
    """A recognizer of the user's own: nothing but ``embed``, and no face in its first picture."""

    def embed(self, pictures):
        found = pictures.mean(axis=(1, 2)).astype(float)
        found[0] = np.nan
        return found


def test_a_recognizer_without_a_threshold_has_error_rates(tmp_path):
    pictures, table = lw.World(identities=40, seed=2).write(tmp_path / "photos")
    audit = lw.audit(
        table, pictures, out=tmp_path / "audit", contrast=("perceived_gender", "female", "male"),
        raters=[WithoutThreshold()], covariates=["perceived_age"], encoder="columns", progress=False,
    )  # fmt: skip
    rates = audit.estimates.where(stat="fnmr").frame["quantity"]
    assert rates.str.contains("at FMR 0.01").any() and not rates.str.contains("nan").any()


class Grader:
    """A classifier whose answers are averaged: it has no threshold."""

    name, license, threshold = "grader", "open", math.nan

    def score(self, pictures):
        return {"grade": pictures.mean(axis=(1, 2, 3)) / 255}


def test_a_classifier_without_a_threshold_is_compared_by_its_mean(tmp_path):
    """Detectors and grades of language models have none, and were left out of the report without a word."""
    pictures, table = lw.World(identities=40, seed=2).write(tmp_path / "photos")
    audit = lw.audit(
        table, pictures, out=tmp_path / "audit", contrast=CONTRAST, groups={"by": ["smiling"]},
        raters=[("classifier", Grader())], covariates=["perceived_age"], encoder="columns", progress=False,
    )  # fmt: skip
    gap = audit.estimates.where(stat="gap", sample="all", quantity="grader: Mean of grade").frame
    assert len(gap) == 1
    assert audit.estimates.frame["stat"].eq("group_mean").any()
    page = audit.report().read_text()
    assert "Mean of grade" in page.partition('id="findings"')[0], "the first section names it"
