from __future__ import annotations

import numpy as np
import pytest

from likewise.errors import PluginError, SpecError
from likewise.latents.gauss_newton import GaussNewton
from likewise.runtime.registry import to_signals
from likewise.simulation.components import Pixels, WorldGenerator

GENERATOR, PIXELS = WorldGenerator(), Pixels()


def objective(target, z, weight):
    """The spec's formula, written out: D(G(Z), x) + lambda x mean squared deviation of the rows from their mean."""
    signal = GENERATOR.synthesize(z[None].astype(np.float32))
    return PIXELS.distance(signal, target[None])[0] + weight * np.square(z - z.mean(axis=0)).mean()


def test_a_face_is_found_again_in_the_latent_space(world):
    for target in to_signals(world.pictures[:5]):
        z, distance = GaussNewton(GENERATOR, PIXELS, weight=1e-4).project(target)
        assert z.shape == (GENERATOR.rows, GENERATOR.dim)
        assert distance == pytest.approx(
            PIXELS.distance(GENERATOR.synthesize(z[None].astype(np.float32)), target[None])[0]
        )
        assert distance < 1e-5  # what rounding to bytes leaves


@pytest.mark.parametrize("weight", [0.0, 1e-4, 1.0])
def test_no_small_step_is_better(world, weight):
    target = to_signals(world.pictures[:1])[0]
    z, _ = GaussNewton(GENERATOR, PIXELS, weight=weight).project(target)
    here, rng = objective(target, z, weight), np.random.default_rng(0)
    for _ in range(50):
        assert objective(target, z + rng.normal(0, 0.05, z.shape), weight) >= here - 1e-8


def test_lambda_draws_the_rows_together(world):
    w = GENERATOR.sample_w(4, seed=1)[None]  # four rows that differ
    target = GENERATOR.synthesize(w)[0]
    spread = [
        np.square(z - z.mean(axis=0)).mean()
        for z in (GaussNewton(GENERATOR, PIXELS, weight=k).project(target)[0] for k in (0, 1e-3, 10))
    ]
    assert spread[0] >= spread[1] >= spread[2]


def test_a_curved_generator_needs_several_steps(world):
    class Curved(WorldGenerator):
        def synthesize(self, w):
            return np.tanh(1.5 * super().synthesize(w))

    curved = Curved()
    target = curved.synthesize(np.repeat(curved.sample_w(1, seed=3)[:, None], 4, axis=1))[0]
    _, once = GaussNewton(curved, PIXELS, weight=1e-4, steps=1).project(target)
    _, often = GaussNewton(curved, PIXELS, weight=1e-4, steps=8).project(target)
    assert often < once / 10


def test_a_generator_that_is_too_large_is_refused(world):
    class Large(WorldGenerator):
        rows = 400

    with pytest.raises(PluginError, match="Latents of 400 x 16 are too large"):
        GaussNewton(Large(), PIXELS, weight=0)


def test_an_infinite_lambda_is_refused():
    with pytest.raises(SpecError, match="lambda is inf"):
        GaussNewton(GENERATOR, PIXELS, weight=float("inf"))
