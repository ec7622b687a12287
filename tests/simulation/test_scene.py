"""Synthetic faces: every factor is visible, recoverable and linear."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.runtime.registry import to_pictures
from likewise.simulation.scene import FACTORS, SIZE, base, draw, patterns, see


def test_factors_are_recovered_from_pixels(world):
    assert np.abs(see(world.pictures) - world.factors).max() < 0.03
    assert np.linalg.matrix_rank(patterns().reshape(len(FACTORS), -1)) == len(FACTORS)


def test_no_pixel_is_clipped_in_the_range_that_is_drawn(world):
    signals = draw(world.factors)
    assert signals.shape == (len(world.factors), 3, SIZE, SIZE)
    assert signals.dtype == np.float32
    assert np.abs(signals).max() < 1


@pytest.mark.parametrize("factor", FACTORS)
def test_every_factor_is_visible(factor):
    one = np.eye(len(FACTORS))[FACTORS.index(factor)][None]
    moved = to_pictures(draw(one)).astype(int) - to_pictures(draw(0 * one)).astype(int)
    assert np.abs(moved).max() >= 8


def test_drawing_is_linear_in_the_factors():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 5, len(FACTORS)))
    np.testing.assert_allclose(draw(a) + draw(b) - draw(np.zeros_like(a)), draw(a + b), atol=1e-5)
    np.testing.assert_allclose(draw(np.zeros((1, len(FACTORS))))[0], base(), atol=1e-6)


def test_factors_do_not_leak_into_each_other():
    rng = np.random.default_rng(1)
    factors = rng.uniform(-0.5, 0.5, (40, len(FACTORS)))
    for k in range(len(FACTORS)):
        changed = factors.copy()
        changed[:, k] += 0.4
        moved = see(to_pictures(draw(changed))) - see(to_pictures(draw(factors)))
        np.testing.assert_allclose(moved[:, k], 0.4, atol=0.03)
        assert np.abs(np.delete(moved, k, axis=1)).max() < 0.03
