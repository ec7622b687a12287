"""The sweep in an audit: control edits beside every slope, edit validity, third levels, and options in the plan."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import likewise as lw
from likewise.audit.plan.file import edited
from likewise.audit.stages import read_plan
from likewise.counterfactuals.sweep_spec import SweepSpec, editor_of, even_strengths
from likewise.errors import SpecError
from likewise.runtime.registry import register
from likewise.simulation.components import WorldEditor
from portraits import portrait
from shell import run

RATERS = '[[rater]]\nkind = "classifier"\nname = "world"\n'


class Sloppy(WorldEditor):
    """Edits the attribute, but makes smiling faces stop smiling at -1: a validator should detect that."""

    name = "sloppy"

    def edit(self, pictures, level):
        from likewise.runtime.registry import to_pictures
        from likewise.simulation.scene import draw, see

        factors = see(pictures)
        factors[:, 0] = level
        if level == -1:
            factors[:, 3] = 0
        return to_pictures(draw(factors))


@pytest.fixture
def small(audit) -> Path:
    """An audit of few images whose only rater is the world's classifier."""
    text = (audit / "audit.toml").read_text()
    text = re.sub(r"\[\[rater\]\].*?(?=\[counterfactual\])", RATERS, text, flags=re.DOTALL)
    text, sections = re.subn(r"\[collect\].*?(?=\[estimate\])", "", text, flags=re.DOTALL)
    text, keys = re.subn(r"strengths = .*", "strengths = [-1, 0, 1]\nmost = 20", text, count=1)
    assert sections == keys == 1
    (audit / "audit.toml").write_text(text)
    return audit


def change(audit: Path, old: str, new: str) -> None:
    text = (audit / "audit.toml").read_text()
    assert old in text
    (audit / "audit.toml").write_text(text.replace(old, new))


def notes(audit: Path, artifact: str) -> str:
    return " ".join(json.loads((audit / f"{artifact}.json").read_text())["notes"])


def test_every_sweep_has_control_edits_beside_the_slopes(small, capsys):
    assert run(capsys, "run", small, "--quiet")[0] == 0
    arms = lw.Images.read(small / "counterfactuals" / "placebo.parquet").frame
    assert arms.groupby("source").size().to_dict() == {"original": 20, "random": 60, "reconstruct": 20}
    estimates = lw.Estimates.read(small / "estimates.parquet").frame
    assert set(estimates.loc[estimates["stat"] == "slope_excess", "group"]) == {"random direction"}
    shifts = estimates[estimates["stat"] == "rate_shift"]
    assert set(shifts["sample"]) == {"placebo: reconstruct"}
    assert shifts["estimate"].abs().max() == 0, "the world reconstructs its drawings to the byte"
    page = (small / "report.html").read_text()
    assert "Control edits" in page
    assert "Edit validity" in page


PHOTOGRAPHS = """\
format = 2

[data]
images = "images"
table = "people.csv"

[contrast]
column = "perceived_gender"
focal = "female"
reference = "male"

[counterfactual]
editor = "fader"
strengths = [-1, 0, 1]
"""


def test_photographs_of_all_kinds_are_edited_or_counted(tmp_path, capsys, weights):
    """The command with the shipped network: notes count what could not be edited and what was unusual."""
    weights("retinaface")
    weights("selfie-multiclass")
    (tmp_path / "images").mkdir()
    face = Image.fromarray(portrait()[0])
    sideways = Image.Exif()
    sideways[0x0112] = 6
    face.save(tmp_path / "images" / "plain.png")
    face.convert("L").save(tmp_path / "images" / "gray.png")
    face.rotate(90, expand=True).save(tmp_path / "images" / "turned.jpg", exif=sideways)
    face.convert("RGBA").save(tmp_path / "images" / "alpha.png")
    Image.new("RGB", (300, 200), "gray").save(tmp_path / "images" / "wall.png")
    names = ["plain.png", "gray.png", "turned.jpg", "alpha.png", "wall.png"]
    genders = ["female", "male", "female", "male", "female"]
    table = pd.DataFrame({"image": names, "identity": names, "perceived_gender": genders})
    table.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "audit.toml").write_text(PHOTOGRAPHS)
    for verb in ("read", "trials", "counterfactual"):
        code, _, error = run(capsys, verb, tmp_path, "--quiet")
        assert code == 0, error
    reported = notes(tmp_path, "counterfactuals")
    assert "1 of 5 images are not edited: no face detected." in reported
    assert "grayscale file (1: {'male': 1})" in reported
    assert "rotated upright by EXIF (1: {'female': 1})" in reported
    made = lw.Images.read(tmp_path / "counterfactuals" / "images.parquet")
    assert set(made.frame["parent"]) == set(names) - {"wall.png"}
    assert (tmp_path / "counterfactuals" / "sheet.jpg").is_file()
    licenses = json.loads((tmp_path / "counterfactuals.json").read_text())["licenses"]
    assert {"detector retinaface", "selfie-multiclass"} <= set(licenses)


def test_labels_are_estimated_under_three_designs(small, capsys):
    """The classifier rates the original images too, so that its labels have all three designs."""
    assert run(capsys, "run", small, "--quiet")[0] == 0
    faces, ratings = (
        kind.read(small / f"{name}.parquet") for kind, name in ((lw.Images, "images"), (lw.Ratings, "ratings"))
    )
    assert set(faces.keys) <= set(ratings.frame["unit"])
    estimates = lw.Estimates.read(small / "estimates.parquet").frame
    rows = estimates[estimates["quantity"].str.contains("Share labeled")]
    assert {("all", "gap"), ("matched", "adjusted_gap"), ("counterfactual", "gap")} <= set(
        zip(rows["sample"], rows["stat"], strict=True)
    )
    gaps = rows[rows["stat"].isin(["gap", "adjusted_gap"])]
    assert gaps[["low", "high"]].abs().to_numpy().max() <= 1
    assert (rows["stat"] == "agreement_p").any()
    page = (small / "report.html").read_text()
    labels = rows.loc[rows["stat"] == "gap", "quantity"].nunique()
    assert ("Labels by design" in page) == (labels > 3)


def test_invalid_edits_are_excluded_and_counted(small, capsys):
    register("editor", "sloppy", Sloppy)
    change(small, 'editor = "world"', 'editor = "sloppy"')
    assert run(capsys, "run", small, "--quiet")[0] == 0
    said = lw.Ratings.read(small / "validity.parquet").frame
    verdict = said[said["question"] == "valid"].set_index("unit")["value"]
    made = lw.Images.read(small / "counterfactuals" / "images.parquet").frame
    smiles = made.set_index("image")["smiling"]
    assert (verdict == 1 - smiles.loc[verdict.index]).all(), "edits of smiling faces are not valid, at any strength"
    lost = int(smiles.groupby(made.set_index("image")["parent"]).first().sum())
    assert 0 < lost < 20
    assert f"{lost} of 20 images are not valid" in notes(small, "validity.parquet")
    slopes = lw.Estimates.read(small / "estimates.parquet").where(stat="rate").frame
    assert set(slopes["n"]) == {20 - lost}
    assert "drift" in (small / "report.html").read_text()
    beyond = said[said["question"] == "extrapolation"]["value"]
    assert (beyond == 0).all()


def without_validity(audit: Path, instead: str = "") -> None:
    text = (audit / "audit.toml").read_text()
    text, sections = re.subn(r"\[validity\].*?(?=\n\[)", instead, text, flags=re.DOTALL)
    assert sections == 1
    (audit / "audit.toml").write_text(text)


def test_edits_are_validated_without_validators_in_the_plan(small, capsys):
    """Default validators exclude sloppy edits, and the notes name them."""
    register("editor", "sloppy", Sloppy)
    change(small, 'editor = "world"', 'editor = "sloppy"')
    without_validity(small)
    assert run(capsys, "run", small, "--quiet")[0] == 0
    reported = notes(small, "validity.parquet")
    assert "world-attributes: female" in reported
    assert "world-attributes: smiling" in reported
    assert "person: world" in reported
    said = lw.Ratings.read(small / "validity.parquet").frame
    verdict = said[said["question"] == "valid"].set_index("unit")["value"]
    made = lw.Images.read(small / "counterfactuals" / "images.parquet").frame.set_index("image")
    assert (verdict == 1 - made["smiling"].loc[verdict.index]).all()
    assert "Edit validity" in (small / "report.html").read_text()


def test_without_validation_there_is_no_counterfactual_finding(small, capsys):
    without_validity(small, "[validity]\nenabled = false\n")
    assert run(capsys, "run", small, "--quiet")[0] == 0
    assert not (small / "validity.parquet").exists()
    assert "No counterfactual finding: the plan does not validate edits" in notes(small, "estimates.parquet")


def test_images_of_a_third_level_are_counted_and_not_edited(small, capsys):
    table = pd.read_csv(small / "faces.csv", dtype={"image": str, "identity": str})
    table.loc[table["identity"].isin(["w0000", "w0001"]), "perceived_gender"] = "not sure"
    table.to_csv(small / "faces.csv", index=False)
    for stage in ("read", "counterfactual"):
        assert run(capsys, stage, small, "--quiet")[0] == 0
    assert "6 images are neither female nor male and are not edited: {'not sure': 6}" in notes(small, "counterfactuals")
    made = lw.Images.read(small / "counterfactuals" / "images.parquet").frame
    assert not made["identity"].isin(["w0000", "w0001"]).any()


def test_options_of_the_command_are_written_into_the_plan(small, capsys):
    assert run(capsys, "read", small, "--quiet")[0] == 0
    before = (small / "audit.toml").read_text()
    code, _, err = run(
        capsys, "counterfactual", small, "--attribute", "perceived_gender", "--strengths", "-2:2:7", "--quiet"
    )
    assert code == 0, err
    plan = read_plan(small / "audit.toml")
    assert plan.counterfactual is not None
    assert plan.counterfactual.attribute == "perceived_gender"
    assert plan.counterfactual.strengths == even_strengths("-2:2:7")
    kept = [line for line in before.splitlines() if not line.startswith("strengths")]
    assert [line for line in (small / "audit.toml").read_text().splitlines() if line in kept] == kept
    assert lw.Images.read(small / "counterfactuals" / "images.parquet").frame["level"].nunique() == 7
    code, _, err = run(capsys, "counterfactual", small, "--attribute", "perceived_age", "--quiet")
    assert code == 2
    assert "'perceived_gender'" in err


@pytest.mark.parametrize("wrong", ["7", "-2:2", "0:2:5", "-2:2:2", "-2:2:x", "-1:2:3"])
def test_invalid_strengths_leave_the_plan_unchanged(small, capsys, wrong):
    before = (small / "audit.toml").read_bytes()
    assert run(capsys, "counterfactual", small, f"--strengths={wrong}", "--quiet")[0] == 2
    assert (small / "audit.toml").read_bytes() == before


def test_a_plan_without_the_section_gets_it():
    text = edited('[data]\nimages = "i"\n', "counterfactual", {"editor": "world", "strengths": [-1, 0, 1]})
    assert text == '[data]\nimages = "i"\n\n[counterfactual]\neditor = "world"\nstrengths = [-1, 0, 1]\n'
    again = edited(text + "\n[collect]\ncrowd = 1\n", "counterfactual", {"strengths": [-2, 0, 2], "most": 5})
    assert "strengths = [-2, 0, 2]\nmost = 5\n\n[collect]" in again


def test_even_strengths_are_symmetric_and_hold_the_middle():
    levels = even_strengths("-2:2:7")
    assert len(levels) == 7
    assert levels[3] == 0
    np.testing.assert_allclose(levels, [-level for level in reversed(levels)])
    assert SweepSpec(strengths=levels).strengths == levels


def test_an_editor_of_another_attribute_is_refused():
    with pytest.raises(SpecError, match="edits 'perceived_gender', not 'smiling'"):
        editor_of(SweepSpec(attribute="smiling"))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('target = "world-attributes: female"', 'target = "female"', "classifier: label"),
        ('target = "world-attributes: female"', 'target = "world-attributes: femal"', "Did you mean 'female'"),
        ('recognizer = "world"', 'recognizer = "wrld"', "Did you mean 'world'"),
        ('recognizer = "world"', "options = { other = {} }", "which is not one of its validators"),
    ],
)
def test_an_unknown_validator_is_an_error(small, capsys, old, new, says):
    change(small, old, new)
    for stage in ("read", "counterfactual"):
        code, _, err = run(capsys, stage, small, "--quiet")
    code, _, err = run(capsys, "validate-edits", small, "--quiet") if code == 0 else (code, "", err)
    assert code == 2
    assert says in err
