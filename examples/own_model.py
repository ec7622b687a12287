"""Audit your own recognizer from Python; matching uses your own embedding.

Run: python examples/own_model.py

The images are those of a simulated world, so that it runs anywhere; `Sharp` stands for your model.
"""

from __future__ import annotations

import numpy as np

import likewise as lw
from likewise.rating.rate import rate_trials
from likewise.runtime.registry import Array, Pictures, to_pictures
from likewise.simulation.scene import draw


class Sharp:
    """A recognizer that compares the upper halves of two pictures, pixel by pixel."""

    name, license, family, threshold = "sharp", "MIT", "pixels", 0.1

    def embed(self, pictures: Pictures) -> Array:
        """Return the upper half, one row a picture."""
        upper = pictures[:, : pictures.shape[1] // 2].reshape(len(pictures), -1)
        return upper.astype(np.float32) / np.float32(255)

    def distance(self, a: Array, b: Array) -> Array:
        """Return the root mean squared difference."""
        return np.asarray(np.sqrt(np.square(a - b).mean(axis=1)), dtype=np.float32)


def main() -> lw.Estimates:
    """Match images, rate trials, and print the unmatched and the matched gap."""
    images, factors = lw.World(identities=200, seed=4).draw()
    pictures = to_pictures(draw(factors))
    contrast = lw.Contrast("perceived_gender", focal="female", reference="male")
    covariates = ["perceived_age", "eyeglasses", "smiling", "light", "yaw"]

    vectors = lw.Vectors(images.keys, factors[:, 1:], source="my encoder")
    pairs = lw.match(images, vectors, contrast, lw.MatchSpec(caliper=(("perceived_age", 5.0), ("light", 0.4))))
    print(pairs, end="\n\n")

    trials, model = lw.trials(images, seed=0), Sharp()
    ratings = rate_trials(trials, model.embed(pictures), images.keys, model)
    found = lw.gaps(ratings, trials, images, contrast, pairs=pairs, covariates=covariates)
    print(found.frame[["stat", "sample", "group", "estimate", "low", "high", "clusters"]].to_string(index=False))
    return found


if __name__ == "__main__":
    main()
