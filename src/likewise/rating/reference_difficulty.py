"""Reference difficulty: the perceptual distance between the images of one identity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from likewise.errors import PluginError
from likewise.runtime.executor import Result
from likewise.runtime.pixels import ImageFolder
from likewise.runtime.registry import Perceptual, create, to_signals
from likewise.tables import Images, Trials


def couples(faces: Images) -> dict[str, tuple[str, str]]:
    """Return every two images of one identity, by a key."""
    groups = faces.frame.sort_values("image").groupby("identity", sort=True)["image"]
    pairs = (pair for _, images in groups for pair in combinations(images.tolist(), 2))
    return {f"c{rank:07d}": pair for rank, pair in enumerate(pairs, 1)}


@dataclass(frozen=True)
class Difference:
    """The work of one chunk: the perceptual distance of pairs of images."""

    name: str
    options: Mapping[str, Any]
    album: ImageFolder
    couples: Mapping[str, tuple[str, str]]

    def __call__(self, names: list[str]) -> Result:
        """Measure these pairs; every image is opened once."""
        perceptual: Perceptual = create("perceptual", self.name, self.options)
        pairs = [self.couples[name] for name in names]
        images = sorted({image for pair in pairs for image in pair})
        signals = to_signals(self.album(images))
        row = {image: place for place, image in enumerate(images)}
        sides = (signals[[row[pair[side]] for pair in pairs]] for side in (0, 1))
        found = np.asarray(perceptual.distance(*sides), dtype=np.float64)
        if found.shape != (len(names),) or not np.isfinite(found).all():
            wrong = f"shape {found.shape}" if found.shape != (len(names),) else "values that are not finite"
            raise PluginError(
                f"The perceptual distance {self.name!r} returned {wrong} for {len(names)} pairs",
                fix="Return one finite distance per pair.",
            )
        return {"d": found}


def difficulties(pairs: Mapping[str, tuple[str, str]], distances: list[float]) -> Trials:
    """Return the pairs with their distance."""
    frame = pd.DataFrame([(name, *ends) for name, ends in pairs.items()], columns=["trial", "a", "b"])
    return Trials(frame.astype("str").assign(same=True, distance=np.array(distances, dtype=np.float64)))
