"""The pose: known rotations come back, a mirror changes two signs, and a turned picture changes only roll."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.errors import PluginError
from likewise.models.detectors.detected_faces import detect_faces
from likewise.models.perception.pose import HEADS, MeshPose, PointsPose, angles, from_points
from portraits import portrait


def rotation(yaw, pitch, roll):
    """Turn, as the docstring says: the nose goes right, up, and the head clockwise."""
    y, p, r = np.radians([yaw, pitch, roll])
    turn = np.array([[np.cos(y), 0, -np.sin(y)], [0, 1, 0], [np.sin(y), 0, np.cos(y)]])
    nod = np.array([[1, 0, 0], [0, np.cos(p), np.sin(p)], [0, -np.sin(p), np.cos(p)]])
    tilt = np.array([[np.cos(r), -np.sin(r), 0], [np.sin(r), np.cos(r), 0], [0, 0, 1]])
    return tilt @ turn @ nod


CASES = [(0, 0, 0), (25, 0, 0), (0, 15, 0), (0, 0, 30), (-40, 10, -20), (35, -25, 60)]


def test_the_signs_are_what_the_words_say():
    nose = np.array([0, 0, -1.0])
    assert (rotation(20, 0, 0) @ nose)[0] > 0, "to the picture's right"
    assert (rotation(0, 20, 0) @ nose)[1] < 0, "up"
    assert (rotation(0, 0, 20) @ [1.0, 0, 0])[1] > 0, "clockwise, for y points down"


@pytest.mark.parametrize("case", CASES)
def test_known_angles_come_back(case):
    np.testing.assert_allclose(angles(rotation(*case)[None])[0], case, atol=1e-9)


@pytest.mark.parametrize("scheme", HEADS)
@pytest.mark.parametrize("case", CASES)
def test_five_points_of_the_mean_head_give_its_pose(scheme, case):
    seen = 1.7 * (HEADS[scheme] @ rotation(*case).T)[:, :2] + [100, 50]  # a distant camera, somewhere, at some scale
    np.testing.assert_allclose(from_points(seen, scheme), case, atol=1e-6)


def test_points_of_an_unknown_scheme_are_refused():
    with pytest.raises(PluginError, match="Unknown landmark scheme"):
        from_points(np.zeros((5, 2)), "seven")


@pytest.fixture(scope="module")
def poses(weights):
    weights("dlib-landmarks-5")
    weights("face-mesh")

    def of(**how):
        seen = detect_faces(portrait(**how))
        return {one.name: one.pose(seen) for one in (MeshPose(), PointsPose())}

    return of


@pytest.mark.parametrize("way", ["face-mesh", "five points"])
def test_a_mirror_changes_the_signs_of_yaw_and_roll(poses, way):
    plain, mirrored = poses(turned=12)[way], poses(turned=12, mirrored=True)[way]
    np.testing.assert_allclose(mirrored.yaw, -plain.yaw, atol=6)
    np.testing.assert_allclose(mirrored.roll, -plain.roll, atol=3)
    np.testing.assert_allclose(mirrored.pitch, plain.pitch, atol=6)


@pytest.mark.parametrize("way", ["face-mesh", "five points"])
@pytest.mark.parametrize("turn", [-15, 10, 20])
def test_a_turned_picture_changes_roll_by_as_much_and_little_else(poses, way, turn):
    plain, turned = poses()[way], poses(turned=turn)[way]
    np.testing.assert_allclose(turned.roll - plain.roll, turn, atol=3)
    np.testing.assert_allclose(turned.yaw, plain.yaw, atol=6)
    np.testing.assert_allclose(turned.pitch, plain.pitch, atol=8)


def test_without_a_face_there_is_no_pose(weights):
    weights("dlib-landmarks-5")
    weights("face-mesh")
    seen = detect_faces(np.full((2, 200, 200, 3), 127, np.uint8))
    for one in (MeshPose(), PointsPose()):
        assert np.isnan(one.pose(seen).yaw).all()
