"""Colors: known values of CIELAB, angles as the analysis room computes them, and what is too little."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.analysis.crowd import skin_tone as analyzed
from likewise.models.perception.color import FEWEST, brightness, lab, lightness, sharpness, skin_tone


@pytest.mark.parametrize(
    ("color", "values"),
    [
        ((255, 255, 255), (100, 0, 0)),
        ((0, 0, 0), (0, 0, 0)),
        ((255, 0, 0), (53.24, 80.09, 67.20)),
        ((0, 0, 255), (32.30, 79.19, -107.86)),
        ((194, 150, 130), (65.36, 13.97, 17.19)),
    ],
)
def test_lab_of_known_colors(color, values):
    np.testing.assert_allclose(lab(np.uint8(color)), values, atol=0.6 if color == (194, 150, 130) else 0.02)


def test_a_flat_skin_has_the_angles_of_its_color():
    picture = np.tile(np.uint8([194, 150, 130]), (40, 40, 1))
    light, red, yellow = lab(picture[0, 0])
    tone = skin_tone(picture, np.ones((40, 40), bool))
    np.testing.assert_allclose(tone, (analyzed.ita(light, yellow), analyzed.hue(red, yellow)))


def test_a_few_other_pixels_do_not_move_the_tone():
    picture = np.tile(np.uint8([194, 150, 130]), (40, 40, 1))
    spotted = picture.copy()
    spotted[:8] = (20, 10, 10)
    everywhere = np.ones((40, 40), bool)
    assert skin_tone(picture, everywhere) == skin_tone(spotted, everywhere)


def test_too_little_skin_has_no_tone():
    mask = np.zeros((40, 40), bool)
    mask.ravel()[: FEWEST - 1] = True
    picture = np.zeros((40, 40, 3), np.uint8)
    assert np.isnan(skin_tone(picture, mask)).all()
    assert np.isnan(lightness(picture, mask))


def test_brightness_and_sharpness_rank_pictures_as_eyes_do():
    rng = np.random.default_rng(0)
    crisp = rng.integers(0, 256, (1, 64, 64, 3), dtype=np.uint8)
    soft = ((crisp[:, :-1, :-1].astype(int) + crisp[:, 1:, 1:] + crisp[:, :-1, 1:] + crisp[:, 1:, :-1]) // 4).astype(
        np.uint8
    )
    assert sharpness(crisp) > 2 * sharpness(soft)
    assert sharpness(np.full((1, 64, 64, 3), 9, np.uint8)) == 0
    np.testing.assert_allclose(brightness(np.uint8([[[[0, 0, 0]]], [[[255, 255, 255]]]])), [0, 100], atol=1e-3)
