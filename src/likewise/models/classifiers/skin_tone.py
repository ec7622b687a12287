"""The component ``skin-tone``: measures how light the facial skin of a picture is; no network judges it.

The individual typology angle (ITA) of the facial skin, see ``perception.color``, on a scale from 0 (ITA 90 degrees) to
1 (ITA -60 degrees). It says how a face was photographed, with its light and its camera.
"""

from __future__ import annotations

import numpy as np

from likewise.models.perception.color import skin_tone
from likewise.models.perception.segmentation import Segmenter, one_piece, square
from likewise.runtime.registry import Array, Pictures

LIGHTEST, DARKEST = 90.0, -60.0  # degrees


class SkinTone:
    """Two labels: ``darker`` and ``lighter``; NaN where there is too little facial skin."""

    name, threshold = "skin-tone", 0.5

    def __init__(self, *, weights: str = "selfie-multiclass", device: str = "cpu") -> None:
        self._segmenter = Segmenter(weights=weights, device=device)
        self.license = self._segmenter.license

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return where each picture stands between the lightest and the darkest tone."""
        skins = self._segmenter.masks(pictures, "face skin")
        angles = [skin_tone(square(picture), one_piece(skin))[0] for picture, skin in zip(pictures, skins, strict=True)]
        darker = np.clip((LIGHTEST - np.array(angles)) / (LIGHTEST - DARKEST), 0, 1).astype(np.float32)
        return {"darker": darker, "lighter": 1 - darker}
