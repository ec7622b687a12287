"""The inputs of the stored reference values: noise from a fixed seed, so that nobody's picture is stored."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

SHAPES = {
    "faceres": (1, 224, 224, 3),
    "gear": (1, 198, 198, 3),
    "emotion": (1, 64, 64, 1),
    "face-mesh": (1, 192, 192, 3),
    "selfie-multiclass": (2, 256, 256, 3),
    "facenet": (2, 160, 160, 3),
    "efficientnet-lite0": (2, 3, 224, 224),
    "efficientnet-lite1": (2, 3, 240, 240),
    "efficientnet-lite2": (2, 3, 260, 260),
    "mobilefacenet": (2, 3, 112, 112),
    "openface": (2, 3, 96, 96),
    "retinaface": (1, 3, 128, 160),
}


def noise(name: str) -> npt.NDArray[np.float32]:
    """Return the input of one network."""
    rng, shape = np.random.default_rng(0), SHAPES[name]
    if name.startswith("efficientnet") or name == "mobilefacenet":
        return rng.normal(size=shape).astype(np.float32)
    scale, shift = {"faceres": (255, -120), "facenet": (255, 0), "retinaface": (255, -120)}.get(name, (1, 0))
    return rng.random(shape, dtype=np.float32) * np.float32(scale) + np.float32(shift)
