"""MobileStyleGAN is the network of the export: equal to the reference runtime, smooth, deterministic."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from likewise.errors import PluginError, SpecError, VectorError, WeightsError
from likewise.models.differentiable import DifferentiableGenerator, differentiable
from likewise.models.generators import mobilestylegan
from likewise.models.generators.base import truncate
from likewise.models.generators.mobilestylegan import MobileStyleGAN, Pointwise, haar
from likewise.models.training.curvature import principal_axes
from likewise.models.training.exits import bands, fitted, latents, psnr, refined
from likewise.runtime.registry import create
from likewise.weights.convert.mobilestylegan import METADATA

REFERENCE = Path(__file__).parents[2] / "fixtures" / "mobilestylegan" / "reference.npz"
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
    coefficients = torch.cat([low, bands], dim=1).permute(0, 2, 3, 1)
    np.testing.assert_allclose(haar(coefficients).permute(0, 3, 1, 2), x, atol=1e-12)


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
    assert "non-commercial" in generator.license
    w = generator.sample_w(2, seed=5)
    np.testing.assert_array_equal(w, generator.sample_w(2, seed=5))
    rows = np.tile(w[:, None], (1, 23, 1))
    both, alone = generator.synthesize(rows), generator.synthesize(w[1:])
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


def test_exits_look_like_the_full_image_averaged_down(generator):
    assert generator.sizes == (64, 128, 256, 1024)
    w = truncate(generator.sample_w(3, seed=11), generator.mean_w(), 0.7)
    full = torch.from_numpy(generator.synthesize(w))
    for size, least in ((64, 23.5), (128, 25.5), (256, 34.0)):
        drawn, goal = generator.synthesize(w, size), torch.nn.functional.adaptive_avg_pool2d(full, size).numpy()
        np.testing.assert_array_equal(drawn, generator.synthesize(w, size))
        psnr = 10 * np.log10(4 / np.square(drawn - goal).mean(axis=(1, 2, 3)))
        assert psnr.mean() > least, f"{size} px: {psnr}"


@pytest.mark.parametrize("size", [64, 128, 256, None])
def test_a_draft_looks_and_slopes_like_the_drawing(generator, size, monkeypatch):
    monkeypatch.setattr(mobilestylegan, "computes_in_bfloat16", lambda _: True)  # emulated where it is not there
    shown = generator.resolution if size is None else size
    w = torch.from_numpy(generator.sample_w(2, 3))[:, None].repeat(1, generator.rows, 1)
    w[1:] += 0.1 * torch.randn(w[1:].shape, generator=torch.Generator().manual_seed(0))
    toward = torch.nn.functional.interpolate(torch.rand(2, 3, 8, 8), size=shown, mode="bilinear")
    drawn, slopes = [], []
    for draw in (generator.draw, generator.draft):
        at = w.clone().requires_grad_()
        drawn.append(draw(at, size=size))
        slopes.append(torch.autograd.grad((drawn[-1] - toward).square().mean(), at)[0].flatten(1))
    assert drawn[1].dtype == slopes[1].dtype == torch.float32
    assert 10 * torch.log10(4 / (drawn[0] - drawn[1]).square().mean()) > 42
    assert torch.nn.functional.cosine_similarity(*slopes).min() > 0.97


def test_a_draft_is_the_drawing_where_the_processor_lacks_bfloat16(generator, monkeypatch):
    monkeypatch.setattr(mobilestylegan, "computes_in_bfloat16", lambda _: False)
    w = torch.from_numpy(generator.sample_w(1, 3))
    with torch.inference_mode():
        assert torch.equal(generator.draft(w, size=64), generator.draw(w, size=64))


def test_the_largest_exit_draws_rows_that_lie_apart_without_dots(generator):
    """As in projected latents. Dots are a pattern of two pixels that is everywhere: a mean wavelet coefficient."""
    noise = torch.randn(2, 23, 512, generator=torch.Generator().manual_seed(0)) @ principal_axes(generator)
    w = torch.from_numpy(truncate(generator.sample_w(2, seed=11), generator.mean_w(), 0.7))[:, None] + 0.7 * noise
    with torch.inference_mode():
        goal = torch.cat([torch.nn.functional.adaptive_avg_pool2d(generator.draw(row), 256) for row in w[:, None]])
        apart = generator.draw(w, size=256) - goal
    assert (10 * torch.log10(4 / apart.square().mean(dim=(1, 2, 3))) > 33).all()
    assert bands(apart)[..., 3:].mean(dim=(1, 2)).abs().max() < 0.01  # 0.02 is seen on even skin


def test_projected_latents_are_read_without_those_that_ended_in_noise(tmp_path):
    for number in range(11):
        np.save(tmp_path / f"{number:02d}.npy", np.full((23, 512), 20.0 if number == 3 else number / 10, np.float32))
    np.save(tmp_path / "99.part.npy", np.zeros((23, 512), np.float32))  # of a run that was stopped
    seen, apart = refined(tmp_path)
    assert (len(seen), len(apart)) == (8, 2)
    np.testing.assert_allclose(apart[:, 0, 0], [0.5, 1.0])


def test_an_exit_follows_every_row(generator):
    w = torch.from_numpy(generator.sample_w(1, seed=3))[:, None].repeat(1, 23, 1).requires_grad_()
    for size in (64, 128, 256):
        (slope,) = torch.autograd.grad(generator.draw(w, size=size).square().mean(), w)
        assert (slope.abs().amax(dim=2) > 0).all()


def test_exits_are_left_out_for_other_weights(path, tmp_path):
    tensors = load_file(path)
    tensors["input"] = tensors["input"] + 1
    save_file(tensors, tmp_path / "other.safetensors", METADATA)
    assert MobileStyleGAN(str(tmp_path / "other.safetensors")).sizes == (1024,)


def test_exits_can_be_fitted_again(generator):
    w = latents(generator, 5, seed=1)
    assert w.shape == (5, 23, 512)
    np.testing.assert_array_equal(w, latents(generator, 5, seed=1))
    goals = generator.draw(w, size=64)
    np.testing.assert_allclose(haar(bands(goals)).permute(0, 3, 1, 2), goals, atol=1e-5)
    again = fitted(generator.network, 64, w, goals)  # what an exit draws itself, it must be able to learn
    assert psnr(generator.network, again, w, goals) > 40


def test_the_mean_latent_is_the_mean_of_samples(generator):
    w = generator.sample_w(4000, seed=9)
    apart = np.abs(w.mean(axis=0) - generator.mean_w()) / (w.std(axis=0) * np.sqrt(1 / 4000 + 1 / 10_000))
    assert apart.max() < 5


@pytest.mark.parametrize(
    ("shape", "size", "error", "said"),
    [
        ((1, 22, 512), None, VectorError, r"\[n, 23, 512\] or \[n, 512\]"),
        ((1, 511), None, VectorError, "511"),
        ((1, 23, 512), 100, SpecError, "'64', '128', '256', '1024'"),
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
    assert half.license.startswith("not stated")
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
        "silent": (tensors, {}, "names no network"),
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


def test_the_slopes_of_a_styled_convolution_are_its_slopes():
    draw = torch.Generator().manual_seed(1)
    shapes = ((2, 5, 3), (4, 3), (2, 3))  # pixels, weight, style
    given = [torch.randn(shape, generator=draw, dtype=torch.float64, requires_grad=True) for shape in shapes]
    assert torch.autograd.gradcheck(Pointwise.apply, given)
    pixels, weight, style = given
    np.testing.assert_allclose(
        Pointwise.apply(*given).detach(), torch.einsum("npi,oi,ni->npo", pixels, weight, style).detach(), atol=1e-12
    )


@pytest.mark.parametrize("size", [64, 1024])
def test_slopes_are_not_copied_on_their_way_back(generator, size):
    """A change in place of a view would have the whole slope copied: a fifth of a step at 1024 px."""
    w = torch.from_numpy(generator.sample_w(1, seed=0)).expand(generator.rows, -1)[None].clone().requires_grad_()
    todo, seen = [generator.draw(w, size=size).grad_fn], set()
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [before for before, _ in node.next_functions]
    names = {type(node).__name__ for node in seen}
    assert "PointwiseBackward" in names
    assert "CopySlices" not in names


def test_a_draft_has_slopes_although_the_first_was_drawn_without(weights):
    weights("mobilestylegan-ffhq")
    generator = MobileStyleGAN()
    w = torch.from_numpy(generator.sample_w(1, seed=2))[:, None].repeat(1, generator.rows, 1)
    with torch.inference_mode():
        generator.draft(w, size=64)
    w.requires_grad_()
    (slope,) = torch.autograd.grad(generator.draft(w, size=64).sum(), w)
    assert slope.abs().sum() > 0
