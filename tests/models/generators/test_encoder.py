"""The encoder finds faces again that it never saw; it belongs to one generator."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from likewise.errors import PluginError
from likewise.latents.directions import shipped
from likewise.latents.encoder import Eyeglasses, encoder_solver, eyeglasses_of
from likewise.latents.projection import ProjectSpec, solver
from likewise.models.generators.encoder import (
    FILE,
    GROUPS,
    SEEN,
    SIZE,
    Encoder,
    FeatureExtractor,
    encode,
    encoder_of,
    has_encoder,
)
from likewise.models.generators.mobilestylegan import MobileStyleGAN
from likewise.models.training.encoder import degraded, directions_of, draw_part, fit, latents, write
from likewise.runtime.registry import create
from likewise.simulation.components import Pixels
from likewise.weights.convert.mobilestylegan import METADATA
from tiny import Squares, Tiny


@pytest.fixture(scope="module")
def generator(weights) -> MobileStyleGAN:
    for name in ("mobilestylegan-ffhq", "lpips-alexnet", "mobilefacenet"):
        weights(name)
    return create("generator", "mobilestylegan", {"truncation": 0.8})


@pytest.fixture(scope="module")
def eye(generator) -> FeatureExtractor:
    return FeatureExtractor()


@pytest.fixture(scope="module")
def found(generator, eye) -> tuple[np.ndarray, np.ndarray]:
    """Fresh faces ``w``, drawn larger than those that were learned from, and what the encoder says."""
    w = generator.sample_w(12, seed=987)
    drawn = torch.from_numpy(generator.synthesize(w, 256))
    return w, encode(encoder_of(generator), eye, drawn).numpy()


def test_a_face_is_found_nearer_than_the_mean_latent(generator, found):
    """The mean row misses at most 0.7 of the squared distance that the mean latent is away."""
    w, latents_ = found
    away = np.square(w - generator.mean_w()).sum(axis=1)
    missed = np.square(latents_.mean(axis=1) - w).sum(axis=1)
    assert missed.mean() < 0.7 * away.mean()


def test_every_face_is_found_among_the_others(found):
    w, latents_ = found
    mean = w.mean(axis=0)
    a, b = w - mean, latents_.mean(axis=1) - mean
    cosine = (a @ b.T) / np.linalg.norm(a, axis=1)[:, None] / np.linalg.norm(b, axis=1)
    assert (cosine.argmax(axis=0) == np.arange(len(w))).all()


def test_what_is_drawn_looks_more_like_the_image_than_the_mean_face(generator, found):
    w, after = found
    perceptual = create("perceptual", "lpips-alex")
    images = generator.synthesize(w, 128)
    left = perceptual.distance(images, generator.synthesize(after, 128))
    mean = generator.synthesize(generator.mean_w()[None], 128).repeat(len(w), axis=0)
    assert left.mean() < 0.7 * perceptual.distance(images, mean).mean()


def test_it_says_the_same_again_and_of_each_image_alone(generator, eye, found):
    w, after = found
    alone = encode(encoder_of(generator), eye, torch.from_numpy(generator.synthesize(w[3:4], 256)))
    np.testing.assert_allclose(alone[0], after[3], atol=2e-3)
    assert all(np.ptp(after[0, start:end], axis=0).max() == 0 for start, end in GROUPS)  # a row for each group


def test_the_method_encoder_projects(generator):
    spec = ProjectSpec(generator="mobilestylegan", perceptual="lpips-alex", method="encoder")
    _, _, solve = solver(spec)
    images = generator.synthesize(generator.sample_w(2, seed=5), 256)
    w, left = solve(images)
    assert w.shape == (2, 23, 512)
    assert (left < solve.from_mean(images)).all()
    assert solve.families == ("mobilefacenet",)
    assert "mobilefacenet" in solve.words


def test_a_part_of_the_latents_is_compared_whatever_the_batch(generator):
    spec = ProjectSpec(generator="mobilestylegan", perceptual="lpips-alex", method="encoder")
    _, _, solve = solver(spec, every=2)
    images = generator.synthesize(generator.sample_w(8, seed=6), 256)
    w, left = solve(images)
    assert np.isfinite(w).all()
    assert 0 < np.isfinite(left).sum() < 8
    assert (np.isfinite(solve.from_mean(images)) == np.isfinite(left)).all()
    one_by_one = np.concatenate([solve(image[None])[1] for image in images])
    np.testing.assert_allclose(one_by_one, left, rtol=1e-3)


def test_eyeglasses_are_put_on_and_other_attributes_held(generator):
    """A start that may lack eyeglasses is moved to the score of a face that wears some; one that has them is left."""
    known, glasses = shipped("mobilestylegan"), eyeglasses_of(generator)
    w = torch.from_numpy(generator.sample_w(40, seed=11))[:, None].repeat(1, generator.rows, 1)
    worn = glasses.put_on(w)
    change = (worn - w).mean(dim=1).numpy() @ known.gradients.T
    held = [name not in ("predicted_eyeglasses", "measured_background") for name in known.names]
    np.testing.assert_allclose(change[:, held], 0, atol=1e-3)
    scores = (w[:, 0].numpy() - generator.mean_w()) @ known.gradients[known.names.index("predicted_eyeglasses")]
    between = (scores > Eyeglasses.SUSPECTED) & (scores < Eyeglasses.WORN)
    assert 0 < between.sum() < 40
    np.testing.assert_array_equal(glasses.suspected(w), between)
    after = scores + change[:, known.names.index("predicted_eyeglasses")]
    np.testing.assert_allclose(after, Eyeglasses.WORN, atol=1e-3)
    assert glasses.band(generator.draw(w[:1], size=64)).shape == (1, 3, 26, 78)
    assert eyeglasses_of(Tiny()) is None


def test_another_generator_is_refused(generator, weights, tmp_path):
    with pytest.raises(PluginError, match="no encoder for 'tiny', only for mobilestylegan"):
        encoder_solver(Tiny(), Squares())
    tensors = load_file(weights("mobilestylegan-ffhq"))
    tensors["input"] = tensors["input"] + 1
    save_file(tensors, tmp_path / "other.safetensors", METADATA)
    other = MobileStyleGAN(str(tmp_path / "other.safetensors"))
    with pytest.raises(PluginError, match=r"trained for other weights .*refine"):
        encoder_solver(other, Pixels())
    assert has_encoder(generator)
    assert not has_encoder(other)


def test_the_shipped_file_is_small(generator):
    assert FILE.stat().st_size < 20e6
    encoder = encoder_of(generator)
    np.testing.assert_allclose(encoder.directions @ encoder.directions.T, np.eye(len(encoder.directions)), atol=1e-4)
    np.testing.assert_allclose(encoder.mean, generator.mean_w(), atol=1e-6)


def test_places_and_latents_belong_together(generator):
    encoder = encoder_of(generator)
    rng = np.random.default_rng(0)
    places = torch.from_numpy(rng.normal(size=(2, len(GROUPS), len(encoder.directions))).astype(np.float32))
    np.testing.assert_allclose(encoder.coordinates(encoder.at(places)), places, atol=1e-4)


def test_it_can_be_trained_again(generator, eye, tmp_path, monkeypatch):
    """A small training: what it has learned from is read off well, and the file is read again as it was."""
    monkeypatch.setattr("likewise.models.training.encoder.PART", 20)
    monkeypatch.setattr("likewise.models.training.encoder.RIDGES", (1.0,))
    parts = [draw_part(generator, eye, number) for number in (0, 1, 2)]
    np.testing.assert_array_equal(parts[1]["w"], draw_part(generator, eye, 1)["w"])
    paths = [tmp_path / f"{number}.npz" for number in range(6)]
    for number, path in enumerate(paths):
        np.savez(path, **parts[number % 3])  # the part kept apart is one that was learned from
    encoder = Encoder()
    encoder.mean.copy_(torch.from_numpy(generator.mean_w()))
    encoder.directions.copy_(directions_of(generator, n=2000))
    fit(encoder, paths)
    seen, w = (torch.from_numpy(parts[0][name]).float() for name in ("seen", "w"))
    assert seen.shape == (20, SEEN)
    truth = encoder.coordinates(w)
    assert (encoder(seen) - truth).square().sum() < 0.05 * truth.square().sum()
    write(encoder, tmp_path / "encoder.safetensors", of="nobody")
    np.testing.assert_array_equal(load_file(tmp_path / "encoder.safetensors")["scale"], encoder.scale)


def test_faces_are_degraded_but_not_beyond_recognition(generator):
    x = generator.draw(latents(generator, 4, seed=3), size=SIZE).clamp(-1, 1)
    y = degraded(x, np.random.default_rng(0))
    assert torch.equal(y, degraded(x, np.random.default_rng(0)))
    off = (x - y).square().mean(dim=(1, 2, 3))
    assert 0 < off.max() < 0.1
