"""Random matching problems for hypothesis: ties, duplicates, missing vectors, singletons, one-sided identities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import likewise as lw

CONTRAST = lw.Contrast("perceived_gender", focal="female", reference="male")


@dataclass(frozen=True)
class Problem:
    faces: lw.Images
    vectors: lw.Vectors
    second: lw.Vectors


@st.composite
def problems(draw: st.DrawFn, *, most_people: int = 12, most_images: int = 4) -> Problem:
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    people = draw(st.integers(2, most_people))
    side = np.r_[1, 0, rng.integers(0, 2, people - 2)]
    count = rng.integers(1, most_images + 1, people)
    who = np.repeat(np.arange(people), count)
    n = len(who)
    frame = pd.DataFrame(
        {
            "image": rng.permutation(n),
            "identity": [f"id{person}" for person in who],
            "perceived_gender": np.where(side[who] == 1, "female", "male"),
            "eyeglasses": rng.integers(0, 2, n),
            "light": rng.integers(0, 4, n).astype(float),
            "hair": pd.Series(rng.choice(["dark", "fair"], n)).where(rng.random(n) > 0.1),
        }
    )
    faces = lw.Images(frame)
    lattice = draw(st.booleans())  # whole numbers make many exact ties, and duplicates
    missing = draw(st.booleans())
    made = [_vectors(faces, rng, lattice, missing, shape, name) for shape, name in (((2, 3), "w"), ((2,), "r"))]
    return Problem(faces, *made)


def _vectors(faces, rng, lattice: bool, missing: bool, shape: tuple[int, ...], name: str) -> lw.Vectors:
    images = np.array(faces.keys)
    if missing:
        side = CONTRAST.side(faces)
        keep = rng.random(len(images)) > 0.2
        for sign in (1, -1):
            keep[np.flatnonzero(side.to_numpy() == sign)[0]] = True
        images = images[keep]
    images = rng.permutation(images)
    drawn = rng.integers(0, 3, (len(images), *shape)) if lattice else rng.normal(size=(len(images), *shape))
    return lw.Vectors(images.tolist(), drawn, source=name)
