from __future__ import annotations

import numpy as np
import pytest

import tiny
from likewise.data.image_grid import GAP
from likewise.latents.fidelity import shrunk
from likewise.latents.gradient import REFINE
from likewise.latents.projection import ProjectSpec, solver
from likewise.report.figures.loss_curve import HIGH
from likewise.report.figures.style import FOCAL
from likewise.runtime.pixels import ImageFolder, decode, find
from likewise.runtime.registry import create, register, to_pictures, to_signals
from likewise.tables import Vectors
from shell import run


@pytest.fixture
def projected(audit, capsys):
    for stage in ("read", "project"):
        assert run(capsys, stage, audit, "--quiet")[0] == 0
    return audit, Vectors.read(audit / "latents").keys[0]


def test_original_reconstruction_and_edits_are_drawn(projected, capsys):
    audit, image = projected
    code, out, err = run(capsys, "show", audit, "--image", image)
    assert code == 0, err
    path = next((audit / "shown").iterdir())
    assert str(path) in out
    assert "along measured_gender" in out  # the shipped direction about the contrast
    page = decode(path)
    whole = create("generator", "world").synthesize(Vectors.read(audit / "latents").take([image]))
    again = shrunk(to_pictures(whole), 128)[0]
    left = page.shape[1] - 5 * (128 + GAP)  # the second of six columns, each with a gap to its right
    np.testing.assert_array_equal(page[-128 - GAP : -GAP, left : left + 128], again)
    edited = page[-128 - GAP : -GAP, -128 - GAP : -GAP]
    assert 1 < np.abs(edited.astype(float) - again).mean() < 100


@pytest.fixture
def descended(audit, capsys):
    """An audit whose generator is gone down by gradients."""
    register("generator", "tiny", tiny.Tiny)
    register("perceptual", "squares", tiny.Squares)
    plan, table = audit / "audit.toml", audit / "faces.csv"
    plan.write_text(plan.read_text().replace('generator = "world"', 'generator = "tiny"\nperceptual = "squares"'))
    table.write_text("\n".join(table.read_text().splitlines()[:13]) + "\n")
    for stage in ("read", "project"):
        assert run(capsys, stage, audit, "--quiet")[0] == 0
    return audit, Vectors.read(audit / "latents")


def test_the_way_down_is_kept_and_drawn_under_the_pictures(descended, capsys):
    audit, vectors = descended
    losses = np.load(audit / "latents" / "losses.npy")
    assert losses.shape == (len(vectors), sum(phase.steps for phase in REFINE))
    assert (losses[:, -1] < losses[:, 0]).all()
    again = solver(ProjectSpec(generator="tiny", perceptual="squares"))[2]
    folder = audit / "images"
    target = to_signals(ImageFolder(folder, {"x": find(folder, vectors.keys[1]).name})(["x"], size=again.size))
    np.testing.assert_allclose(losses[1], again.traced(target)[2][0], rtol=1e-4)
    code, out, err = run(capsys, "show", audit, "--image", vectors.keys[1])
    assert code == 0, err
    assert f"{losses.shape[1]} steps of its descent" in out
    page = decode(next((audit / "shown").iterdir()))
    figure = page[-HIGH:]
    blue = (np.abs(figure.astype(int) - [int(FOCAL[k : k + 2], 16) for k in (1, 3, 5)]) < 30).all(axis=2)
    rows, columns = np.nonzero(blue)
    assert columns.max() - columns.min() > 0.6 * page.shape[1] * 0.8
    assert rows[columns < columns.min() + 5].mean() < rows[columns > columns.max() - 5].mean(), "it goes down"


def test_where_the_picture_goes_and_how_far_edits_go_can_be_said(projected, capsys, tmp_path):
    audit, image = projected
    code, _, _ = run(capsys, "show", audit, "--image", image, "--out", tmp_path / "x.png", "--amount", "1")
    assert code == 0
    narrow = decode(tmp_path / "x.png").shape[1]
    run(capsys, "show", audit, "--image", image, "--out", tmp_path / "y.png")
    assert narrow < decode(tmp_path / "y.png").shape[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--image", "unknown"), "'unknown'"),
        (("--along", "perceived_gender"), "need --image"),
        (("--image", "FIRST", "--along", "charm"), "No direction was fitted for 'charm'"),
    ],
)
def test_what_cannot_be_shown_is_said(projected, capsys, arguments, said):
    audit, image = projected
    code, _, err = run(capsys, "show", audit, *(image if word == "FIRST" else word for word in arguments))
    assert code == 2
    assert said in err


def test_an_audit_without_latents_names_what_to_do(audit, capsys):
    code, _, err = run(capsys, "show", audit, "--image", "x")
    assert code == 3
    assert "likewise project" in err
