from __future__ import annotations

import numpy as np
import pytest

from likewise.images import decode
from likewise.make.fidelity import shrunk
from likewise.make.sheet import GAP
from likewise.plugins import create, to_pictures
from likewise.tables import Vectors
from shell import run


@pytest.fixture
def projected(audit, capsys):
    for stage in ("read", "project"):
        assert run(capsys, stage, audit, "--quiet")[0] == 0
    return audit, Vectors.read(audit / "latents").images[0]


def test_original_reconstruction_and_edits_are_drawn(projected, capsys):
    audit, image = projected
    code, out, err = run(capsys, "show", audit, "--image", image)
    assert code == 0, err
    path = next((audit / "shown").iterdir())
    assert str(path) in out
    assert "perceived_gender" in out
    page = decode(path)
    whole = create("generator", "world").synthesise(Vectors.read(audit / "latents").take([image]))
    again = shrunk(to_pictures(whole), 128)[0]
    left = page.shape[1] - 5 * (128 + GAP)  # the second of six columns, each with a gap to its right
    np.testing.assert_array_equal(page[-128 - GAP : -GAP, left : left + 128], again)
    edited = page[-128 - GAP : -GAP, -128 - GAP : -GAP]
    assert 1 < np.abs(edited.astype(float) - again).mean() < 100


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
        (("--image", "nobody"), "the image has a latent"),
        (("--along", "perceived_gender"), "no --image"),
        (("--image", "FIRST", "--along", "charm"), "a direction of this name was fitted"),
    ],
)
def test_what_cannot_be_shown_is_said(projected, capsys, arguments, said):
    audit, image = projected
    code, _, err = run(capsys, "show", audit, *(image if word == "FIRST" else word for word in arguments))
    assert code == 2
    assert said in err


def test_an_audit_without_latents_is_told_what_to_do(audit, capsys):
    code, _, err = run(capsys, "show", audit, "--image", "x")
    assert code == 3
    assert "likewise project" in err
