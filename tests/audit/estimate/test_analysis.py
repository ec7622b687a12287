"""What ``likewise estimate`` makes of people's responses, of features and of terms, from the folder to the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from picked import only
from shell import run

PLAN = """
format = 2
seed = 3
covariates = ["eyeglasses"]

[data]
images = "images"
table = "faces.csv"

[contrast]
column = "perceived_gender"
focal = "female"
reference = "male"

[project]
generator = "world"

[match]
caliper = { distance = 6.5 }

[[rater]]
kind = "recognizer"
name = "world"

[collect]
crowd = "file"
options = { path = "answers.csv" }

[estimate]
"""
ESTIMATE = """
made_by = "made_by"
generated = "generator"
features = "features.npz"
logits = "logits.npz"
measured = ["measured_ita"]
term = "search_term"
reference = "official.csv"
"""


def answer(rng: np.random.Generator, images: list[str], question: str, value: np.ndarray) -> pd.DataFrame:
    """Four people answer about every image."""
    who = np.tile([f"r{k}" for k in range(12)], len(images))[: 4 * len(images)]
    table = pd.DataFrame({"unit": np.repeat(images, 4), "rater": who, "question": question, "value": value})
    return table.assign(session=np.where(table["rater"].str[1:].astype(int) % 2, "comment", "plain"))


def lay_out(audit: Path) -> pd.DataFrame:
    """Add columns, features and answers to the world; return its faces."""
    rng = np.random.default_rng(5)
    faces = pd.read_csv(audit / "faces.csv")
    n, focal = len(faces), (faces["perceived_gender"] == "female").to_numpy()
    generated = np.arange(n) % 2 == 0
    tone = rng.normal(0, 20, n)
    faces["made_by"] = np.where(generated, "generator", "camera")
    faces["measured_ita"], faces["search_term"] = tone, np.where(np.arange(n) % 3 == 0, "nurse", "clerk")
    faces.to_csv(audit / "faces.csv", index=False)
    pd.DataFrame({"term": ["nurse", "clerk"], "share": [0.5, 0.4]}).to_csv(audit / "official.csv", index=False)
    features = rng.normal(0, 1, (n, 4)) + 1.5 * (generated & focal)[:, None]
    images = faces["image"].tolist()
    lw.Vectors(images, features.astype(np.float32), source="simulated features").write(audit / "features.npz")
    lw.Vectors(images, (2 * features).astype(np.float32), source="simulated classes").write(audit / "logits.npz")
    real = rng.random((n, 4)) < np.where(generated, np.where(focal, 0.2, 0.5), 0.85)[:, None]
    steps = np.clip(np.round(3.5 - tone[:, None] / 15 + rng.normal(0, 0.7, (n, 4))), 1, 6)
    yes = rng.random((n, 4)) < np.where(focal, 0.7, 0.3)[:, None]
    tables = [
        answer(rng, images, "judged_real", real.ravel().astype(float)),
        answer(rng, images, "skin_tone", steps.ravel()),
        answer(rng, images, "smiles", yes.ravel().astype(float)).assign(confidence=rng.integers(1, 4, 4 * n)),
    ]
    asked = lw.Trials.read(audit / "trials.parquet").genuine().frame["trial"].tolist()
    same = answer(rng, asked, "same", (rng.random(4 * len(asked)) < 0.8).astype(float))
    tables.append(same.assign(confidence=rng.integers(1, 4, len(same))))
    pd.concat(tables).to_csv(audit / "answers.csv", index=False)
    return faces


@pytest.fixture
def answered(audit: Path, capsys) -> Path:
    (audit / "audit.toml").write_text(PLAN)
    (audit / "answers.csv").write_text("unit,rater,question,value\n")
    for command in ("read", "trials"):
        code, _, err = run(capsys, command, audit)
        assert code == 0, err
    lay_out(audit)
    (audit / "audit.toml").write_text(PLAN + ESTIMATE)
    return audit


def test_responses_and_image_features_are_estimated_and_reported(answered, capsys):
    code, _, err = run(capsys, "run", answered)
    assert code == 0, err
    found = lw.Estimates.read(answered / "estimates.parquet")
    assert only(found, stat="pass_rate", group="female", sample="plain")["estimate"] < 0.4
    assert only(found, stat="gap", quantity="people: judged_real, pass_rate", sample="comment")["high"] < 0
    assert only(found, stat="d_prime", group="female", sample="plain")["low"] > 0
    assert len(found.where(stat="gap", quantity="people: judged_real, accuracy", sample="plain - comment"))
    assert only(found, stat="mixed_log_odds_gap", sample="plain")["estimate"] < -0.5
    assert only(found, stat="alpha", quantity="agreement: skin_tone", group="ordinal")["low"] > 0.5
    assert len(found.where(stat="rater_accuracy", quantity="agreement: judged_real")) == 12
    assert only(found, stat="rank_correlation", quantity="measured_ita and skin_tone")["high"] < -0.5
    assert only(found, stat="superiority", quantity="people: skin_tone")["clusters"] > 10
    assert only(found, stat="gap", quantity="people: smiles")["low"] > 0.2
    assert len(found.where(stat="superiority", quantity="people: smiles, confidence"))
    assert len(found.where(stat="gap", quantity="people: same, confidence", sample="matched"))
    assert only(found, stat="kid", group="female")["low"] > only(found, stat="kid", group="male")["high"]
    assert only(found, stat="p_value", quantity="simulated features, kid")["estimate"] < 0.05
    assert len(found.where(stat="inception_score")) == 4
    gap, share = (only(found, stat=stat, group="nurse") for stat in ("reference_gap", "share"))
    assert gap["estimate"] == pytest.approx(share["estimate"] - 0.5)
    page = (answered / "report.html").read_text()
    for text in ("Human study", "Krippendorff", "Image quality", "Representation", "Raters"):
        assert text in page, text


def test_estimates_that_fail_are_noted_and_the_others_are_written(answered, capsys):
    table = pd.read_csv(answered / "faces.csv")
    table["made_by"] = np.where(table["perceived_gender"] == "female", "generator", "camera")
    table.to_csv(answered / "faces.csv", index=False)
    code, _, err = run(capsys, "run", answered)
    assert code == 0 and "No quality of generated images" in err and "No distances of generated from real" in err
    assert len(lw.Estimates.read(answered / "estimates.parquet").where(stat="rank_correlation"))


def test_responses_about_unknown_images_are_refused(answered, capsys):
    table = pd.read_csv(answered / "answers.csv")
    table.iloc[0, 0] = "unknown.png"
    table.to_csv(answered / "answers.csv", index=False)
    code, _, err = run(capsys, "run", answered)
    assert code == 2 and "unknown.png" in err


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ('made_by = "made_by"', "has made_by without generated"),
        ('features = "f.npz"', "without made_by"),
        ('reference = "official.csv"', "reference without term"),
        ('measured = "measured_ita"', "measured"),
    ],
)
def test_keys_without_effect_are_refused(audit, capsys, lines, says):
    (audit / "audit.toml").write_text(f"{PLAN}{lines}\n")
    code, _, err = run(capsys, "run", audit, "--dry-run")
    assert code == 2 and says in err
