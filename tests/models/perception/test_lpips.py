"""LPIPS and the L1 on VGG16 are what their papers say: held to a second implementation in NumPy and float64."""

from __future__ import annotations

import hashlib
import pickle

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from likewise.errors import ImageError, SpecError, WeightsError
from likewise.models.differentiable import DifferentiablePerceptual, differentiable
from likewise.runtime.registry import create
from likewise.weights.convert.lpips import convert

HEADS = {
    "lpips-vgg16": "9153a2043dccf3b525d4f13db916e93ef040548ea923b6f2100de5ebac141a78",
    "lpips-alexnet": "718a8b40b0d22f96192d34ab93c0db5c7943558ff6c2407f44812dce2f29b5f4",
}
"""sha256 of the five heads' float32 bytes in the package lpips 0.1.4, weights/v0.1/{vgg,alex}.pth."""


@pytest.fixture(scope="module")
def tensors(weights):
    return {name: load_file(weights(name)) for name in HEADS}


@pytest.fixture(scope="module", params=["lpips-vgg", "lpips-alex", "vgg-l1"])
def component(request, tensors):
    return create("perceptual", request.param)


@pytest.fixture(scope="module")
def signals():
    rng = np.random.default_rng(0)
    smooth = np.cumsum(np.cumsum(rng.normal(size=(4, 3, 72, 64)), axis=2), axis=3)
    return (smooth / np.abs(smooth).max(axis=(1, 2, 3), keepdims=True)).astype(np.float32)


def conv(x, weight, bias, stride=1, padding=1):
    """Correlate ``x [c, h, w]`` with ``weight [o, c, k, k]``, then keep what is positive."""
    k = weight.shape[2]
    padded = np.pad(x, ((0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (k, k), axis=(1, 2))[:, ::stride, ::stride]
    out = np.einsum("chwij,ocij->ohw", windows, weight.astype(np.float64), optimize=True)
    return np.maximum(out + bias[:, None, None], 0)


def pool(x, k):
    windows = np.lib.stride_tricks.sliding_window_view(x, (k, k), axis=(1, 2))[:, ::2, ::2]
    return windows.max(axis=(3, 4))


def vgg(x, tensors, blocks=5):
    seen = []
    for i in range((2, 4, 7, 10, 13)[blocks - 1]):
        x = conv(x, tensors[f"convs.{i}.weight"], tensors[f"convs.{i}.bias"])
        if i in (1, 3, 6, 9, 12):
            seen.append(x)
            x = pool(x, 2)
    return seen


def alex(x, tensors):
    seen = []
    for i, (stride, padding) in enumerate([(4, 2), (1, 2), (1, 1), (1, 1), (1, 1)]):
        x = pool(x, 3) if i in (1, 2) else x
        x = conv(x, tensors[f"convs.{i}.weight"], tensors[f"convs.{i}.bias"], stride, padding)
        seen.append(x)
    return seen


def lpips(a, b, network, tensors):
    shift, scale = np.array([[-0.030, -0.088, -0.188], [0.458, 0.448, 0.450]])[:, :, None, None]
    total = 0.0
    for i, (x, y) in enumerate(zip(*(network((s - shift) / scale, tensors) for s in (a, b)), strict=True)):
        u, v = (s / (np.sqrt(np.square(s).sum(axis=0)) + 1e-10) for s in (x, y))
        total += np.einsum("chw,c->hw", np.square(u - v), tensors[f"heads.{i}"].astype(np.float64)).mean()
    return total


@pytest.mark.parametrize(
    ("name", "network", "weight"), [("lpips-vgg", vgg, "lpips-vgg16"), ("lpips-alex", alex, "lpips-alexnet")]
)
def test_lpips_is_equal_to_a_second_implementation(name, network, weight, tensors, signals):
    expected = [
        lpips(signals[i].astype(float), signals[i + 1].astype(float), network, tensors[weight]) for i in range(2)
    ]
    np.testing.assert_allclose(create("perceptual", name).distance(signals[:2], signals[1:3]), expected, rtol=2e-4)


def test_vgg_l1_is_equal_to_a_second_implementation(tensors, signals):
    a, b = np.kron(signals[:2, :, :56, :56], np.ones((2, 2)))  # already 112 px, so that nothing is resized
    mean, spread = np.array([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])[:, :, None, None]
    seen = [vgg(((s + 1) / 2 - mean) / spread, tensors["lpips-vgg16"], blocks=4) for s in (a, b)]
    x, y = (np.concatenate([part.ravel() for part in parts]) for parts in seen)
    assert x.size == 1_505_280
    got = create("perceptual", "vgg-l1").distance(a[None].astype(np.float32), b[None].astype(np.float32))
    np.testing.assert_allclose(got, [np.abs(x - y).mean()], rtol=2e-4)


@pytest.mark.parametrize("name", sorted(HEADS))
def test_the_heads_are_the_published_ones_bit_by_bit(name, tensors):
    digest = hashlib.sha256()
    for i in range(5):
        digest.update(np.ascontiguousarray(tensors[name][f"heads.{i}"], "<f4").tobytes())
    assert digest.hexdigest() == HEADS[name]


def test_it_keeps_the_slot(component, signals):
    assert differentiable(component, DifferentiablePerceptual) is component
    whole = component.distance(signals, signals[::-1])
    np.testing.assert_allclose(whole, whole[::-1], rtol=1e-4)  # symmetric
    np.testing.assert_allclose(component.distance(signals[1:2], signals[2:3]), whole[1:2], rtol=1e-4)  # alone or not
    np.testing.assert_array_equal(component.distance(signals, signals), 0)
    features = component.features(signals)
    apart = features - features[::-1]
    again = np.abs(apart).mean(axis=1) if component.name == "vgg-l1" else np.square(apart).mean(axis=1)
    np.testing.assert_allclose(again, whole, rtol=1e-3)
    assert component.distance(signals[:0], signals[:0]).shape == (0,)


def test_gradients_agree_with_differences(component, signals):
    a, b = torch.from_numpy(signals[:1]), torch.from_numpy(signals[1:2])
    a.requires_grad_()
    (slope,) = torch.autograd.grad(component.compare(a, b).sum(), a)
    step = 0.02 * slope / slope.norm()
    with torch.inference_mode():
        change = component.compare(a + step, b) - component.compare(a - step, b)
    assert change.item() == pytest.approx(0.04 * slope.norm().item(), rel=0.1)


def test_gradients_are_finite_where_nothing_is_seen(component):
    flat = torch.zeros(1, 3, 64, 64, requires_grad=True)
    (slope,) = torch.autograd.grad(component.compare(flat, torch.zeros(1, 3, 64, 64)).sum(), flat)
    assert slope.isfinite().all()


def test_large_images_are_reduced_unless_asked_not_to(tensors, signals):
    large = np.kron(signals[:2, :, :64], np.ones((6, 6), np.float32))  # 384 px
    small = create("perceptual", "lpips-alex", {"size": 64})
    np.testing.assert_allclose(
        small.distance(large[:1], large[1:]), small.distance(signals[:1, :, :64], signals[1:2, :, :64]), rtol=1e-3
    )
    native = create("perceptual", "lpips-alex", {"size": 0})
    assert abs(native.distance(large[:1], large[1:]) - small.distance(large[:1], large[1:])) > 1e-3


def test_images_that_do_not_fit_are_refused(component, tensors):
    for shape in ((1, 1, 64, 64), (1, 3, 4, 4), (3, 64, 64)):
        with pytest.raises(ImageError, match="needs \\[n, 3, H, W\\]"):
            component.distance(np.zeros(shape, np.float32), np.zeros(shape, np.float32))
    with pytest.raises(ImageError, match="differ in shape"):
        component.distance(np.zeros((1, 3, 64, 64), np.float32), np.zeros((1, 3, 64, 32), np.float32))
    with pytest.raises(SpecError, match="at least 32"):
        create("perceptual", "lpips-vgg", {"size": 16})


def test_the_wrong_weights_are_refused(weights):
    with pytest.raises(WeightsError, match="does not hold the network 'lpips-vgg16' but a file of 'lpips-alexnet'"):
        create("perceptual", "lpips-vgg", {"weights": str(weights("lpips-alexnet"))})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda tree: tree["AlexNet_0"].pop("Conv_4"), "'AlexNet_0/Conv_4/kernel'"),
        (lambda tree: tree.update(extra={"a": np.zeros(1)}), "Unknown arrays .*'extra/a'"),
        (lambda tree: tree.update(VGG16_0={"Conv_0": {"bias": np.zeros(1)}}), "holds one of"),
        (lambda tree: tree["NetLinLayer_0"].update(Conv_0=np.zeros(3)), "none of that name"),
        (lambda tree: tree.update(extra=3), "tree of dicts"),
    ],
)
def test_another_checkpoint_is_not_taken_for_it(change, said, tmp_path):
    tree = {"AlexNet_0": {f"Conv_{i}": {"kernel": np.zeros((1, 1, 2, 2)), "bias": np.zeros(2)} for i in range(5)}}
    tree |= {f"NetLinLayer_{i}": {"Conv_0": {"kernel": np.zeros((1, 1, 2, 1))}} for i in range(5)}
    change(tree)
    (tmp_path / "a.ckpt").write_bytes(pickle.dumps(tree))
    with pytest.raises(WeightsError, match=said):
        convert({"a.ckpt": tmp_path / "a.ckpt"}, tmp_path / "out")
    assert not (tmp_path / "out").exists()
