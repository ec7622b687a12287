"""One step after the encoder: nearer to the image than its guess, and fitted to photographs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from likewise.latents.gradient import Descent, quick_solver
from likewise.latents.projection import ProjectSpec, solver
from likewise.models.generators.curvature import DEPTH, curvature_of
from likewise.models.generators.mobilestylegan import MobileStyleGAN
from likewise.models.generators.photographs import EMBEDDED, FILE, correction_of
from likewise.models.perception.lpips import LpipsAlex
from likewise.models.training import photographs as training
from tiny import Tiny

QUICK, ENCODER = (
    ProjectSpec(generator="mobilestylegan", perceptual="lpips-alex", method=method) for method in ("quick", "encoder")
)


@pytest.fixture(scope="module")
def generator(weights) -> MobileStyleGAN:
    for name in ("mobilestylegan-ffhq", "lpips-alexnet", "mobilefacenet"):
        weights(name)
    return MobileStyleGAN()


def test_each_image_is_found_by_itself(generator):
    images = generator.synthesize(generator.sample_w(2, seed=5), 256)
    quick = solver(QUICK)[2]
    w, left = quick(images)
    assert (left < 0.7 * quick.from_mean(images)).all()
    np.testing.assert_allclose(quick(images[1:])[0], w[1:], atol=0.02)


def test_a_step_comes_nearer_than_the_encoder(generator, monkeypatch):
    """On drawn faces, to which the encoder was fitted: without the move to where photographs lie."""
    monkeypatch.setattr("likewise.latents.gradient.correction_of", lambda _: None)
    images = generator.synthesize(generator.sample_w(3, seed=5), 256)
    quick, encoder = (solver(spec)[2] for spec in (QUICK, ENCODER))
    assert quick(images)[1].mean() < 0.9 * encoder(images)[1].mean()


def test_of_many_images_a_part_is_compared(generator):
    images = generator.synthesize(generator.sample_w(2, seed=6), 256)
    w, left = solver(QUICK, every=10**9)[2](images)
    assert np.isfinite(w).all()
    assert np.isnan(left).all()


def test_without_the_curvature_the_step_is_adams(generator):
    assert quick_solver(Tiny(), LpipsAlex(), weight=0.1) is None
    assert quick_solver(generator, LpipsAlex(), weight=np.inf) is None
    tied = solver(ProjectSpec(generator="mobilestylegan", perceptual="lpips-alex", method="quick", lambda_=np.inf))[2]
    assert isinstance(getattr(tied.traced, "__self__", None), Descent)


def test_who_had_a_part_is_named(generator):
    assert quick_solver(generator, LpipsAlex(), weight=0.1).families == ("mobilefacenet",)
    alone = quick_solver(generator, LpipsAlex(), weight=0.1, identity="")
    assert alone.words == "encoder start"


def test_the_shipped_correction_moves_along_what_is_seen(generator):
    correction = correction_of(generator)
    assert correction is not None
    assert correction_of(Tiny()) is None
    assert FILE.stat().st_size < 1e5
    moves = correction(torch.nn.functional.normalize(torch.randn(4, EMBEDDED)))
    assert moves.shape == (4, DEPTH)
    assert moves.std(dim=0).mean() > 0  # it depends on whom the photograph shows


def test_the_fit_finds_a_planted_map_again(generator, tmp_path, capsys):
    """Where moves are linear in embeddings, small noise aside, unseen ones are predicted."""
    curvature, rng = curvature_of(generator), torch.Generator().manual_seed(3)
    embedded = torch.randn(400, EMBEDDED, generator=rng)
    truth = torch.randn(EMBEDDED, DEPTH, generator=rng)
    added = 1 + embedded @ truth + 0.1 * torch.randn(400, DEPTH, generator=rng)
    made = training.fit(embedded[:300], added[:300], curvature)
    missed = (made(embedded[300:]) - added[300:]).square().sum() / (added[300:] - 1).square().sum()
    assert missed < 0.4  # a ridge shrinks
    assert "is missed" in capsys.readouterr().out
    training.write(made, tmp_path / "c.safetensors", of="nobody")
    assert load_file(tmp_path / "c.safetensors")["slopes"].dtype == np.float16
