"""A stranger's generator: the VAE of docs/generators.md, in fifty lines, does what a built-in one does."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from likewise.errors import PluginError, SpecError, VectorError
from likewise.models.differentiable import DifferentiableGenerator, DifferentiablePerceptual, differentiable
from likewise.runtime.registry import create
from likewise.simulation.components import WorldGenerator

PAGE = Path(__file__).parents[2] / "docs" / "generators.md"


@pytest.fixture(scope="module")
def code() -> str:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    return block


@pytest.fixture(scope="module")
def generator(code):
    exec(compile(code, str(PAGE), "exec"), {})  # noqa: S102  # our own document
    return create("generator", "my-vae", {"seed": 3})


def test_it_is_fifty_lines(code):
    assert len(code.splitlines()) <= 50


def test_it_keeps_the_contract(generator):
    w = generator.sample_w(5, seed=1)
    np.testing.assert_array_equal(w, generator.sample_w(5, seed=1))
    whole = generator.synthesize(w)
    np.testing.assert_allclose(generator.synthesize(w[3:4])[0], whole[3], atol=1e-6)
    np.testing.assert_allclose(generator.synthesize(w[:, None]), whole, atol=1e-6)
    assert generator.synthesize(w, 32).shape == (5, 3, 32, 32)
    with pytest.raises(PluginError, match="no option 'sed'"):
        create("generator", "my-vae", {"sed": 3})
    with pytest.raises(SpecError, match="'32', '64'"):
        generator.draw(torch.zeros(1, 32), size=48)
    with pytest.raises(VectorError, match=r"\[n, 1, 32\]"):
        generator.draw(torch.zeros(1, 2, 32))


def test_a_face_is_found_again_by_gradients(generator):
    hidden = torch.from_numpy(generator.sample_w(1, seed=2))
    goal = generator.draw(hidden)
    w = torch.zeros(1, 32, requires_grad=True)
    adam = torch.optim.Adam([w], lr=0.1)
    for _ in range(150):
        adam.zero_grad()
        loss = (generator.draw(w) - goal).square().mean()
        loss.backward()
        adam.step()
    assert loss.item() < 0.02 * (generator.draw(torch.zeros(1, 32)) - goal).square().mean().item()


def test_a_generator_without_gradients_is_named_with_what_it_lacks():
    with pytest.raises(PluginError, match=r"'world-generator' is not differentiable: it has no 'device'"):
        differentiable(WorldGenerator(), DifferentiableGenerator)
    with pytest.raises(PluginError, match="'compare'"):
        differentiable(create("perceptual", "pixels"), DifferentiablePerceptual)
