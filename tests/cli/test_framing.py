"""The stage align, and families on both sides of the bench, in a whole audit."""

from __future__ import annotations

import numpy as np
import pytest

import likewise as lw
from likewise.cli import framing
from likewise.cli.plan import read_plan
from likewise.cli.progress import Quiet
from likewise.cli.run import run
from likewise.models import finders
from likewise.models.found import Found
from likewise.store import Folder
from shell import PROJECT

ALIGN = '\n[align]\nframe = "ffhq"\nsize = 64\nfinder = "everywhere"\n'


class Everywhere:
    """Sees a face that fills the picture, unless the picture is dark."""

    name, licence, scheme = "everywhere", "none", "centres"

    def find(self, picture):
        if picture.mean() < 114:
            return []
        side = picture.shape[0]
        points = (
            np.array([[385.6, 487.9], [631.2, 484.7], [506.6, 646.6], [403.0, 746.8], [620.2, 744.0]]) / 1024 * side
        )
        return [Found((0, 0, side, side), points, 1.0)]


@pytest.fixture
def everywhere(monkeypatch):
    monkeypatch.setitem(finders.FINDERS, "everywhere", f"{__name__}:Everywhere")
    finders.finder.cache_clear()
    yield
    finders.finder.cache_clear()


def extended(audit, text):
    plan = audit / "audit.toml"
    plan.write_text(plan.read_text() + text)
    return str(audit)


def test_the_generator_that_says_the_frame_has_the_plans_options(audit, everywhere, monkeypatch):
    asked, create = [], framing.create
    monkeypatch.setattr(framing, "create", lambda *given: asked.append(given) or create(*given))
    folder = extended(audit, ALIGN)
    run(folder, voice=Quiet(), only="read")
    run(folder, voice=Quiet(), only="align")
    spec = read_plan(audit / "audit.toml").project
    assert asked == [("generator", spec.generator, spec.options)]


def test_what_is_not_aligned_is_not_projected_and_is_counted_by_group(audit, everywhere):
    folder = extended(audit, ALIGN)
    for stage in ("read", "align", "project"):
        (outcome,) = run(folder, voice=Quiet(), only=stage)
        if stage == "align":
            told = outcome
    faces, latents = lw.Faces.read(audit / "faces.parquet"), lw.Vectors.read(audit / "latents")
    assert 0 < len(latents) < len(faces)
    assert told.summary == {"images": len(latents), "frame": "ffhq", "size": 64}
    assert Folder(audit).sidecar("aligned").licences["finder everywhere"] == "none"
    assert "female" in told.notes[0]
    assert str(len(faces) - len(latents)) in told.notes[0]
    assert len(list((audit / "aligned" / "images").iterdir())) == len(latents)
    assert run(folder, voice=Quiet(), only="align")[0].status == "fresh"


def test_given_vectors_of_a_family_under_audit_are_pointed_out(audit):
    run(str(audit), voice=Quiet(), only="read")
    faces = lw.Faces.read(audit / "faces.parquet")
    values = np.random.default_rng(0).normal(size=(len(faces), 4))
    lw.Vectors(faces.images, values, source="recogniser mine, family world").write(audit / "own.npz")
    plan = audit / "audit.toml"
    plan.write_text('vectors = "own.npz"\n' + plan.read_text().replace(PROJECT, ""))
    (outcome,) = run(str(audit), voice=Quiet(), only="project")
    assert "same family (world)" in outcome.notes[0]
    assert Folder(audit).sidecar("latents").notes == outcome.notes
