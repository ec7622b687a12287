"""MobileStyleGAN is the network of the export: equal to the reference runtime, smooth, deterministic."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from likewise.errors import PluginError, SpecError, VectorError, WeightsError
from likewise.models.differentiable import DifferentiableGenerator, differentiable
from likewise.models.mobilestylegan import MobileStyleGAN, haar
from likewise.plugins import create
from likewise.weights.convert.mobilestylegan import METADATA

REFERENCE = Path(__file__).parents[1] / "data" / "mobilestylegan" / "reference.npz"
"""What OpenVINO's runtime draws; make.py beside it says how it was made."""


@pytest.fixture(scope="module")
def path(weights) -> Path:
    return weights("mobilestylegan-ffhq")


@pytest.fixture(scope="module")
def generator(path) -> MobileStyleGAN:
    return create("generator", "mobilestylegan")


def test_haar_undoes_a_wavelet():
    x = torch.randn(2, 3, 8, 6, dtype=torch.float64)
    a, b, c, d = x[..., ::2, ::2], x[..., ::2, 1::2], x[..., 1::2, ::2], x[..., 1::2, 1::2]
    low, down, right, both = (a + b + c + d) / 2, (a + b - c - d) / 2, (a - b + c - d) / 2, (a - b - c + d) / 2
    bands = torch.stack([down, right, both], dim=2).flatten(1, 2)
    np.testing.assert_allclose(haar(torch.cat([low, bands], dim=1)), x, atol=1e-12)


@pytest.mark.parametrize("seed", [1, 2])
def test_it_is_equal_to_the_reference_runtime(generator, seed):
    kept = np.load(REFERENCE)
    w = torch.from_numpy(generator.sample_w(1, seed))
    np.testing.assert_allclose(w[0], kept[f"w_{seed}"], atol=2e-5)
    with torch.inference_mode():
        image = generator.draw(torch.from_numpy(kept[f"w_{seed}"])[None])[0].numpy()
    places = np.random.default_rng(seed).choice(image.size, 20_000, replace=False)
    np.testing.assert_allclose(image.ravel()[places], kept[f"values_{seed}"], atol=2e-4)
    np.testing.assert_allclose(image[:, 480:544, 380:444], kept[f"patch_{seed}"], atol=2e-4)
    np.testing.assert_allclose(image.reshape(3, 64, 16, 64, 16).mean(axis=(2, 4)), kept[f"means_{seed}"], atol=2e-4)


def test_it_keeps_the_slot_and_draws_the_same_alone_and_in_a_batch(generator):
    assert differentiable(generator, DifferentiableGenerator) is generator
    assert (generator.rows, generator.dim, generator.resolution) == (23, 512, 1024)
    assert "non-commercial" in generator.licence
    w = generator.sample_w(2, seed=5)
    np.testing.assert_array_equal(w, generator.sample_w(2, seed=5))
    rows = np.tile(w[:, None], (1, 23, 1))
    both, alone = generator.synthesise(rows), generator.synthesise(w[1:])
    np.testing.assert_allclose(both[1], alone[0], atol=1e-4)
    assert both.shape == (2, 3, 1024, 1024)
    assert np.abs(both).max() == 1  # cut off, for there is always something that overshoots


def test_gradients_reach_every_row_and_agree_with_differences(generator):
    w = torch.from_numpy(generator.sample_w(1, seed=3))[:, None].repeat(1, 23, 1).requires_grad_()
    patch = generator.draw(w)[0, 1, 500:520, 500:520].mean()
    (slope,) = torch.autograd.grad(patch, w)
    assert (slope.abs().amax(dim=2) > 0).all()
    with torch.inference_mode():
        step = 0.01 * slope / slope.norm()
        ahead, behind = (generator.draw(w + s * step)[0, 1, 500:520, 500:520].mean() for s in (1, -1))
    assert (ahead - behind).item() == pytest.approx(2 * 0.01 * slope.norm().item(), rel=0.02)


def test_the_mean_latent_is_the_mean_of_samples(generator):
    w = generator.sample_w(4000, seed=9)
    apart = np.abs(w.mean(axis=0) - generator.mean_w()) / (w.std(axis=0) * np.sqrt(1 / 4000 + 1 / 10_000))
    assert apart.max() < 5


@pytest.mark.parametrize(
    ("shape", "size", "error", "said"),
    [
        ((1, 22, 512), None, VectorError, r"\[n, 23, 512\] or \[n, 512\]"),
        ((1, 511), None, VectorError, "511"),
        ((1, 23, 512), 100, SpecError, "'1024'"),
    ],
)
def test_latents_and_sizes_that_do_not_fit_are_refused(generator, shape, size, error, said):
    with pytest.raises(error, match=said):
        generator.draw(torch.zeros(shape), size=size)


def test_a_file_of_half_precision_is_drawn_in_float32(generator, path, tmp_path):
    halves = {name: value.astype(np.float16) for name, value in load_file(path).items()}
    save_file(halves, tmp_path / "half.safetensors", METADATA)
    half = MobileStyleGAN(str(tmp_path / "half.safetensors"))
    assert half.network.input.dtype == torch.float32
    assert half.licence.startswith("not stated")
    w = torch.from_numpy(generator.sample_w(1, seed=4))
    with torch.inference_mode():
        assert (half.draw(w) - generator.draw(w)).abs().mean() < 0.01


def test_a_wrong_file_is_refused(path, tmp_path):
    tensors = load_file(path)
    cases = {
        "short": ({k: v for k, v in tensors.items() if k != "to_img.bias"}, METADATA, "1 missing: 'to_img.bias'"),
        "long": ({**tensors, "extra": np.zeros(1, np.float32)}, METADATA, "1 unknown: 'extra'"),
        "shape": ({**tensors, "mean_w": np.zeros(3, np.float32)}, METADATA, r"mean_w: \(3,\) for \(512,\)"),
        "other": (tensors, {"network": "vgg16"}, "'vgg16'"),
        "silent": (tensors, {}, "does not say whose"),
    }
    for name, (held, metadata, said) in cases.items():
        save_file(held, tmp_path / name, metadata)
        with pytest.raises(WeightsError, match=said):
            MobileStyleGAN(str(tmp_path / name))
    (tmp_path / "text").write_text("not a safetensors file")
    with pytest.raises(WeightsError, match="weights add"):
        MobileStyleGAN(str(tmp_path / "text"))


def test_cuda_that_is_absent_is_an_error(path):
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(PluginError, match="0 CUDA devices"):
        create("generator", "mobilestylegan", {"device": "cuda"})
    with pytest.raises(PluginError, match="'cpu', 'cuda' or"):
        create("generator", "mobilestylegan", {"device": "gpu"})
