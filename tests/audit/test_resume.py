"""One command from what an auditor has to the report: images, or scores, embeddings and labels without any image."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tomlkit
from PIL import Image

import likewise as lw
from likewise.audit.stages import plan_of, read_plan
from likewise.errors import PlanError
from shell import run

CONTRAST = ["--protected", "perceived_gender", "--focal", "female", "--reference", "male"]
PIXELS = {"describe", "align", "embed", "counterfactual"}


@pytest.fixture(scope="module")
def at_hand(tmp_path_factory) -> Path:
    """What an auditor may have: a table, images, scores, embeddings, labels."""
    folder = tmp_path_factory.mktemp("at-hand")
    world = lw.World(identities=24, seed=5)
    faces, factors = world.draw()
    world.write(folder)
    lw.Vectors(faces.keys, factors[:, 1:], source="my encoder").write(folder / "e.npz")
    rng = np.random.default_rng(0)
    pairs = lw.trials(faces, seed=0, impostors=6).frame
    pairs["score"] = 100 * np.clip(np.where(pairs["same"], 0.7, 0.3) + rng.normal(0, 0.15, len(pairs)), 0, 1)
    pairs[["a", "b", "score"]].to_csv(folder / "s.csv", index=False)
    labels = [{"image": image, "labels": {"Person": 0.99, "Smile": float(rng.uniform())}} for image in faces.keys]
    (folder / "l.jsonl").write_text("\n".join(map(json.dumps, labels)))
    return folder


def stages(out: str) -> dict[str, str]:
    return {entry["stage"]: entry["status"] for entry in json.loads(out)["stages"]}


def test_images_and_a_table_and_raters_become_a_report(at_hand, tmp_path, capsys):
    given = ["--images", at_hand / "images", "--table", at_hand / "faces.csv", *CONTRAST, "--generator", "world",
             "--rater", "recognizer:world", "--rater", "classifier:world", "--editor", "world"]  # fmt: skip
    folder = tmp_path / "mine"
    code, out, _ = run(capsys, "audit", folder, *given, "--dry-run")
    assert code == 0
    assert not folder.exists()
    assert "would write" in out
    assert all(word in out for word in ("counterfactual", "report          would run"))
    code, out, err = run(capsys, "audit", folder, *given)
    assert (code, out.splitlines()[-1]) == (0, f"report: {folder / 'report.html'}")
    assert [line.split()[0] for line in err.splitlines() if " wrote " in line][-1] == "report"
    code, out, _ = run(capsys, "audit", folder, *given, "--json")
    assert set(stages(out).values()) == {"up to date"}


def test_another_plan_is_not_overwritten_unasked(at_hand, tmp_path, capsys):
    given = [tmp_path, "--table", at_hand / "faces.csv", *CONTRAST, "--embeddings", f"mine={at_hand / 'e.npz'}"]
    assert run(capsys, "audit", *given, "--quiet")[0] == 0
    code, _, err = run(capsys, "audit", *given, "--seed", "4")
    assert code == 3
    assert "overwrite it with --force" in err
    assert run(capsys, "audit", *given, "--seed", "4", "--force", "--dry-run")[0] == 0
    assert read_plan(tmp_path / "audit.toml").seed == 0


def test_a_dry_run_opens_no_image(at_hand, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(Image, "open", lambda *_, **__: pytest.fail("an image was opened"))
    given = ["--images", at_hand / "images", "--table", at_hand / "faces.csv", *CONTRAST, "--rater", "dlib"]
    assert run(capsys, "audit", tmp_path / "mine", *given, "--dry-run")[0] == 0


def test_answers_alone_become_a_report_that_says_so(at_hand, tmp_path, capsys):
    given = ["--table", at_hand / "faces.csv", *CONTRAST, "--similarity", "--scale", "100", "--scores",
             f"vendor={at_hand / 's.csv'}", "--embeddings", f"mine={at_hand / 'e.npz'}"]  # fmt: skip
    code, out, _ = run(capsys, "audit", tmp_path, *given, "--json", "--quiet")
    assert code == 0
    assert not PIXELS & set(stages(out))
    page = (tmp_path / "report.html").read_text()
    assert "The plan has no images." in page
    found = lw.Estimates.read(tmp_path / "estimates.parquet").where(stat="gap", sample="all").frame
    assert {"vendor: distance", "mine: distance"} <= set(found["quantity"])
    vendor = lw.Ratings.read(tmp_path / "ratings.parquet").frame.query("rater == 'vendor'")
    assert vendor["value"].between(0, 1).all()


def test_labels_alone_are_compared_between_groups(at_hand, tmp_path, capsys):
    given = ["--table", at_hand / "faces.csv", *CONTRAST, "--vectors", at_hand / "e.npz"]
    code, _, err = run(capsys, "audit", tmp_path, *given, "--labels", f"api={at_hand / 'l.jsonl'}")
    assert code == 0
    assert "1 of 2 labels are compared" in err  # everybody is a person
    gaps = lw.Estimates.read(tmp_path / "estimates.parquet").where(stat="gap").frame
    assert set(gaps["quantity"]) == {"api: Share labeled Smile"}
    assert set(gaps["sample"]) == {"all", "matched", "overlap-weighted"}
    assert "Share labeled Smile (api)" in (tmp_path / "report.html").read_text()


def test_a_classifier_without_a_sweep_looks_at_the_images(at_hand, tmp_path, capsys):
    given = ["--images", at_hand / "images", "--table", at_hand / "faces.csv", *CONTRAST, "--encoder", "pixels"]
    code, _, _ = run(capsys, "audit", tmp_path, *given, "--rater", "classifier:world", "--quiet")
    assert code == 0
    ratings = lw.Ratings.read(tmp_path / "ratings.parquet").frame
    assert set(ratings["unit"]) == set(pd.read_csv(at_hand / "faces.csv")["image"])
    assert lw.Vectors.read(tmp_path / "latents").source == "perceptual pixels"


def test_a_folder_a_person_is_enough_for_images(at_hand, tmp_path, capsys):
    table = pd.read_csv(at_hand / "faces.csv")
    for image, who in zip(table["image"], table["identity"], strict=True):
        place = tmp_path / "lfw" / str(who) / f"{image}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(next((at_hand / "images").glob(f"{image}*")).read_bytes())
    people = table.drop_duplicates("identity").drop(columns="image").rename(columns={"perceived_gender": "gender"})
    people.to_csv(tmp_path / "people.csv", index=False)
    given = ["--layout", "folders", "--images", tmp_path / "lfw", "--table", tmp_path / "people.csv", *CONTRAST]
    more = ["--rename", "gender=perceived_gender", "--encoder", "columns", "--rater", "recognizer:world", "--quiet"]
    code, _, err = run(capsys, "audit", tmp_path / "audit", *given, *more)
    assert (code, err) == (0, "")
    assert len(lw.Images.read(tmp_path / "audit" / "images.parquet")) == len(table)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--rater", "world"], "Write recognizer:world or classifier:world"),
        (["--rater", "dlibb"], "Did you mean 'dlib'"),
        (["--vectors", "v.npz", "--encoder", "pixels"], "--vectors and --encoder both define the feature space"),
        (["--similarity"], "--similarity has no effect without --scores"),
        (["--editor", "world"], "--editor has no effect without a classifier"),
        (["--rename", "gender"], "is not of the form OLD=NEW"),
        (["--rater", "dlib"], "The plan has no images, but these need them"),
    ],
)
def test_what_makes_no_sense_is_said(at_hand, tmp_path, capsys, more, says):
    code, _, err = run(capsys, "audit", tmp_path / "x", "--table", at_hand / "faces.csv", *CONTRAST, *more)
    assert code == 2
    assert says in err
    assert not (tmp_path / "x").exists()


FACES = {"data": {"table": "t.csv"}, "contrast": {"column": "g", "focal": "f", "reference": "m"}}
COLUMNS = {"encode": {"columns": ["age"]}}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({}, r"need them: .\[project\] \(use vectors"),
        ({**COLUMNS, "rater": [{"kind": "recognizer", "name": "dlib"}]}, r"need them: '\[\[rater\]\]'"),
        ({**COLUMNS, "counterfactual": {}}, r"need them: '\[counterfactual\]'"),
        ({**COLUMNS, "collect": {"crowd": "world"}}, "simulated raters"),
        ({"encode": {"perceptual": "pixels"}}, r"need them: '\[encode\]'"),
        ({"encode": {}}, "one of recognizer, perceptual, classifier, columns"),
        ({**COLUMNS, "vectors": "v.npz"}, r"both vectors and \[encode\]"),
        ({**COLUMNS, "project": {}}, r"both \[project\] and \[encode\]"),
        ({**COLUMNS, "precomputed": [{"rater": "a"}]}, "names no source"),
        ({**COLUMNS, "precomputed": [{"rater": "a", "scores": "s.csv", "labels": "l.csv"}]}, "names scores and labels"),
        (
            {**COLUMNS, "precomputed": [{"rater": "a", "scores": "s.csv", "measure": "cosine"}]},
            "Unknown measure 'cosine' of scores",
        ),
        (
            {**COLUMNS, "precomputed": [{"rater": "a", "scores": "s.csv", "scale": 100}]},
            "scale has no effect on distance",
        ),
        (
            {**COLUMNS, "precomputed": [{"rater": "a", "labels": "l.csv", "columns": {"c": "d"}}]},
            "Labels have no column 'c'",
        ),
        ({**COLUMNS, "precomputed": 2 * [{"rater": "a", "labels": "l.csv"}]}, "have the rater 'a'"),
        ({**COLUMNS, "estimate": {"labels": ["Smile"]}}, "labels in .estimate. have no effect"),
        ({"data": {"table": "t.csv", "layout": "lfv"}}, "data.layout is 'lfv'"),
        ({"data": {"images": "i"}}, "has no table"),
        ({"data": {"layout": "folders"}}, "has no images"),
    ],
)
def test_what_a_plan_without_images_may_not_say(more, says):
    with pytest.raises(PlanError, match=says):
        plan_of(tomlkit.dumps({**FACES, **more}))


def test_numbers_that_are_given_need_no_space(at_hand, tmp_path, capsys):
    table = pd.read_csv(at_hand / "faces.csv")
    sides = [table.loc[table["perceived_gender"] == side, "image"] for side in ("female", "male")]
    apart = pd.DataFrame(np.random.default_rng(1).uniform(size=tuple(map(len, sides))), columns=sides[1].tolist())
    apart.assign(image=sides[0].to_numpy()).to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "audit.toml").write_text(
        f'[data]\ntable = "{at_hand / "faces.csv"}"\n'
        '[contrast]\ncolumn = "perceived_gender"\nfocal = "female"\nreference = "male"\n'
        '[match]\ndistance = "precomputed"\n[precomputed_distances]\ndistances = "d.csv"\n'
        f'[[precomputed]]\nrater = "mine"\nembeddings = "{at_hand / "e.npz"}"\nmeasure = "euclidean"\nthreshold = 2\n'
    )
    code, out, _ = run(capsys, "run", tmp_path, "--quiet", "--json")
    assert code == 0
    assert "project" not in stages(out)
    quantities = lw.Estimates.read(tmp_path / "estimates.parquet").frame["quantity"]
    assert quantities.str.contains("at its threshold 2").any()
