"""The stage align, and families on both sides of the bench, in a whole audit."""

from __future__ import annotations

import numpy as np
import pytest

import likewise as lw
from likewise.audit.folder.store import Folder
from likewise.audit.runner import run
from likewise.audit.stages import read_plan
from likewise.audit.stages.images import align
from likewise.models.detectors import registry
from likewise.models.detectors.detection import Detection
from likewise.runtime.progress import Quiet
from shell import PROJECT

ALIGN = '\n[align]\nframe = "ffhq"\nsize = 64\ndetector = "everywhere"\n'


class Everywhere:
    """Sees a face that fills the picture, unless the picture is dark."""

    name, license, scheme = "everywhere", "none", "centers"

    def find(self, picture):
        if picture.mean() < 114:
            return []
        side = picture.shape[0]
        points = (
            np.array([[385.6, 487.9], [631.2, 484.7], [506.6, 646.6], [403.0, 746.8], [620.2, 744.0]]) / 1024 * side
        )
        return [Detection((0, 0, side, side), points, 1.0)]


@pytest.fixture
def everywhere(monkeypatch):
    monkeypatch.setitem(registry.DETECTORS, "everywhere", f"{__name__}:Everywhere")
    registry.detector.cache_clear()
    yield
    registry.detector.cache_clear()


def extended(audit, text):
    plan = audit / "audit.toml"
    plan.write_text(plan.read_text() + text)
    return str(audit)


def test_the_generator_that_says_the_frame_has_the_plans_options(audit, everywhere, monkeypatch):
    asked, create = [], align.create
    monkeypatch.setattr(align, "create", lambda *given: asked.append(given) or create(*given))
    folder = extended(audit, ALIGN)
    run(folder, reporter=Quiet(), only="read")
    run(folder, reporter=Quiet(), only="align")
    spec = read_plan(audit / "audit.toml").project
    assert asked == [("generator", spec.generator, spec.options)]


def test_what_is_not_aligned_is_not_projected_and_is_counted_by_group(audit, everywhere):
    folder = extended(audit, ALIGN)
    for stage in ("read", "align", "project"):
        (outcome,) = run(folder, reporter=Quiet(), only=stage)
        if stage == "align":
            told = outcome
    faces, latents = lw.Images.read(audit / "images.parquet"), lw.Vectors.read(audit / "latents")
    assert 0 < len(latents) < len(faces)
    assert told.summary == {"images": len(latents), "frame": "ffhq", "size": 64}
    assert Folder(audit).sidecar("aligned").licenses["detector everywhere"] == "none"
    assert "female" in told.notes[0]
    assert str(len(faces) - len(latents)) in told.notes[0]
    assert len(list((audit / "aligned" / "images").iterdir())) == len(latents)
    assert run(folder, reporter=Quiet(), only="align")[0].status == "up to date"


def test_given_vectors_of_a_family_under_audit_are_pointed_out(audit):
    run(str(audit), reporter=Quiet(), only="read")
    faces = lw.Images.read(audit / "images.parquet")
    values = np.random.default_rng(0).normal(size=(len(faces), 4))
    lw.Vectors(faces.keys, values, source="recognizer mine, family world").write(audit / "own.npz")
    plan = audit / "audit.toml"
    plan.write_text('vectors = "own.npz"\n' + plan.read_text().replace(PROJECT, ""))
    (outcome,) = run(str(audit), reporter=Quiet(), only="project")
    assert "same family (world)" in outcome.notes[0]
    assert Folder(audit).sidecar("latents").notes == outcome.notes
