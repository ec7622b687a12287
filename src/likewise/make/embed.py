"""embed: what the design itself looks at: how far apart the images of each person look. Only within identities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from likewise.engine import Result
from likewise.errors import PluginError
from likewise.images import Album
from likewise.plugins import Perceptual, create, to_signals
from likewise.tables import Faces, Pairs


def couples(faces: Faces) -> dict[str, tuple[str, str]]:
    """Return every two images of one person, by a name."""
    groups = faces.frame.sort_values("image").groupby("identity", sort=True)["image"]
    pairs = (pair for _, images in groups for pair in combinations(images.tolist(), 2))
    return {f"c{rank:07d}": pair for rank, pair in enumerate(pairs, 1)}


@dataclass(frozen=True)
class Difference:
    """The work of one chunk: the perceptual distance of couples."""

    name: str
    options: Mapping[str, Any]
    album: Album
    couples: Mapping[str, tuple[str, str]]

    def __call__(self, names: list[str]) -> Result:
        """Measure these couples; every image is opened once."""
        perceptual: Perceptual = create("perceptual", self.name, self.options)
        pairs = [self.couples[name] for name in names]
        images = sorted({image for pair in pairs for image in pair})
        signals = to_signals(self.album(images))
        row = {image: place for place, image in enumerate(images)}
        sides = (signals[[row[pair[side]] for pair in pairs]] for side in (0, 1))
        found = np.asarray(perceptual.distance(*sides), dtype=np.float64)
        if found.shape != (len(names),) or not np.isfinite(found).all():
            got = f"{found.shape} for {len(names)}" if found.shape != (len(names),) else "some that are not finite"
            raise PluginError(f"the perceptual distance {self.name!r} gives a number a couple", got=got)
        return {"d": found}


def difficulties(pairs: Mapping[str, tuple[str, str]], distances: list[float]) -> Pairs:
    """Return the couples with their distance."""
    frame = pd.DataFrame([(name, *ends) for name, ends in pairs.items()], columns=["pair", "a", "b"])
    return Pairs(frame.astype("str").assign(distance=np.array(distances, dtype=np.float64)))
