"""A portrait that is on every machine that has matplotlib (a public-domain photograph among its sample data)."""

from __future__ import annotations

import matplotlib.cbook
import numpy as np
from PIL import Image

from likewise.runtime.registry import Pictures


def portrait(*, turned: float = 0, mirrored: bool = False, size: int = 400) -> Pictures:
    """Return the picture ``[1, size, size, 3]``, turned clockwise by some degrees."""
    with matplotlib.cbook.get_sample_data("grace_hopper.jpg") as file, Image.open(file) as opened:
        image = opened.convert("RGB").crop((0, 0, 512, 512))
    image = image.resize((size, size)).rotate(-turned, resample=Image.Resampling.BICUBIC)
    picture = np.asarray(image)
    return picture[None, :, ::-1] if mirrored else picture[None]
