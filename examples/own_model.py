"""Audit a recogniser of your own, from Python, with your own embedding as the space in which look-alikes are found.

Run: python examples/own_model.py

The pictures are the planted world's, so that it runs anywhere; `Sharp` stands for your model.
"""

from __future__ import annotations

import numpy as np

import likewise as lw
from likewise.make.rate import rate_trials
from likewise.plugins import Array, Pictures, to_pictures
from likewise.world.scene import draw


class Sharp:
    """A stranger's recogniser: it compares the upper halves of two pictures, pixel by pixel."""

    name, licence, family, threshold = "sharp", "MIT", "pixels", 0.1

    def embed(self, pictures: Pictures) -> Array:
        """Return the upper half, one row a picture."""
        upper = pictures[:, : pictures.shape[1] // 2].reshape(len(pictures), -1)
        return upper.astype(np.float32) / np.float32(255)

    def distance(self, a: Array, b: Array) -> Array:
        """Return the root mean squared difference."""
        return np.asarray(np.sqrt(np.square(a - b).mean(axis=1)), dtype=np.float32)


def main() -> lw.Estimates:
    """Find look-alikes, ask the model, and print the gap before and after."""
    faces, factors = lw.World(identities=200, seed=4).draw()
    pictures = to_pictures(draw(factors))
    contrast = lw.Contrast("perceived_gender", focal="female", reference="male")
    covariates = ["perceived_age", "eyeglasses", "smiling", "light", "yaw"]

    vectors = lw.Vectors(faces.images, factors[:, 1:], source="my encoder")
    pairs = lw.match(faces, vectors, contrast, lw.MatchSpec(caliper=(("perceived_age", 5.0), ("light", 0.4))))
    print(pairs, end="\n\n")

    asked, model = lw.trials(faces, seed=0), Sharp()
    ratings = rate_trials(asked, model.embed(pictures), faces.images, model)
    found = lw.gaps(ratings, asked, faces, contrast, pairs=pairs, covariates=covariates)
    print(found.frame[["stat", "sample", "group", "estimate", "low", "high", "clusters"]].to_string(index=False))
    return found


if __name__ == "__main__":
    main()
