from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import InputError, PluginError
from likewise.models.detectors.landmarks import TEMPLATES, affine, template
from likewise.models.geometry import inverse, moved, resized, scale, similarity, warp

number = st.floats(-50, 50)


@given(st.floats(-3, 3), st.floats(0.2, 4), number, number)
def test_a_similarity_is_found_again_from_points_that_were_moved_by_it(angle, size, x, y):
    turn = size * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    true = np.column_stack([turn, [x, y]])
    points = np.random.default_rng(0).normal(size=(5, 2)) * 30
    found = similarity(points, moved(points, true))
    assert np.allclose(found, true, atol=1e-6)
    assert scale(found) == pytest.approx(size)
    assert np.allclose(moved(moved(points, found), inverse(found)), points)


def test_a_similarity_agrees_with_the_papers_singular_value_decomposition():
    """Umeyama's equations (34) to (43), written out: another route to the same numbers."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 5, 2)) * 20
    x, y = a - a.mean(axis=0), b - b.mean(axis=0)
    u, d, v = np.linalg.svd(y.T @ x / 5)
    s = np.array([1, np.sign(np.linalg.det(u) * np.linalg.det(v))])
    linear = (u * s) @ v * (d * s).sum() / np.square(x).sum() * 5
    expected = np.column_stack([linear, b.mean(axis=0) - linear @ a.mean(axis=0)])
    assert np.allclose(similarity(a, b), expected)


@pytest.mark.parametrize("points", [[[0, 0]], [[1, 1], [1, 1]], [[0, 0, 0], [1, 1, 1]]])
def test_points_that_say_nothing_are_refused(points):
    with pytest.raises(InputError, match="similarity"):
        similarity(points, points)


def gradient(height: int, width: int) -> np.ndarray:
    y, x = np.mgrid[:height, :width]
    return np.stack([x * 255 / width, y * 255 / height, np.full((height, width), 90)], axis=-1).astype(np.uint8)


@pytest.mark.parametrize("factor", [1.0, 0.4, 0.05])
def test_a_warp_puts_colors_where_points_go_also_when_it_shrinks_a_lot(factor):
    picture, size = gradient(800, 1200), 24
    transform = np.array([[factor, 0, -100 * factor], [0, factor, -200 * factor]])
    seen = warp(picture, transform, size).astype(float)
    for x, y in ((3, 4), (12, 12), (20, 9)):
        there = moved([x, y], inverse(transform))
        assert seen[y, x, 0] == pytest.approx(there[0] * 255 / 1200, abs=4)
        assert seen[y, x, 1] == pytest.approx(there[1] * 255 / 800, abs=4)


def test_fine_stripes_become_gray_and_do_not_alias():
    stripes = np.zeros((1000, 1000, 3), np.uint8)
    stripes[:, ::2] = 255
    seen = warp(stripes, np.array([[0.1, 0, 0], [0, 0.1, 0]]), 100)[10:90, 10:90]
    assert np.abs(seen.astype(float) - 127.5).max() < 5


def test_outside_it_is_black_or_mirrored():
    picture = np.full((40, 40, 3), 200, np.uint8)
    shift = np.array([[1.0, 0, 20], [0, 1.0, 20]])
    assert warp(picture, shift, 40)[0, 0].tolist() == [0, 0, 0]
    assert warp(picture, shift, 40, mirror=True)[0, 0].tolist() == [200, 200, 200]


@pytest.mark.parametrize("shape", [(20, 20), (3000, 4000), (1, 500)])
def test_any_size_can_be_looked_at(shape):
    assert max(resized(np.zeros((*shape, 3), np.uint8), 320).shape) == 320


def test_points_that_lie_at_their_places_stay_there():
    for each in TEMPLATES.values():
        for scheme, points in each.points.items():
            if each.fit == "quad":
                continue
            five = np.zeros((5, 2))
            for k, place in points.items():
                five[k] = place
            assert np.allclose(each.transform(five, scheme, each.side), np.eye(2, 3), atol=1e-9)


def test_the_frame_of_ffhq_is_set_by_eyes_and_mouth():
    """Eyes 0.25 of the side apart and 0.26 above the mouth: the eyes decide; a frame and its face turn together."""
    face = np.array([[96.0, 118], [160, 118], [128, 150], [106, 184], [150, 184]])
    whole = template("ffhq").transform(face, "centers", 256)
    assert scale(whole) == pytest.approx(1.0)
    assert np.allclose(moved([128, 118 + 6.6], whole), [127.5, 127.5])
    turn = np.array([[0.6, -0.8, 40], [0.8, 0.6, -10]])
    turned = template("ffhq").transform(moved(face, turn), "centers", 256)
    assert np.allclose(moved(moved(face, turn), turned), moved(face, whole))


def test_an_affine_map_through_three_points_is_exact():
    a, b = np.random.default_rng(2).normal(size=(2, 3, 2))
    assert np.allclose(moved(a, affine(a, b)), b)


def test_an_unknown_template_and_a_scheme_without_targets_are_named():
    with pytest.raises(PluginError, match="Did you mean 'arcface'"):
        template("arkface")
    with pytest.raises(PluginError, match="'corners'"):
        template("chip").transform(np.zeros((5, 2)), "centers", 100)
