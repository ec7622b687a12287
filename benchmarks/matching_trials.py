"""Match all genuine trials of CelebA-HQ's 30,000 images: time, memory, and the ratio to the bare matrix product.

    python -m benchmarks.matching_trials [--numbers 64]     needs the identities that LIKEWISE_DATA names

The identities are real; the vectors are synthetic, with a spectrum that falls like one over the rank, as the encoder's
latents have. A trial is its mean and its absolute difference, so that a unit has twice as many numbers.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import pandas as pd

import likewise as lw
from benchmarks.projection import DATA

CONTRAST = lw.Contrast("perceived_gender", "female", "male")


def problem(numbers: int) -> tuple[lw.Images, lw.Vectors]:
    """Return the images of identities on one side, and synthetic vectors that images of one person share in part."""
    table = pd.read_parquet(DATA / "celebahq" / "faces.parquet")
    sides = table.groupby("identity")["Male"].transform("nunique")
    table = table[sides == 1]
    frame = pd.DataFrame({"image": table["celebahq_index"].astype(str), "identity": table["identity"].astype(str)})
    frame["perceived_gender"] = np.where(table["Male"] > 0, "male", "female")
    rng = np.random.default_rng(0)
    codes = pd.factorize(frame["identity"])[0]
    person = rng.normal(size=(codes.max() + 1, numbers))[codes]
    values = (person + rng.normal(size=(len(frame), numbers))) / np.arange(1, numbers + 1) ** 0.5
    images = lw.Images(frame)
    return images, lw.Vectors(images.keys, values, source="synthetic")


def main() -> None:
    """Print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--numbers", type=int, default=64)
    options = parser.parse_args()
    images, vectors = problem(options.numbers)
    trials = lw.trials(images, seed=0, genuine="all")
    begun = time.process_time()
    found = lw.match(images, vectors, CONTRAST, units=trials)
    seconds = time.process_time() - begun
    side = CONTRAST.side(images).loc[trials.frame["a"]].to_numpy()
    x, y = (np.random.default_rng(1).normal(size=(n, 2 * options.numbers)).astype(np.float32)
            for n in ((side == 1).sum(), (side == -1).sum()))  # fmt: skip
    begun = time.process_time()
    for start in range(0, len(x), 512):
        x[start : start + 512] @ y.T
    product = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{len(images)} images, {len(trials)} genuine trials ({len(x)} x {len(y)}) of {x.shape[1]} numbers")
    print(f"{len(found)} pairs in {seconds:.1f} CPU-s, peak {peak:.2f} GB; the bare products {product:.1f} CPU-s")


if __name__ == "__main__":
    main()
