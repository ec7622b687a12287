"""The shape of a face does not depend on the picture's size or the head's pose, and opens with the mouth."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.models.perception.shape import shapes


def mesh(opening: float = 0.1, width: float = 1.4) -> np.ndarray:
    points = np.zeros((1, 468, 3))
    places = {
        33: (-0.5, 0, 0), 263: (0.5, 0, 0), 13: (0, 1 - opening / 2, -0.1), 14: (0, 1 + opening / 2, -0.1),
        61: (-0.3, 1, 0), 291: (0.3, 1, 0), 234: (-width / 2, 0.2, 0.4), 454: (width / 2, 0.2, 0.4),
        132: (-0.6, 0.8, 0.4), 361: (0.6, 0.8, 0.4), 10: (0, -0.6, 0), 152: (0, 1.4, 0),
    }  # fmt: skip
    for number, place in places.items():
        points[0, number] = place
    return points


def test_shape_is_relative():
    np.testing.assert_allclose(shapes(mesh())[0], [0.1, 0.6, 0.7, 0.6])
    assert shapes(mesh(opening=0.4))[0, 0] == pytest.approx(0.4)
    assert shapes(mesh(width=1.8))[0, 2] == pytest.approx(0.9)


def test_size_and_pose_do_not_change_it():
    turn, nod = np.radians(25), np.radians(-10)
    yaw = np.array([[np.cos(turn), 0, np.sin(turn)], [0, 1, 0], [-np.sin(turn), 0, np.cos(turn)]])
    pitch = np.array([[1, 0, 0], [0, np.cos(nod), -np.sin(nod)], [0, np.sin(nod), np.cos(nod)]])
    np.testing.assert_allclose(shapes(80 * mesh() @ (yaw @ pitch).T + 7), shapes(mesh()))


def test_no_face_has_no_shape():
    assert np.isnan(shapes(np.full((2, 468, 3), np.nan))).all()
