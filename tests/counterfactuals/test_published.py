"""Layouts of published sets of counterfactual images, with made-up files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from likewise.counterfactuals.foreign.manifest import EditSet
from likewise.counterfactuals.foreign.published import published_edits, published_images
from likewise.errors import ImageError, SpecError, TableError
from likewise.runtime.config import read_toml
from likewise.runtime.pixels import save
from shell import run


def paint(path, value: int) -> None:
    save(path, np.full((24, 24, 3), value % 255, np.uint8))


@pytest.fixture
def pairs(tmp_path):
    folder = tmp_path / "PAIRS"
    for place, scene in enumerate(("occupations/taxi", "occupations/bank", "status/park", "potential_crime/courtroom")):
        for group in ("black_man", "black_woman", "white_man", "white_woman"):
            paint(folder / scene / f"{group}.png", 40 * place + len(group))
    (folder / "README.md").write_text("about")
    return folder


@pytest.fixture
def faces(tmp_path):
    folder = tmp_path / "causalface"
    for seed in (47180, 57460, 9):
        for race in ("asian", "black", "white"):
            for gender in ("female", "male"):
                for value in ("0.8", "2.0", "3.2"):
                    paint(folder / "final_picked_age" / f"seed_{seed}" / f"{race}_{gender}_age_{value}_o2.png", seed)
                for value in ("-3.0", "0.0", "3.0"):
                    paint(folder / "final_picked_pose" / f"seed_{seed}" / f"{race}_{gender}_y_{value}.png", seed)
    return folder


@pytest.fixture
def social(tmp_path):
    folder, rows = tmp_path / "social", []
    for scene in ("doctor_1", "cook_2", "clerk_3"):
        for race in ("Black", "White", "Asian"):
            for gender in ("male", "female"):
                name = f"{scene}_{race}_{gender}.jpg"
                paint(folder / name, len(name))
                rows.append((scene, "race", race, "gender", gender, f"images/{name}"))
    columns = ["counterfactual_set", "a1_type", "a1", "a2_type", "a2", "file_name"]
    pd.DataFrame(rows, columns=columns).to_csv(tmp_path / "metadata.csv", index=False)
    return folder


def test_pairs_by_gender_hold_race_and_scene(pairs):
    images = published_images("pairs", pairs)
    assert len(images) == 16
    edits = published_edits(images, "gender", {})
    assert edits["parent"].nunique() == 8  # four scenes of two races
    by = edits.merge(images, left_on="file", right_on="image")
    for _, part in by.groupby("parent"):
        assert sorted(part["strength"]) == [-1.0, 1.0]
        assert part["prompted_race"].nunique() == part["identity"].nunique() == 1
        assert part.set_index("strength")["prompted_gender"].to_dict() == {-1.0: "man", 1.0: "woman"}
    of_parents = images.set_index("image").loc[edits["parent"].unique(), "prompted_gender"].value_counts()
    assert of_parents.to_dict() == {"man": 4, "woman": 4}  # both groups have originals


def test_pairs_by_race(pairs):
    edits = published_edits(published_images("pairs", pairs), "race", {})
    assert edits.groupby("parent")["strength"].apply(sorted).tolist() == [[-1.0, 1.0]] * 8


def test_causalface_by_gender_race_and_age(faces):
    images = published_images("causalface", faces)
    assert len(images) == 3 * 6 * 6
    assert images["identity"].nunique() == 3
    assert published_edits(images, "gender", {})["parent"].nunique() == 3 * 3 * 6
    assert published_edits(images, "race", {})["parent"].nunique() == 3 * 2 * 6  # Asian faces have no strength
    both = published_edits(images, "race", {"asian": 1.0, "black": 0.0})
    assert sorted(both["strength"].unique()) == [-1.0, 0.0, 1.0]
    aged = published_edits(images, "age", {})
    assert aged["parent"].nunique() == 3 * 6
    assert sorted(aged["strength"].unique()) == [0.8, 2.0, 3.2]
    turned = published_edits(images, "pose", {})
    assert sorted(turned["strength"].unique()) == [-3.0, 0.0, 3.0]


def test_social_counterfactuals_by_gender_and_race(social, tmp_path):
    images = published_images("social-counterfactuals", social, tmp_path / "metadata.csv")
    assert images["image"].str.startswith("images/").sum() == 0  # found beside the folder's name
    edits = published_edits(images, "gender", {})
    assert edits["parent"].nunique() == 9
    assert published_edits(images, "race", {})["parent"].nunique() == 6


def test_the_command_writes_the_table_and_then_the_plan(pairs, tmp_path, capsys):
    folder = tmp_path / "audit"
    command = ["import-edits", folder, pairs, "--layout", "pairs", "--attribute", "gender"]
    code, out, err = run(capsys, *command)
    assert code == 0, err
    assert "--protected prompted_gender --focal woman --reference man" in out
    table = pd.read_csv(folder / "originals.csv")
    assert len(table) == 16
    code, _, err = run(
        capsys, "init", folder, "--images", pairs, "--table", folder / "originals.csv", "--protected",
        "prompted_gender", "--focal", "woman", "--reference", "man", "--rater", "classifier:world",
        "--encoder", "lpips-alex",
    )  # fmt: skip
    assert code == 0, err
    code, out, err = run(capsys, *command)
    assert code == 0, err
    assert "8 images with edits at the strengths -1, +1" in out
    plan = read_toml(folder / "audit.toml", error=SpecError).plain
    assert plan["counterfactual"]["editor"] == "import"
    assert plan["counterfactual"]["options"]["attribute"] == "gender"
    assert len(pd.read_csv(folder / "edits.csv")) == 16


def test_bad_sets_are_explained(pairs, social, tmp_path):
    with pytest.raises(ImageError, match="No pictures in the layout 'causalface'"):
        published_images("causalface", pairs)
    with pytest.raises(SpecError, match="Did you mean"):
        published_edits(published_images("pairs", pairs), "gendr", {})
    with pytest.raises(SpecError, match="needs the table"):
        published_images("social-counterfactuals", social)
    (tmp_path / "other.csv").write_text("file_name,a1\nx,y\n")
    with pytest.raises(TableError, match="counterfactual_set"):
        published_images("social-counterfactuals", social, tmp_path / "other.csv")
    with pytest.raises(SpecError, match="Did you mean 'pairs'"):
        EditSet(images=pairs, layout="pair")
    with pytest.raises(TableError, match="parent that is not in the audit"):
        EditSet(images=pairs, layout="pairs", attribute="gender").read(["else.png"])
    rows = pd.read_csv(tmp_path / "metadata.csv").head(2).assign(file_name=["../../etc/passwd", "../../etc/hosts"])
    rows.to_csv(tmp_path / "evil.csv", index=False)
    with pytest.raises(ImageError):
        EditSet(images=social, layout="social-counterfactuals", table=tmp_path / "evil.csv", attribute="gender").read(
            ["../../etc/passwd", "../../etc/hosts"]
        )
