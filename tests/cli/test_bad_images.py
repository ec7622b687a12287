"""What may be wrong with images and machines on the way to latents: each is said, and the rest goes on."""

from __future__ import annotations

import errno
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image, ImageDraw

import likewise as lw
from likewise.audit.runner import run as run_stages
from likewise.data.align import FAILED, MOVED, UNREADABLE, Alignment, AlignSpec, tally
from likewise.data.align import TOO_SMALL as TOO_TINY
from likewise.latents.projection import ADRIFT, ASTRAY, PROJECTED, TOO_SMALL, Projection, ProjectSpec
from likewise.latents.projection import UNREADABLE as UNOPENED
from likewise.models.generators.stylegan2 import StyleGAN2
from likewise.runtime.pixels import ImageFolder, save
from likewise.runtime.progress import Quiet
from likewise.runtime.registry import register
from likewise.weights.convert.stylegan2 import nvidia as stylegan2_nvidia
from portraits import portrait
from shell import run
from stylegan2_files import Shape, nvidia, raw
from tiny import Squares, Tiny


def drawing():
    """A smiling face as a child would draw it."""
    page = Image.new("RGB", (256, 256), "white")
    pen = ImageDraw.Draw(page)
    pen.ellipse((40, 40, 216, 216), outline="black", width=4)
    for left in (90, 150):
        pen.ellipse((left, 100, left + 16, 116), fill="black")
    pen.arc((90, 120, 166, 180), 10, 170, fill="black", width=4)
    return np.asarray(page)


def test_no_face_a_drawing_a_thumbnail_and_a_broken_file_are_failures_and_the_rest_is_aligned(tmp_path, weights):
    weights("retinaface")
    face = portrait()[0]
    pictures = {
        "face": face,
        "wall": np.full((200, 200, 3), 140, np.uint8),
        "drawing": drawing(),
        "thumbnail": np.asarray(Image.fromarray(face).resize((20, 20))),
        "again": face,
    }
    for name, picture in pictures.items():
        save(tmp_path / f"{name}.png", picture)
    (tmp_path / "broken.png").write_bytes(b"\x89PNG and then nothing")
    keys = ["face", "wall", "drawing", "thumbnail", "broken", "gone", "again"]
    album = ImageFolder(tmp_path, {key: f"{key}.png" for key in keys})
    out = tmp_path / "out"
    spec = AlignSpec(frame="ffhq", size=64, slack=0)
    states = Alignment(spec, album, out)(keys)["state"].tolist()
    assert states == [MOVED, FAILED, FAILED, TOO_TINY, UNREADABLE, UNREADABLE, MOVED]
    assert sorted(path.name for path in out.iterdir()) == ["again.png", "face.png"]
    groups = dict.fromkeys(keys, "female") | {"drawing": "male"}
    counts = tally(keys, states, groups)
    assert counts["male"]["no face found"] == 1
    reported = {"no face found": 1, "aligned": 2, "aligned already": 0, "cannot be opened": 2, "face too small": 1}
    assert counts["female"] == reported


@pytest.fixture
def tiny(monkeypatch):
    register("generator", "tiny", Tiny)
    register("perceptual", "squares", Squares)
    monkeypatch.setattr("likewise.latents.projection._KEPT", {})


def test_one_broken_file_among_many_is_named_or_counted_by_group_and_the_rest_is_projected(audit, capsys):
    table = pd.read_csv(audit / "faces.csv")
    (audit / "images" / f"{table['image'][3]}.png").write_bytes(b"no picture")
    plan = audit / "audit.toml"
    own = plan.read_text()
    plan.write_text(own.replace("[data]\n", '[data]\nbad_images = "error"\n'))
    code, _, err = run(capsys, "run", audit, "--quiet")
    assert code == 2
    assert table["image"][3] in err
    assert "bad_images" in err
    plan.write_text(own)
    (read,) = run_stages(str(audit), reporter=Quiet(), only="read")
    assert any(f"'{table['perceived_gender'][3]}': 1" in note for note in read.notes)
    (projected,) = run_stages(str(audit), reporter=Quiet(), only="project")
    assert projected.summary["images"] == len(table) - 1


def test_a_thumbnail_and_an_image_that_comes_to_no_end_are_failures_of_their_own(tmp_path, tiny, monkeypatch):
    rng = np.random.default_rng(0)
    for name, side in (("good", 64), ("small", 20), ("odd", 64), ("worse", 64), ("far", 64), ("last", 64)):
        save(tmp_path / f"{name}.png", rng.integers(0, 255, (side, side, 3), dtype=np.uint8))
    (tmp_path / "broken.png").write_bytes(b"no picture")
    monkeypatch.setattr(Tiny, "resolution", 1024)
    monkeypatch.setattr("likewise.latents.projection.solver", lambda spec, every: (Tiny(), Squares(), _Solve()))
    keys = ["good", "small", "odd", "worse", "far", "broken", "last"]
    album = ImageFolder(tmp_path, {key: f"{key}.png" for key in keys})
    made = Projection(ProjectSpec(generator="tiny", perceptual="squares"), album)(keys)
    assert made["state"].tolist() == [PROJECTED, TOO_SMALL, ASTRAY, ASTRAY, ADRIFT, UNOPENED, PROJECTED]
    assert np.isfinite(made["w"]).all(), "what failed holds nothing that could spoil the rest"
    assert np.isfinite(made["distance"]).tolist() == [True, False, False, False, False, False, True]


class _Solve:
    """Gives a latent, no number, an accident, a latent that is far off, and a latent again."""

    size, steps, batch, calls, sampled = 64, 2, 1, 0, False

    def traced(self, targets):
        self.calls += 1
        if self.calls == 3:
            raise RuntimeError("expected scalar type Float but found Half")
        value = {2: np.nan, 4: 1.5}.get(self.calls, 0.5)
        return np.full((1, 4, 8), value, np.float32), np.array([value]), np.ones((1, 2), np.float32)

    def from_mean(self, targets):
        return np.ones(len(targets))


def test_a_card_that_is_not_there_is_said_before_any_work(audit, capsys, tmp_path):
    if torch.cuda.is_available():
        pytest.skip("there is a card here")
    shape = Shape()
    nvidia(tmp_path / "given", shape, raw(shape, seed=1))
    stylegan2_nvidia.convert({"given": tmp_path / "given"}, tmp_path / "kept.safetensors")
    assert StyleGAN2(str(tmp_path / "kept.safetensors")).rows == 6
    assert run(capsys, "read", audit, "--quiet")[0] == 0
    plan = audit / "audit.toml"
    options = f'options = {{ weights = "{tmp_path / "kept.safetensors"}", device = "cuda" }}\n'
    plan.write_text(_with_project(plan.read_text(), 'generator = "stylegan2"\n' + options))
    code, _, err = run(capsys, "project", audit, "--quiet")
    assert code == 2
    assert "Device 'cuda' is not available: 0 CUDA devices found" in err
    assert "device='cpu'" in err
    assert not (audit / "latents").exists()


def _with_project(text, lines):
    """Return a plan with this section [project] instead of its own."""
    kept, inside = [], False
    for line in text.splitlines():
        inside = line.startswith("[project]") if line.startswith("[") else inside
        kept += [] if inside else [line]
    return "\n".join(kept) + f"\n[project]\n{lines}"


def test_a_full_disk_is_said_and_the_same_command_goes_on(audit, capsys, monkeypatch):
    plan = audit / "audit.toml"
    plan.write_text(plan.read_text() + "\n[executor]\nchunk = 20\n")
    assert run(capsys, "read", audit, "--quiet")[0] == 0
    whole = audit.parent / "whole"
    shutil.copytree(audit, whole)
    own, calls = np.savez, []

    def savez(*arguments, **arrays):
        calls.append(1)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return own(*arguments, **arrays)

    monkeypatch.setattr(np, "savez", savez)
    code, _, err = run(capsys, "project", audit, "--quiet")
    assert code == 3
    assert "No space left" in err
    assert not (audit / "latents").exists(), "nothing half-made counts"
    monkeypatch.setattr(np, "savez", own)
    before = len(list((audit / ".work").glob("*-project-*/*.npz")))
    assert before == 2
    assert run(capsys, "project", audit, "--quiet")[0] == 0
    assert run(capsys, "project", whole, "--quiet")[0] == 0
    assert (audit / "latents" / "values.npy").read_bytes() == (whole / "latents" / "values.npy").read_bytes()


def test_latents_of_another_generator_are_not_drawn(audit, capsys, tiny):
    for stage in ("read", "project"):
        assert run(capsys, stage, audit, "--quiet")[0] == 0
    image = lw.Vectors.read(audit / "latents").keys[0]
    plan = audit / "audit.toml"
    plan.write_text(_with_project(plan.read_text(), 'generator = "tiny"\nperceptual = "squares"\n'))
    code, _, err = run(capsys, "show", audit, "--image", image)
    assert code == 2
    assert "Latents of 4 x 16 do not fit tiny, which takes 4 x 8" in err
    assert "project again" in err
