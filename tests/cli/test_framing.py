"""The stages align and embed, in a whole audit."""

from __future__ import annotations

import numpy as np
import pytest

import likewise as lw
from likewise.cli.progress import Quiet
from likewise.cli.run import run
from likewise.errors import PlanError
from likewise.models import finders
from likewise.models.found import Found
from likewise.store import Folder

ALIGN = '\n[align]\nframe = "ffhq"\nsize = 64\nfinder = "everywhere"\n'
EMBED = '\n[embed]\nrecogniser = "world"\nwithin = 5.0\n'


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


def test_what_is_not_aligned_is_not_projected_and_is_counted_by_group(audit, everywhere):
    folder = extended(audit, ALIGN)
    for stage in ("read", "align", "project"):
        (outcome,) = run(folder, voice=Quiet(), only=stage)
        if stage == "align":
            told = outcome
    faces, latents = lw.Faces.read(audit / "faces.parquet"), lw.Vectors.read(audit / "latents")
    assert 0 < len(latents) < len(faces)
    assert told.summary == {"images": len(latents), "frame": "ffhq", "size": 64}
    assert "female" in told.notes[0]
    assert str(len(faces) - len(latents)) in told.notes[0]
    assert len(list((audit / "aligned" / "images").iterdir())) == len(latents)
    assert run(folder, voice=Quiet(), only="align")[0].status == "fresh"


def test_a_recogniser_in_the_design_limits_the_pairs_and_its_family_is_said(audit):
    folder = extended(audit, EMBED)
    outcomes = {outcome.stage: outcome for outcome in run(folder, voice=Quiet())}
    vectors = lw.Vectors.read(audit / "embeddings.npz")
    assert vectors.source == "recogniser world-recogniser, family world"
    pairs = lw.Pairs.read(audit / "pairs.parquet").frame
    apart = np.linalg.norm(vectors.take(list(pairs["a"])) - vectors.take(list(pairs["b"])), axis=1)
    assert (apart < 5).all()
    assert any("same family (world)" in note for note in outcomes["embed"].notes)
    assert "same family (world)" in (audit / "report.html").read_text()
    strict = (audit / "audit.toml").read_text().replace("within = 5.0", f"within = {apart.max() * 0.99}")
    (audit / "audit.toml").write_text(strict)
    made = {outcome.stage: outcome.status for outcome in run(folder, voice=Quiet(), only="match")}
    assert made == {"match": "made"}
    assert not lw.Pairs.read(audit / "pairs.parquet").frame[["a", "b"]].equals(pairs[["a", "b"]])


def test_a_recogniser_whose_distance_is_no_distance_of_embeddings_needs_a_limit(audit):
    folder = extended(audit, EMBED.replace("within = 5.0", ""))
    for stage in ("read", "project", "embed"):
        run(folder, voice=Quiet(), only=stage)
    with pytest.raises(PlanError, match="within"):
        run(folder, voice=Quiet(), only="match")


def test_given_vectors_of_a_family_under_audit_are_pointed_out(audit):
    run(str(audit), voice=Quiet(), only="read")
    faces = lw.Faces.read(audit / "faces.parquet")
    values = np.random.default_rng(0).normal(size=(len(faces), 4))
    lw.Vectors(faces.images, values, source="recogniser mine, family world").write(audit / "own.npz")
    plan = audit / "audit.toml"
    plan.write_text('vectors = "own.npz"\n' + plan.read_text())
    (outcome,) = run(str(audit), voice=Quiet(), only="project")
    assert "same family (world)" in outcome.notes[0]
    assert Folder(audit).sidecar("latents").notes == outcome.notes
