"""Noise maps that move along: against the published steps, written a second time by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from likewise.latents.gradient import SINGH2021, Cloud, Objective, Phase, descend, solver_of
from likewise.latents.noise import NoiseMaps, unlike_noise
from likewise.models.generators.stylegan2 import StyleGAN2
from likewise.weights.convert.stylegan2 import nvidia as stylegan2_nvidia
from stylegan2_files import Shape, nvidia, raw
from tiny import Squares, Tiny


@pytest.fixture(scope="module")
def generator(tmp_path_factory):
    folder, shape = tmp_path_factory.mktemp("stylegan2"), Shape()
    nvidia(folder / "given", shape, raw(shape, seed=1))
    stylegan2_nvidia.convert({"given": folder / "given"}, folder / "kept.safetensors")
    return StyleGAN2(str(folder / "kept.safetensors"))


def by_hand(x):
    """The penalty of one map ``[s, s]``, in numpy: neighbors to the right and below, halved down to 8 px."""
    total = 0.0
    while True:
        total += (x * np.roll(x, 1, axis=1)).mean() ** 2 + (x * np.roll(x, 1, axis=0)).mean() ** 2
        if len(x) <= 8:
            return total
        x = x.reshape(len(x) // 2, 2, len(x) // 2, 2).mean(axis=(1, 3))


def test_noise_is_hardly_penalized_and_a_pattern_is():
    rng = np.random.default_rng(0)
    noise, pattern = rng.normal(size=(32, 32)), np.sin(np.arange(32) / 3)[:, None] * np.ones((32, 32))
    both = torch.from_numpy(np.stack([noise, pattern])[:, None])
    np.testing.assert_allclose(unlike_noise(both), [by_hand(noise), by_hand(pattern)], rtol=1e-9)
    assert by_hand(pattern) > 20 * by_hand(noise)


def test_the_steps_are_the_published_ones(generator):
    """Adam, the pace, the noise on w, the penalty and the renormalization, each written out once more."""
    steps, rate, weight, penalty, spread, seed = 6, 0.1, 0.1, 1e5, 2.0, 3
    target = torch.from_numpy(
        generator.synthesize(np.repeat(generator.sample_w(1, 5)[:, None], generator.rows, axis=1))
    )
    start = torch.from_numpy(generator.mean_w()).expand(1, generator.rows, -1)
    phase = Phase(steps=steps, lr=rate, noise_factor=0.05, noise=penalty)
    found, _ = descend(
        Objective(generator, Squares(), weight=weight),
        start,
        target,
        (phase,),
        cloud=Cloud(start[0, 0], spread, torch.eye(generator.dim)),
        seed=seed,
    )

    maps = [part.detach().clone() for part in NoiseMaps(generator, 1, seed=seed).maps]
    values = [start.clone(), *maps]
    firsts, seconds = ([torch.zeros_like(part) for part in values] for _ in range(2))
    shake = torch.Generator().manual_seed(seed)
    for step in range(steps):
        share = step / steps
        pace = (0.5 - 0.5 * math.cos(min(1, (1 - share) / 0.25) * math.pi)) * min(1, share / 0.05)
        leaves = [part.detach().clone().requires_grad_() for part in values]
        size = spread * 0.05 * max(0, 1 - share / 0.75) ** 2
        w = leaves[0] + size * torch.randn(leaves[0].shape, generator=shake)
        loss = (generator.draw_with(w, leaves[1:]) - target).square().mean()
        loss = loss + weight * (w - w.mean(dim=1, keepdim=True)).square().mean()
        loss = loss + penalty * sum(unlike_noise(part).sum() for part in leaves[1:])
        slopes = torch.autograd.grad(loss, leaves)
        for k, slope in enumerate(slopes):
            firsts[k] = 0.9 * firsts[k] + 0.1 * slope
            seconds[k] = 0.999 * seconds[k] + 0.001 * slope.square()
            one, two = firsts[k] / (1 - 0.9 ** (step + 1)), seconds[k] / (1 - 0.999 ** (step + 1))
            values[k] = values[k] - rate * pace * one / (two.sqrt() + 1e-8)
        for k in range(1, len(values)):
            values[k] = values[k] - values[k].mean()
            values[k] = values[k] / values[k].square().mean().sqrt()
    np.testing.assert_allclose(found, values[0], atol=2e-4)
    assert float((found - start).abs().max()) > 0.01


def test_the_generators_own_maps_stay_as_they_were(generator):
    before = [part.clone() for part in generator.noise_maps()]
    maps = NoiseMaps(generator, 2, seed=0)
    for part in maps.maps:
        np.testing.assert_allclose(part.detach().mean(dim=(1, 2, 3)), 0, atol=1e-6)
        np.testing.assert_allclose(part.detach().square().mean(dim=(1, 2, 3)), 1, rtol=1e-5)
        assert torch.equal(part[0], part[1])
    w = torch.from_numpy(generator.sample_w(2, 0))[:, None].expand(-1, generator.rows, -1)
    maps.drawing().draw(w).sum().backward()
    assert all(part.grad is not None for part in maps.maps)
    assert all(torch.equal(a, b) for a, b in zip(before, generator.noise_maps(), strict=True))


def test_a_generator_without_noise_is_projected_as_before():
    assert SINGH2021[0].noise == 1e5
    tiny = Tiny()
    maps = NoiseMaps(tiny, 2, seed=0)
    assert maps.maps == []
    assert maps.drawing() is tiny
    assert maps.penalty() == 0


def test_the_preset_takes_a_stylegan2(generator, monkeypatch):
    monkeypatch.setattr("likewise.latents.gradient.SINGH2021", (Phase(steps=40, lr=0.1, noise_factor=0.05, noise=1e5),))
    x = generator.synthesize(np.repeat(generator.sample_w(1, 5)[:, None], generator.rows, axis=1))
    solve = solver_of(generator, Squares(), "singh2021", weight=0.1, seed=0)
    w, left = solve(x)
    mean = generator.synthesize(np.tile(generator.mean_w(), (1, generator.rows, 1)))
    assert w.shape == (1, generator.rows, generator.dim)
    assert left[0] < Squares().distance(mean, x)[0]
