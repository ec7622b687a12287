"""How many people a generated image shows, by a face detector."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from likewise.runtime.executor import Progress, Silent
from likewise.runtime.pixels import decode
from likewise.tables import Images

Count = Callable[[npt.NDArray[np.uint8]], int]
"""Returns the number of faces in a picture ``[H, W, 3]``."""


def count_people(images: Images, folder: Path, count: Count, *, progress: Progress | None = None) -> Images:
    """Return the images with a column ``people``: 0, 1 or more faces."""
    found = {}
    for key in images.keys:
        found[key] = int(count(decode(folder / key)))
        (progress or Silent()).advance(1)
    return images.with_attribute("people", found)


def of_single_people(images: Images, attributes: list[str]) -> Images:
    """Return the images with these attributes only where exactly one person is shown."""
    one = images.attribute("people") == 1
    for name in attributes:
        images = images.with_attribute(name, images.attribute(name).where(one))
    return images
