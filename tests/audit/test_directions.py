from __future__ import annotations

import json

import numpy as np
import pytest

from likewise.latents.directions import SHIPPED, Directions, shipped
from likewise.runtime.pixels import decode
from likewise.runtime.registry import register
from shell import run
from tiny import Tiny


@pytest.fixture(autouse=True)
def tiny():
    register("generator", "tiny", Tiny)


@pytest.fixture
def sampled(tmp_path, capsys):
    code, _, _ = run(
        capsys, "directions", "sample", tmp_path / "s", "--generator", "tiny", "--faces", 200, "--column",
        "measured_brightness", "--quiet",
    )  # fmt: skip
    assert code == 0
    return tmp_path / "s"


def test_sample_fit_and_show(sampled, tmp_path, capsys):
    assert decode(sampled / "sample.png").shape == (4 * 32, 10 * 32, 3)
    card = json.loads((sampled / "sample.json").read_text())
    assert card["made by"] == {"measured_brightness": "pixels"}
    code, out, _ = run(capsys, "directions", "fit", sampled, "--labels", "drawn faces")
    assert code == 0
    assert "measured_brightness" in out
    found = Directions.read(sampled / "directions.npz")
    assert found.skills[0].label == "pixels"
    assert found.labels == "drawn faces"
    code, out, _ = run(
        capsys, "directions", "show", sampled / "directions.npz", "--generator", "tiny", "--out", tmp_path / "a.png",
        "--faces", 3, "--size", 32,
    )  # fmt: skip
    assert code == 0
    assert decode(tmp_path / "a.png").shape[1] == 6 + 5 * (32 + 6)


def test_the_same_command_resumes_with_the_same_result(sampled, capsys):
    before = (sampled / "latents" / "values.npy").read_bytes()
    run(capsys, "directions", "sample", sampled, "--generator", "tiny", "--faces", 200, "--column",
        "measured_brightness", "--quiet")  # fmt: skip
    assert (sampled / "latents" / "values.npy").read_bytes() == before


def test_directions_are_fitted_on_the_table_of_an_audit(audit, capsys):
    for stage in ("read", "project"):
        assert run(capsys, stage, audit, "--quiet")[0] == 0
    code, out, err = run(capsys, "directions", "fit", audit, "--attribute", "perceived_gender")
    assert code == 0, err
    assert "perceived_gender" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fit", "nowhere"), "No images and latents in nowhere"),
        (("show", "no-such-generator"), "directions are shipped for"),
        (("show", "--along", "predicted_age"), "no effect without --out"),
    ],
)
def test_impossible_commands_are_explained(arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run(capsys, "directions", *arguments)
    assert code in (2, 3)
    assert said in err


def test_directions_of_another_generator_are_refused(sampled, capsys, tmp_path):
    run(capsys, "directions", "fit", sampled)
    code, _, err = run(
        capsys, "directions", "show", sampled / "directions.npz", "--generator", "world", "--out", tmp_path / "a.png"
    )
    assert code == 2
    assert "The directions are of tiny" in err


def test_shipped_directions_state_their_source(capsys):
    """The file is small, names every label's maker, and its card tells the same skill as the file."""
    found = shipped("mobilestylegan")
    path = SHIPPED / "mobilestylegan.npz"
    assert path.stat().st_size < 2_000_000
    assert found.gradients.shape[1] == 512
    assert found.source.startswith("mobilestylegan:")
    wanted = {"predicted_gender", "predicted_age", "predicted_smile", "predicted_eyeglasses", "predicted_yaw"}
    assert wanted | {"measured_brightness", "measured_ita"} <= set(found.names)
    assert all(skill.label for skill in found.skills)
    card = (SHIPPED / "README.md").read_text()
    assert f"--rule {found.rule} --out mobilestylegan.npz" in card
    for name, skill in zip(found.names, found.skills, strict=True):
        assert f"| `{name}` | {skill.measure} {skill.value:.2f} |" in card
    spread = np.einsum("kd,de,ke->k", found.gradients, found.covariance, found.gradients)
    np.testing.assert_allclose(spread, 1, atol=0.25)  # a score has standard deviation one, but for shrinkage
    code, out, _ = run(capsys, "directions", "show")
    assert code == 0
    assert "predicted_gender" in out
