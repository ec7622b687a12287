"""Faces for the artifact validator: drawn by the embedded generator, with edits as the editors make them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.models.detectors.detection import central
from likewise.models.detectors.registry import detector
from likewise.runtime.registry import Pictures

SIZE, BLOCK = 256, 20
"""Pixels at which faces are drawn, and faces in a file."""
OFF_W = 0.35
"""Latents of photographs have rows that differ: so far, of the spread of faces, each row is moved at most."""
MISSED = (0.1, 0.45)
"""A projection misses a photograph by a latent of so much of the spread of faces: from, to."""
MISSED_BY_ROW = np.linspace(0.35, 1, 23, dtype=np.float32)
"""Coarse rows hold pose and outline, which a projection hardly misses."""
Arrays = dict[str, npt.NDArray[np.generic]]
Floats = npt.NDArray[np.float32]


class Drawing:
    """Draws faces with their edits, and beside each a stand-in for the photograph that it is a projection of."""

    def __init__(self) -> None:
        from likewise.counterfactuals.editor_pairs import ATTRIBUTES, Mover  # noqa: PLC0415  # networks load late
        from likewise.latents.directions import shipped  # noqa: PLC0415
        from likewise.models.perception.segmentation import Segmenter  # noqa: PLC0415
        from likewise.runtime.registry import create  # noqa: PLC0415

        self.generator, self.segmenter = create("generator", "mobilestylegan"), Segmenter()
        self.gender, self.tone = (Mover.of(shipped("mobilestylegan"), attribute) for attribute in ATTRIBUTES)

    def block(self, rng: np.random.Generator) -> Arrays:
        """Return faces: photographs, their drawings, two moves each of gender and of tone, and the masks."""
        from likewise.counterfactuals.editor_pairs import latents  # noqa: PLC0415

        faces = [self._face(w[None], rng) for w in latents(self.generator, BLOCK, rng)]
        names = ("photographs", "drawn", "moved", "masks", "points")
        return dict(zip(names, (np.stack(parts) for parts in zip(*faces, strict=True)), strict=True))

    def _face(self, w: Floats, rng: np.random.Generator) -> tuple[npt.NDArray[np.generic], ...]:
        """Gender goes to a place between its ends and beyond, as the direction editor takes it; tone goes so far."""
        from likewise.models.perception.segmentation import one_piece  # noqa: PLC0415
        from likewise.runtime.registry import to_pictures  # noqa: PLC0415

        w = w + rng.uniform(0, OFF_W) * self._apart(rng)
        photograph = w + rng.uniform(*MISSED) * self._apart(rng) * MISSED_BY_ROW[: w.shape[1], None]
        strengths = np.array([-1, 1, -1, 1]) * rng.uniform(0.3, 1.6, 4)
        gender = [self.gender.moved(w, strengths[k : k + 1]) for k in (0, 1)]
        tone = [self.tone.moved(w, self.tone.place(w) + strengths[k]) for k in (2, 3)]
        drawn = to_pictures(self.generator.synthesize(np.concatenate([photograph, w, *gender, *tone]), SIZE))
        mask = one_piece(self.segmenter.masks(drawn[:1], "face skin")[0])
        return drawn[0], drawn[1], drawn[2:], mask, points_of(drawn[1])

    def _apart(self, rng: np.random.Generator) -> Floats:
        """Return how far other faces' latents are from the mean, another face in each row: ``[1, L, D]``."""
        others = self.generator.sample_w(self.generator.rows, int(rng.integers(2**31)))
        return np.asarray((others - self.generator.mean_w())[None], dtype=np.float32)


def points_of(picture: Pictures) -> Floats:
    """Return eyes, nose and corners of the mouth ``[5, 2]`` as x and y; NaN where no face is detected."""
    face = central(_detector().find(picture), picture)
    return np.full((5, 2), np.nan, np.float32) if face is None else np.asarray(face.points, np.float32)


@lru_cache(maxsize=1)
def _detector() -> Any:
    return detector("yunet")
