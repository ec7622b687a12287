"""How a head is turned: yaw, pitch and roll in degrees.

Signs, from the viewer's side: yaw is positive when the face is turned to the right of the image, pitch when
it looks up, roll when the head is tilted clockwise. Mirroring a picture changes the sign of yaw and roll, not of pitch.

Two ways lead there. The *mesh* has 468 points in three dimensions (Kartynnik et al., "Real-time facial surface geometry
from monocular video", 2019): the line through the eyes' outer corners and the line from chin to forehead span the
face's plane, and its axes are the rotation. *Points* are only five, in two dimensions: they are compared with where
they lie on a mean head, as the nearest scaled rotation that a distant camera would see (DeMenthon and Davis,
"Model-based object pose in 25 lines of code", IJCV 1995, first step). Five points cannot distinguish a long nose from a
lowered head: their pitch is rough, and relative to the mean head.

Zero pitch is where forehead and chin are equally far from the camera. People who look into a camera mostly have a
negative one by that measure, so compare pitches with one another rather than with zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likewise.errors import PluginError, SpecError, some
from likewise.models.detectors.detected_faces import DetectedFaces
from likewise.models.geometry import Floats, inverse, moved, scale
from likewise.models.recognizers.onnx import session
from likewise.runtime.registry import Pictures
from likewise.runtime.threads import in_batches
from likewise.weights import where
from likewise.weights.licenses import license_of

_SIDE = 192
_LEFT_EYE, _RIGHT_EYE, _FOREHEAD, _CHIN = 33, 263, 10, 152  # the mesh's numbers; left as the picture shows it
HEADS = {  # x to the picture's right, y down, z away from the camera; a mean adult head in millimetres
    "corners": np.array([[46.0, -29, 12], [17, -28, 2], [-46, -29, 12], [-17, -28, 2], [0, 14, -14]]),
    "centers": np.array([[-32.0, -30, 5], [32, -30, 5], [0, 4, -24], [-25, 36, 0], [25, 36, 0]]),
}


@dataclass(frozen=True)
class Pose:
    """Angles of each face in degrees ``[n]``; NaN where there is none."""

    yaw: Floats
    pitch: Floats
    roll: Floats


def angles(rotations: npt.NDArray[np.floating]) -> Floats:
    """Return yaw, pitch and roll ``[n, 3]`` of rotations ``[n, 3, 3]`` that turn a frontal head into the one seen.

    R = R_roll R_yaw R_pitch: roll is the angle of the eyes' line in the picture, so that turning the picture changes
    roll and nothing else.
    """
    r = np.asarray(rotations, dtype=np.float64)
    yaw = np.arcsin(np.clip(r[:, 2, 0], -1, 1))
    pitch = np.arctan2(-r[:, 2, 1], r[:, 2, 2])
    roll = np.arctan2(r[:, 1, 0], r[:, 0, 0])
    together: Floats = np.degrees(np.stack([yaw, pitch, roll], axis=1))
    return together


def from_points(points: npt.ArrayLike, scheme: str) -> Floats:
    """Return yaw, pitch and roll ``[3]`` of five points ``[5, 2]``."""
    if scheme not in HEADS:
        raise PluginError(f"Unknown landmark scheme {scheme!r}", fix=f"Choose one of {some(HEADS)}.")
    head, seen = HEADS[scheme], np.asarray(points, dtype=np.float64)
    head, seen = head - head.mean(axis=0), seen - seen.mean(axis=0)
    linear = np.linalg.lstsq(head, seen, rcond=None)[0].T  # [2, 3]: how a distant camera maps the head
    u, _, vt = np.linalg.svd(linear, full_matrices=False)
    rows = u @ vt  # the nearest two orthonormal rows
    found: Floats = angles(np.vstack([rows, np.cross(rows[0], rows[1])])[None])[0]
    return found


def from_mesh(mesh: npt.NDArray[np.floating]) -> Floats:
    """Return yaw, pitch and roll ``[n, 3]`` of meshes ``[n, 468, 3]`` (x right, y down, z away from the camera)."""
    points = np.asarray(mesh, dtype=np.float64)
    across = points[:, _RIGHT_EYE] - points[:, _LEFT_EYE]
    x = across / np.linalg.norm(across, axis=1, keepdims=True)
    down = points[:, _CHIN] - points[:, _FOREHEAD]
    down -= (down * x).sum(axis=1, keepdims=True) * x
    y = down / np.linalg.norm(down, axis=1, keepdims=True)
    return angles(np.stack([x, y, np.cross(x, y)], axis=2))


class MeshPose:
    """Reads the pose from the mesh of each face."""

    name = "face-mesh"

    def __init__(self, *, weights: str = "face-mesh", device: str = "cpu", batch: int = 8) -> None:
        if batch < 1:
            raise SpecError(f"batch is {batch}; it must be at least 1")
        self.license = license_of(weights)
        self._session, self._batch = session(str(where(weights)), device), batch

    def meshes(self, seen: DetectedFaces) -> npt.NDArray[np.float32]:
        """Return the points ``[n, 468, 3]`` in the pictures' own pixels; NaN where there is no face."""
        crops, back = seen.crops("mesh", _SIDE), [inverse(move) for move in seen.transforms("mesh", _SIDE)]
        parts = in_batches(self._mesh, crops, self._batch)
        mesh = np.concatenate([np.zeros((0, 468, 3), np.float32), *parts]).astype(np.float64)
        for one, move in zip(mesh, back, strict=True):
            one[:, :2], one[:, 2] = moved(one[:, :2] - 0.5, move), one[:, 2] * scale(move)
        return seen.spread(mesh)

    def _mesh(self, crops: Pictures) -> npt.NDArray[np.float32]:
        given = crops.astype(np.float32) / np.float32(255)
        answer: npt.NDArray[np.float32] = self._session.run(["mesh"], {self._session.get_inputs()[0].name: given})[0]
        return answer.reshape(len(given), 468, 3)

    def pose(self, seen: DetectedFaces) -> Pose:
        """Return the angles of each face."""
        return Pose(*from_mesh(self.meshes(seen)).T)


class PointsPose:
    """Reads the pose from the five points that the detector gave; needs no network of its own."""

    name, license = "five points", "Apache-2.0 (part of likewise)"

    def pose(self, seen: DetectedFaces) -> Pose:
        """Return the angles of each face."""
        found = [from_points(face.points, seen.scheme) for face in seen.faces if face is not None]
        return Pose(*seen.spread(np.array(found).reshape(-1, 3)).astype(np.float64).T)
