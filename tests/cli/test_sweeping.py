"""The sweep in an audit: arms beside every slope, certificates, third levels, and options that stand in the plan."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import likewise as lw
from likewise.cli.plan import read_plan
from likewise.cli.sweep_plan import revised
from likewise.errors import SpecError
from likewise.make.sweep_spec import SweepSpec, editor_of, even_levels
from likewise.plugins import register
from likewise.world.occupants import WorldEditor
from portraits import portrait
from shell import run

RATERS = '[[rater]]\nslot = "classifier"\nname = "world"\n'


class Sloppy(WorldEditor):
    """Turns the attribute, but lets faces that smile stop smiling at -1: a judge should see that."""

    name = "sloppy"

    def edit(self, pictures, level):
        from likewise.plugins import to_pictures
        from likewise.world.scene import draw, see

        factors = see(pictures)
        factors[:, 0] = level
        if level == -1:
            factors[:, 3] = 0
        return to_pictures(draw(factors))


@pytest.fixture
def small(audit) -> Path:
    """An audit whose only rater is the world's tagger, over few faces."""
    text = (audit / "audit.toml").read_text()
    text = re.sub(r"\[\[rater\]\].*?(?=\[counterfactual\])", RATERS, text, flags=re.DOTALL)
    text = re.sub(r"\[ask\].*?(?=\[analyse\])", "", text, flags=re.DOTALL)
    text = re.sub(r"levels = .*", "levels = [-1, 0, 1]\nmost = 20", text, count=1)
    (audit / "audit.toml").write_text(text)
    return audit


def change(audit: Path, old: str, new: str) -> None:
    text = (audit / "audit.toml").read_text()
    assert old in text
    (audit / "audit.toml").write_text(text.replace(old, new))


def notes(audit: Path, artefact: str) -> str:
    return " ".join(json.loads((audit / f"{artefact}.json").read_text())["notes"])


def test_every_sweep_has_placebo_arms_and_they_stand_beside_the_slopes(small, capsys):
    assert run(capsys, "run", small, "--quiet")[0] == 0
    arms = lw.Faces.read(small / "counterfactuals" / "placebo.parquet").frame
    assert arms.groupby("source").size().to_dict() == {"original": 20, "random": 60, "reconstruct": 20}
    estimates = lw.Estimates.read(small / "estimates.parquet").frame
    assert set(estimates.loc[estimates["stat"] == "slope_excess", "group"]) == {"random direction"}
    shifts = estimates[estimates["stat"] == "rate_shift"]
    assert set(shifts["sample"]) == {"placebo: reconstruct"}
    assert shifts["estimate"].abs().max() == 0, "the world's drawings are drawn again to the byte"
    page = (small / "report.html").read_text()
    assert "What editing does without turning anything" in page
    assert "Which edits were certified" in page


PHOTOGRAPHS = """\
format = 1

[faces]
images = "images"
table = "people.csv"

[contrast]
column = "perceived_gender"
focal = "female"
reference = "male"

[counterfactual]
editor = "fader"
levels = [-1, 0, 1]
"""


def test_photographs_of_all_kinds_are_edited_or_counted(tmp_path, capsys, weights):
    """The whole verb with the shipped network: what could not be edited and what was unusual is said and kept."""
    weights("retinaface")
    weights("selfie-multiclass")
    (tmp_path / "images").mkdir()
    face = Image.fromarray(portrait()[0])
    sideways = Image.Exif()
    sideways[0x0112] = 6
    face.save(tmp_path / "images" / "plain.png")
    face.convert("L").save(tmp_path / "images" / "grey.png")
    face.rotate(90, expand=True).save(tmp_path / "images" / "turned.jpg", exif=sideways)
    face.convert("RGBA").save(tmp_path / "images" / "alpha.png")
    Image.new("RGB", (300, 200), "grey").save(tmp_path / "images" / "wall.png")
    names = ["plain.png", "grey.png", "turned.jpg", "alpha.png", "wall.png"]
    genders = ["female", "male", "female", "male", "female"]
    table = pd.DataFrame({"image": names, "identity": names, "perceived_gender": genders})
    table.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "audit.toml").write_text(PHOTOGRAPHS)
    for verb in ("read", "trials", "counterfactual"):
        code, _, error = run(capsys, verb, tmp_path, "--quiet")
        assert code == 0, error
    told = notes(tmp_path, "counterfactuals")
    assert "1 of 5 images are not edited: no face found." in told
    assert "greyscale" in told and "turned upright by EXIF (1)" in told
    made = lw.Faces.read(tmp_path / "counterfactuals" / "faces.parquet")
    assert set(made.frame["parent"]) == set(names) - {"wall.png"}
    assert (tmp_path / "counterfactuals" / "sheet.jpg").is_file()
    licences = json.loads((tmp_path / "counterfactuals.json").read_text())["licences"]
    assert {"finder retinaface", "selfie-multiclass"} <= set(licences)


def test_labels_are_asked_three_ways(small, capsys):
    """The tagger looks at the images as they are, too, so that its labels have all three legs."""
    assert run(capsys, "run", small, "--quiet")[0] == 0
    faces, ratings = (
        kind.read(small / f"{name}.parquet") for kind, name in ((lw.Faces, "faces"), (lw.Ratings, "ratings"))
    )
    assert set(faces.images) <= set(ratings.frame["unit"])
    estimates = lw.Estimates.read(small / "estimates.parquet").frame
    rows = estimates[estimates["quantity"].str.contains("Share labelled")]
    assert {("all", "gap"), ("matched", "adjusted_gap"), ("counterfactual", "gap")} <= set(
        zip(rows["sample"], rows["stat"], strict=True)
    )
    gaps = rows[rows["stat"].isin(["gap", "adjusted_gap"])]
    assert gaps[["low", "high"]].abs().to_numpy().max() <= 1
    assert (rows["stat"] == "agreement_p").any()
    page = (small / "report.html").read_text()
    labels = rows.loc[rows["stat"] == "gap", "quantity"].nunique()
    assert ("Labels, three ways" in page) == (labels > 3)


def test_uncertified_faces_are_kept_out_and_counted(small, capsys):
    register("editor", "sloppy", Sloppy)
    change(small, 'editor = "world"', 'editor = "sloppy"')
    assert run(capsys, "run", small, "--quiet")[0] == 0
    said = lw.Ratings.read(small / "certificates.parquet").frame
    verdict = said[said["question"] == "certified"].set_index("unit")["value"]
    made = lw.Faces.read(small / "counterfactuals" / "faces.parquet").frame
    smiles = made.set_index("image")["smiling"]
    assert (verdict == 1 - smiles.loc[verdict.index]).all(), "who smiled is not certified, at any level"
    lost = int(smiles.groupby(made.set_index("image")["parent"]).first().sum())
    assert 0 < lost < 20
    assert f"{lost} of 20 faces are not certified" in notes(small, "certificates.parquet")
    slopes = lw.Estimates.read(small / "estimates.parquet").where(stat="rate").frame
    assert set(slopes["n"]) == {20 - lost}
    assert "drift" in (small / "report.html").read_text()
    beyond = said[said["question"] == "extrapolation"]["value"]
    assert (beyond == 0).all()


def without_certificate(audit: Path, instead: str = "") -> None:
    text = (audit / "audit.toml").read_text()
    (audit / "audit.toml").write_text(re.sub(r"\[certificate\].*?(?=\n\[)", instead, text, flags=re.DOTALL))


def test_edits_are_judged_also_where_the_plan_names_nobody(small, capsys):
    """Sloppy edits are kept out by judges that nobody named, and the report says who they are."""
    register("editor", "sloppy", Sloppy)
    change(small, 'editor = "world"', 'editor = "sloppy"')
    without_certificate(small)
    assert run(capsys, "run", small, "--quiet")[0] == 0
    told = notes(small, "certificates.parquet")
    assert "world-attributes: female" in told
    assert "world-attributes: smiling" in told
    assert "the person: world" in told.lower()
    said = lw.Ratings.read(small / "certificates.parquet").frame
    verdict = said[said["question"] == "certified"].set_index("unit")["value"]
    made = lw.Faces.read(small / "counterfactuals" / "faces.parquet").frame.set_index("image")
    assert (verdict == 1 - made["smiling"].loc[verdict.index]).all()
    assert "Which edits were certified" in (small / "report.html").read_text()


def test_that_nobody_judges_has_to_be_said(small, capsys):
    without_certificate(small, "[certificate]\njudge = false\n")
    assert run(capsys, "run", small, "--quiet")[0] == 0
    assert not (small / "certificates.parquet").exists()
    assert "Nobody judged the edits, because the plan says so" in notes(small, "estimates.parquet")


def test_a_third_level_is_not_turned_and_counted(small, capsys):
    table = pd.read_csv(small / "faces.csv", dtype={"image": str, "identity": str})
    table.loc[table["identity"].isin(["w0000", "w0001"]), "perceived_gender"] = "not sure"
    table.to_csv(small / "faces.csv", index=False)
    for stage in ("read", "counterfactual"):
        assert run(capsys, stage, small, "--quiet")[0] == 0
    assert "6 images are neither female nor male and are not turned: {'not sure': 6}" in notes(small, "counterfactuals")
    made = lw.Faces.read(small / "counterfactuals" / "faces.parquet").frame
    assert not made["identity"].isin(["w0000", "w0001"]).any()


def test_options_of_the_verb_are_written_into_the_plan(small, capsys):
    assert run(capsys, "read", small, "--quiet")[0] == 0
    before = (small / "audit.toml").read_text()
    code, _, err = run(
        capsys, "counterfactual", small, "--attribute", "perceived_gender", "--levels", "-2:2:7", "--quiet"
    )
    assert code == 0, err
    plan = read_plan(small / "audit.toml")
    assert plan.counterfactual is not None
    assert plan.counterfactual.attribute == "perceived_gender"
    assert plan.counterfactual.levels == even_levels("-2:2:7")
    kept = [line for line in before.splitlines() if not line.startswith("levels")]
    assert [line for line in (small / "audit.toml").read_text().splitlines() if line in kept] == kept
    assert lw.Faces.read(small / "counterfactuals" / "faces.parquet").frame["level"].nunique() == 7
    code, _, err = run(capsys, "counterfactual", small, "--attribute", "perceived_age", "--quiet")
    assert code == 2
    assert "'perceived_gender'" in err


@pytest.mark.parametrize("wrong", ["7", "-2:2", "0:2:5", "-2:2:2", "-2:2:x", "-1:2:3"])
def test_levels_that_mean_nothing_change_nothing(small, capsys, wrong):
    before = (small / "audit.toml").read_bytes()
    assert run(capsys, "counterfactual", small, f"--levels={wrong}", "--quiet")[0] == 2
    assert (small / "audit.toml").read_bytes() == before


def test_a_plan_without_the_section_gets_it():
    text = revised('[faces]\nimages = "i"\n', "counterfactual", {"editor": '"world"', "levels": "[-1, 0, 1]"})
    assert text == '[faces]\nimages = "i"\n\n[counterfactual]\neditor = "world"\nlevels = [-1, 0, 1]\n'
    again = revised(text + "\n[ask]\ncrowd = 1\n", "counterfactual", {"levels": "[-2, 0, 2]", "most": "5"})
    assert "levels = [-2, 0, 2]\nmost = 5\n\n[ask]" in again


def test_even_levels_are_symmetric_and_hold_the_middle():
    levels = even_levels("-2:2:7")
    assert len(levels) == 7
    assert levels[3] == 0
    np.testing.assert_allclose(levels, [-level for level in reversed(levels)])
    assert SweepSpec(levels=levels).levels == levels


def test_an_editor_that_turns_something_else_is_refused():
    with pytest.raises(SpecError, match="turns 'smiling'"):
        editor_of(SweepSpec(attribute="smiling"))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('target = "world-attributes: female"', 'target = "female"', "classifier: label"),
        ('target = "world-attributes: female"', 'target = "world-attributes: femal"', "Did you mean 'female'"),
        ('recogniser = "world"', 'recogniser = "wrld"', "Did you mean 'world'"),
        ('recogniser = "world"', "options = { other = {} }", "judge of the certificate"),
    ],
)
def test_a_judge_that_is_not_there_is_an_error(small, capsys, old, new, says):
    change(small, old, new)
    for stage in ("read", "counterfactual"):
        code, _, err = run(capsys, stage, small, "--quiet")
    code, _, err = run(capsys, "certify", small, "--quiet") if code == 0 else (code, "", err)
    assert code == 2
    assert says in err
