from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from likewise.models.fader.editor import SHIPPED
from likewise.models.fader.network import Fader, FaderShape, load_fader, save_fader
from likewise.runtime.pixels import decode
from shell import run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def faces(tmp_path) -> Path:
    rng = np.random.default_rng(0)
    (tmp_path / "images").mkdir()
    for number in range(16):
        Image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)).save(tmp_path / f"images/{number}.png")
    table = {"image": [str(n) for n in range(16)], "perceived_gender": ["f", "m"] * 8, "smiling": [0, 0, 1, 1] * 4}
    table["identity"] = [n // 2 for n in range(16)]
    pd.DataFrame(table).to_csv(tmp_path / "faces.csv", index=False)
    return tmp_path


def train(capsys, faces: Path, *more: object, steps: int = 6) -> tuple[int, str, str]:
    return run(
        capsys, "fader", "train", faces / "out", "--images", faces / "images", "--table", faces / "faces.csv",
        "--attribute", "perceived_gender=f,m", "--attribute", "smiling", "--size", 32, "--width", 4, "--batch", 8,
        "--steps", steps, "--every", 3, "--quiet", *more,
    )  # fmt: skip


def test_a_training_leaves_weights_a_log_samples_and_a_checkpoint(faces, capsys):
    code, out, err = train(capsys, faces)
    assert code == 0, err
    assert out.startswith(f"wrote {faces}/out/fader.safetensors\n  16 faces, 0 without a value left out")
    log = pd.read_csv(faces / "out" / "log.csv")
    assert log["step"].tolist() == [3, 6]
    assert {"reconstruction", "discriminator", "reader", "weight"} < set(log.columns)
    grid = decode(faces / "out" / "samples" / "000006.png")
    assert grid.shape == (8 * 32, 6 * 32, 3)  # the picture and five levels, eight faces
    assert (faces / "out" / "checkpoint.pt").is_file()


def test_a_training_that_stopped_ends_like_one_that_did_not(faces, capsys, tmp_path):
    train(capsys, faces, steps=3)
    train(capsys, faces)
    parts = (faces / "out" / "fader.safetensors").read_bytes()
    (faces / "out").rename(faces / "parts")
    train(capsys, faces)
    assert (faces / "out" / "fader.safetensors").read_bytes() == parts
    assert (faces / "out" / "log.csv").read_text() == (faces / "parts" / "log.csv").read_text()


def test_a_training_with_pairs_and_an_eraser(faces, capsys):
    code, out, err = train(capsys, faces, "--pairs", "identity", "--alike", 0.5, "--code", 3, "--erase")
    assert code == 0, err
    assert "  apart " in out
    fader, card = load_fader(faces / "out" / "fader.safetensors")
    assert (fader.shape.code, fader.shape.erased, card["trained"]["alike"]) == (3, True, 0.5)
    assert fader.encoder[-1].reading.abs().max() > 0
    again = train(capsys, faces, "--pairs", "identity", "--alike", 0.5, "--code", 3)  # not erased: as it was trained
    assert again[0] == 0
    assert not load_fader(faces / "out" / "fader.safetensors")[0].shape.erased


def test_a_fader_is_shown(faces, capsys):
    train(capsys, faces)
    weights = faces / "out" / "fader.safetensors"
    code, out, _ = run(
        capsys, "fader", "show", weights, "--images", faces / "images", "--out", faces / "grid.png", "--level", "1"
    )
    assert code == 0
    assert "32 px, width 4" in out
    assert "turns perceived_gender, holds smiling" in out
    assert decode(faces / "grid.png").shape == (8 * 32, 2 * 32, 3)


def test_the_shipped_fader_is_shown_with_its_card(capsys):
    code, out, _ = run(capsys, "fader", "show")
    assert code == 0
    assert "turns perceived_gender, holds smiling, young, eyeglasses" in out
    assert "license: research-only" in out
    assert re.search(r"AUC of a fresh classifier on the picture: .*perceived_gender [01]\.\d", out)
    assert re.search(r"a network that learned on held faces: .*perceived_gender 0\.\d", out)
    assert "no photograph was used" in out
    assert SHIPPED.stat().st_size < 20e6


def test_the_page_of_the_fader_says_what_its_card_says():
    fader, card = load_fader(SHIPPED)
    text = (ROOT / "docs" / "fader.md").read_text(encoding="utf-8")
    numbers = [card["AUC of a fresh classifier on the picture"], *card["AUC of fresh classifiers on the code"].values()]
    for row in numbers:
        assert " | ".join(f"{row[name]:.3f}" for name in fader.shape.attributes) in text
    assert f"{card['drawn again']['psnr dB']} dB" in text


def test_the_network_s_own_pictures_are_shown(faces, capsys):
    grids = []
    for detail in ("keep", "drawn"):
        given = ("--images", faces / "images", "--out", faces / f"{detail}.png", "--level", "0", "--detail", detail)
        assert run(capsys, "fader", "show", *given)[0] == 0
        grids.append(decode(faces / f"{detail}.png").astype(int))
    assert np.array_equal(grids[0][:, :64], grids[1][:, :64])  # the picture itself
    assert np.abs(grids[0] - grids[1]).mean() > 5
    assert run(capsys, "fader", "show", "--detail", "sharp")[0] == 2


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--size", "50"), "size is 50. Choose one of"),
        (("--attribute", "age"), "age"),
        (("--alike", "1"), "--alike has no effect without --pairs"),
        (("--pairs", "image"), "16 faces have a single image; with pairs, each face needs at least two"),
        (("--every", "0"), "--every is 0. Use 1 or more"),
        (("--batch", "1"), "batch is 1; .* at least 2"),
        (("--device", "tpu"), "Unknown device 'tpu'. Choose 'cpu'"),
    ],
)
def test_invalid_training_options_are_refused(faces, capsys, more, says):
    code, _, err = train(capsys, faces, *more)
    assert code == 2
    assert re.search(says, err)
    assert not (faces / "out" / "checkpoint.pt").exists()


def test_images_need_an_output_file(faces, capsys):
    train(capsys, faces)
    code, _, err = run(capsys, "fader", "show", faces / "out" / "fader.safetensors", "--out", faces / "grid.png")
    assert code == 2
    assert "--images and --out are needed together" in err


def test_the_shipped_fader_edits_without_options(audit, capsys):
    text = (audit / "audit.toml").read_text()
    (audit / "audit.toml").write_text(
        text.replace('editor = "world"', 'editor = "fader"\nmost = 2\nmask = "none"\nplacebo = false')
    )
    for verb in ("read", "trials", "counterfactual"):
        code, _, err = run(capsys, verb, audit, "--quiet")
        assert code == 0, err
    sidecar = json.loads((audit / "counterfactuals.json").read_text())
    assert sidecar["licenses"]["fader:fader-64"].startswith("research-only")


def test_a_fader_edits_the_faces_of_an_audit(audit, capsys):
    torch.manual_seed(0)
    net = Fader(FaderShape(attributes=("perceived_gender", "smiling"), size=32, width=4))
    save_fader(audit / "own.safetensors", net, {})
    text = (audit / "audit.toml").read_text()
    weights = f'{{ weights = "{audit}/own.safetensors" }}'
    options = f'editor = "fader"\noptions = {weights}\nmost = 3\nmask = "none"\nplacebo = false'
    (audit / "audit.toml").write_text(text.replace('editor = "world"', options))
    for verb in ("read", "trials", "counterfactual"):
        code, _, err = run(capsys, verb, audit, "--quiet")
        assert code == 0, err
    sidecar = json.loads((audit / "counterfactuals.json").read_text())
    assert sidecar["licenses"] == {"fader:own": "not stated (a user's own file)"}
    made = pd.read_parquet(audit / "counterfactuals" / "images.parquet")["parent"].dropna()
    assert len(list((audit / "counterfactuals" / "images").iterdir())) == len(made) == 5 * made.nunique() > 0
    torch.manual_seed(1)
    save_fader(audit / "own.safetensors", Fader(net.shape), {})  # other weights under the same name
    _, out, _ = run(capsys, "counterfactual", audit, "--dry-run")
    assert "options or inputs changed" in out
