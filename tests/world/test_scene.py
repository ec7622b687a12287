from __future__ import annotations

import numpy as np

from likewise.plugins import to_pictures
from likewise.world.scene import FACTORS, base, draw, patterns, see


def test_every_factor_can_be_seen_and_read_back(world):
    assert np.abs(see(world.pictures) - world.factors).max() < 0.03
    assert np.linalg.matrix_rank(patterns().reshape(len(FACTORS), -1)) == len(FACTORS)


def test_no_pixel_is_clipped_in_the_range_that_is_drawn(world):
    signals = draw(world.factors)
    assert np.abs(signals).max() < 1


def test_a_factor_moves_pixels_that_a_person_would_notice():
    for row in np.eye(len(FACTORS)):
        moved = to_pictures(draw(row[None])).astype(int) - to_pictures(draw(0 * row[None])).astype(int)
        assert np.abs(moved).max() >= 8
    assert np.abs(base()).max() < 1
