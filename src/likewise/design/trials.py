"""trials: which two images of a person a recogniser, or people, are asked about."""

from __future__ import annotations

import numpy as np
import pandas as pd

from likewise.tables import Faces, Pairs


def trials(faces: Faces, *, seed: int) -> Pairs:
    """Give every image a reference: another image of the same identity. One genuine trial an image.

    The same rule serves the whole sample and the matched one, so the two are compared like for like. Within an
    identity the images are put into a random ring and each looks to the next, so every image is a test image once
    and a reference once. The ring depends on the seed and the identity alone, not on the table's order. Images
    of people with a single image have no trial; ``dropped`` counts them.
    """
    groups = faces.frame.sort_values("image").groupby("identity", sort=True)["image"]
    rows = [pair for identity, images in groups for pair in _ring(images.tolist(), str(identity), seed)]
    frame = pd.DataFrame(rows, columns=["a", "b"])
    frame.insert(0, "pair", frame["a"] + "|" + frame["b"])
    alone = len(faces) - len(frame)
    dropped = pd.DataFrame(
        [("all", "only image of its identity", alone)] if alone else [], columns=["side", "reason", "images"]
    )
    return Pairs(frame.assign(same=True), dropped=dropped, offered={"all": len(faces)})


def _ring(images: list[str], identity: str, seed: int) -> list[tuple[str, str]]:
    if len(images) < 2:
        return []
    rng = np.random.default_rng([seed, *identity.encode()])
    order = [images[index] for index in rng.permutation(len(images))]
    return list(zip(order, order[1:] + order[:1], strict=True))
