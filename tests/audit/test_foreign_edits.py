"""Anybody's edits, checked: an endpoint and ready sets, clean or not, through to the estimates (toy world)."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.stand_ins.edits import editing

import likewise as lw
from likewise.audit.privacy.forget import forget
from likewise.audit.stages import read_plan
from likewise.cli.main import main
from likewise.demo.toy import make_toy
from likewise.runtime.pixels import decode, save
from likewise.runtime.progress import Quiet
from likewise.runtime.registry import to_pictures
from likewise.services.cassette import Cassette
from likewise.simulation.scene import FACTORS, draw, see

AGE = FACTORS.index("age") if "age" in FACTORS else 1
SWEEP = """[counterfactual]
editor = "http"
attribute = "perceived_gender"
strengths = [-1, 0, 1]
mask = "none"

[counterfactual.options]
endpoint = "{url}"
prompts = {{ "-1" = "man", "0" = "neither", "1" = "woman" }}
wait = 0.01

"""
LEVELS = {"man": -1.0, "neither": 0.0, "woman": 1.0}


def clean(prompt: str, picture: np.ndarray) -> np.ndarray:
    factors = see(picture[None])
    if prompt in LEVELS:
        factors[:, 0] = LEVELS[prompt]
    return to_pictures(draw(factors))[0]


def aging(prompt: str, picture: np.ndarray) -> np.ndarray:
    """Women come out older: what the server was not asked for."""
    factors = see(clean(prompt, picture)[None])
    factors[:, AGE] += 1.2 * LEVELS.get(prompt, 0.0)
    return to_pictures(draw(factors))[0]


def repainting(prompt: str, picture: np.ndarray) -> np.ndarray:
    """The corners, which no face reaches, get another color."""
    edited = clean(prompt, picture).copy()
    edited[:6, :6] = (200, 30, 30)
    return edited


def refusing(prompt: str, picture: np.ndarray) -> np.ndarray | None:
    return None if see(picture[None])[0, 0] < 0 and picture.sum() % 3 == 0 else clean(prompt, picture)


def toy(folder: Path) -> str:
    """Write the toy audit with one classifier and no people; return its plan with a gap for the sweep."""
    make_toy(folder, identities=24, confounding=0.5, seed=1, reporter=Quiet())
    text = (folder / "audit.toml").read_text()
    recognizer = text.index("[[rater]]")
    classifier = text.index("[[rater]]", recognizer + 1)
    sweep, validity = text.index("[counterfactual]"), text.index("[validity]")
    people = text.index("[collect]")
    checked = text[validity:people] + 'artifacts = "world-artifacts: artifact"\n'
    plan = text[:recognizer] + text[classifier:sweep] + "{sweep}" + checked
    (folder / "audit.toml").write_text(plan.replace("{sweep}", text[sweep:validity]))
    return plan


def verdict(folder: Path, rule: object) -> tuple[lw.Estimates, str]:
    plan = toy(folder)
    with editing(rule) as server:
        (folder / "audit.toml").write_text(plan.replace("{sweep}", SWEEP.format(url=server.url)))
        main(["run", str(folder), "--quiet"])
    notes = (folder / "validity.parquet.json").read_text() + (folder / "counterfactuals.json").read_text()
    return lw.Estimates.read(folder / "estimates.parquet"), notes


def test_clean_edits_are_kept(tmp_path):
    found, notes = verdict(tmp_path, clean)
    assert len(found.where(stat="slope", sample="counterfactual"))
    assert "are not valid" not in notes


@pytest.mark.parametrize(("rule", "reason"), [(aging, "a held attribute drifts"), (repainting, "artifacts")])
def test_edits_that_change_something_else_leave_no_finding(tmp_path, rule, reason):
    found, notes = verdict(tmp_path, rule)
    assert not len(found.where(sample="counterfactual"))
    assert reason in notes and "female" in notes
    assert "No counterfactual finding" in (tmp_path / "report.html").read_text()


def test_refusals_are_counted_by_group(tmp_path):
    _, notes = verdict(tmp_path, refusing)
    assert "refused by the content filter" in notes and "By group: {'male'" in notes.replace('\\"', "'")


def test_forget_removes_the_recorded_edits_of_the_person_alone(tmp_path):
    plan = toy(tmp_path)
    with editing(clean) as server:
        (tmp_path / "audit.toml").write_text(plan.replace("{sweep}", SWEEP.format(url=server.url)))
        main(["run", str(tmp_path), "--quiet"])
    (cassette,) = tmp_path.glob("cassettes/*.jsonl")
    pictures = cassette.with_suffix("")
    recorded = {entry.request: entry.asked["image"] for entry in Cassette(cassette)}
    faces = lw.Images.read(tmp_path / "faces.csv").frame
    who = faces.set_index("image").loc[next(iter(recorded.values())), "identity"]
    mine = set(faces.loc[faces["identity"] == who, "image"])
    kept = {request for request, image in recorded.items() if image not in mine}
    assert kept and len(kept) < len(recorded)
    (pictures / "0.part").write_bytes(b"left by a killed run")
    forget(tmp_path, str(who))
    assert {entry.request for entry in Cassette(cassette)} == kept
    assert {path.stem for path in pictures.iterdir()} == kept
    assert not any(image in cassette.read_text() for image in mine)


def test_forget_removes_ready_edits_of_the_person_alone(tmp_path):
    folder, edits = tmp_path / "audit", tmp_path / "edits"
    toy(folder)
    ready_set(folder, edits)
    imported(folder, str(edits), "--level", "man=-1", "--level", "neither=0", "--level", "woman=1")
    image = pd.read_csv(folder / "edits.csv")["parent"].iloc[0]
    who = lw.Images.read(folder / "faces.csv").frame.set_index("image").loc[image, "identity"]
    before = len(list(edits.rglob("*.png")))
    forget(folder, str(who))
    left = pd.read_csv(folder / "edits.csv")
    assert len(list(edits.rglob("*.png"))) == len(left) == before - 3
    assert not left["parent"].eq(image).any()


def test_forget_deletes_nothing_outside_of_the_set(tmp_path):
    folder, edits, precious = tmp_path / "audit", tmp_path / "edits", tmp_path / "precious.txt"
    toy(folder)
    ready_set(folder, edits)
    imported(folder, str(edits), "--level", "man=-1", "--level", "neither=0", "--level", "woman=1")
    precious.write_text("not yours")
    manifest = pd.read_csv(folder / "edits.csv")
    manifest.loc[0, "file"] = "../precious.txt"
    manifest.to_csv(folder / "edits.csv", index=False)
    who = lw.Images.read(folder / "faces.csv").frame.set_index("image").loc[manifest["parent"].iloc[0], "identity"]
    forget(folder, str(who))
    assert precious.read_text() == "not yours"


def ready_set(folder: Path, edits: Path, rule: object = clean) -> pd.DataFrame:
    """Write a ready set of edits beside the toy audit."""
    rows = []
    images = lw.Images.read(folder / "faces.csv").frame.drop_duplicates("identity")
    for image in images["image"]:
        picture = decode(next((folder / "images").glob(f"{Path(image).stem}.*")))
        for word in LEVELS:
            name = f"{word}/{Path(image).stem}.png"
            save(edits / name, rule(word, picture))
            rows.append({"source_image": image, "group": word, "path": name})
    return pd.DataFrame(rows)


def imported(folder: Path, *given: str) -> None:
    main(["import-edits", str(folder), *given, "--mask", "none"])


def test_a_ready_set_in_folders_is_imported_and_validated(tmp_path, capsys):
    folder, edits = tmp_path / "audit", tmp_path / "somebodys edits"
    toy(folder)
    ready_set(folder, edits)
    imported(folder, str(edits), "--level", "man=-1", "--level", "neither=0", "--level", "woman=1")
    assert "24 images with edits at the strengths -1, +0, +1" in capsys.readouterr().out
    main(["run", str(folder), "--quiet"])
    found = lw.Estimates.read(folder / "estimates.parquet")
    assert len(found.where(stat="slope", sample="counterfactual"))
    assert read_plan(folder / "audit.toml").counterfactual.editor == "import"


def test_a_ready_set_in_a_table_with_other_columns_and_two_levels(tmp_path, capsys):
    folder, edits = tmp_path / "audit", tmp_path / "edits"
    toy(folder)
    table = ready_set(folder, edits)
    table = table[table["group"] != "neither"].iloc[:-1]  # the last image lacks an edit
    table.to_csv(tmp_path / "list.csv", index=False)
    columns = ["--parent", "source_image", "--strength", "group", "--file", "path"]
    levels = ["--level", "man=-1", "--level", "woman=1"]
    imported(folder, str(edits), "--table", str(tmp_path / "list.csv"), *columns, *levels)
    said = capsys.readouterr().out
    assert "1 images lack an edit" in said and "a slope needs three" in said
    main(["run", str(folder), "--quiet"])
    found = lw.Estimates.read(folder / "estimates.parquet")
    assert len(found.where(stat="gap", sample="counterfactual"))


def test_a_changed_picture_makes_the_edits_stale(tmp_path):
    folder, edits = tmp_path / "audit", tmp_path / "edits"
    toy(folder)
    ready_set(folder, edits)
    levels = ["--level", "man=-1", "--level", "neither=0", "--level", "woman=1"]
    imported(folder, str(edits), *levels)
    main(["run", str(folder), "--quiet"])
    before = (folder / "counterfactuals.json").read_text()
    shutil.rmtree(edits)
    ready_set(folder, edits, aging)
    imported(folder, str(edits), *levels)
    main(["run", str(folder), "--quiet"])
    assert (folder / "counterfactuals.json").read_text() != before
    assert "a held attribute drifts" in (folder / "validity.parquet.json").read_text()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (["--level", "man=x"], "Cannot read the level"),
        (["--layout", "foldrs"], "Did you mean 'folders'"),
        (["--level", "man=-1"], "0 images have edits at all|edits at all of the strengths"),
    ],
)
def test_bad_sets_are_explained(tmp_path, capsys, given, problem):
    import re

    folder, edits = tmp_path / "audit", tmp_path / "edits"
    toy(folder)
    ready_set(folder, edits)
    with pytest.raises(SystemExit):
        imported(folder, str(edits), *given)
    assert re.search(problem, capsys.readouterr().err)


def test_a_set_cannot_lead_out_of_its_folder(tmp_path, capsys):
    folder, edits = tmp_path / "audit", tmp_path / "edits"
    toy(folder)
    table = ready_set(folder, edits)
    table.assign(path="../../secret.png").to_csv(tmp_path / "list.csv", index=False)
    columns = ["--parent", "source_image", "--strength", "group", "--file", "path"]
    levels = ["--level", "man=-1", "--level", "neither=0", "--level", "woman=1"]
    with pytest.raises(SystemExit):
        imported(folder, str(edits), "--table", str(tmp_path / "list.csv"), *columns, *levels)
    assert "outside the image folder" in capsys.readouterr().err
