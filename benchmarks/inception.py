"""FID and KID on the Inception of 2015: a truncation ladder of the embedded generator.

    python -m benchmarks.inception [--images 200] [--photographs --data ../shared/data]

The nearer latents are brought to the mean face, the farther their images are from the generator's untruncated ones (of
other seeds): both distances must grow from rung to rung. With ``--photographs`` the reference is CelebA-HQ; there
a mild truncation may help, because those photographs are less varied than what the generator draws.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt

from likewise.analysis.images.feature_distances import frechet_distance, kernel_distance
from likewise.models.generators.mobilestylegan import MobileStyleGAN
from likewise.models.perception.inception import Inception
from likewise.runtime.pixels import decode
from likewise.runtime.registry import to_pictures

LADDER = (1.0, 0.8, 0.6, 0.4)
SIDE = 128
Floats = npt.NDArray[np.float64]


def photographs(data: Path, images: int, inception: Inception) -> Floats:
    """Return the features of random photographs of the CelebA-HQ pool."""
    files = sorted((data / "celebahq" / "images").glob("*.jpg"))
    chosen = [files[k] for k in np.random.default_rng(0).permutation(len(files))[:images]]
    parts = [inception.features_of_pictures(decode(file)[None]) for file in chosen]
    return np.concatenate(parts).astype(np.float64)


def drawn(truncation: float, images: int, inception: Inception, *, seed: int = 1) -> Floats:
    """Return the features of faces that the generator draws at its 128 px exit; all rungs share their seeds."""
    generator = MobileStyleGAN(truncation=truncation)
    latents = generator.sample_w(images, seed=seed)
    parts = []
    for start in range(0, images, 20):
        pictures = to_pictures(generator.synthesize(latents[start : start + 20], SIDE))
        parts.append(inception.features_of_pictures(pictures))
    return np.concatenate(parts).astype(np.float64)


def main() -> None:
    """Print the ladder, and whether it is monotone."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--images", type=int, default=200, help="images of the reference, and of each rung")
    parser.add_argument("--photographs", action="store_true", help="compare with photographs")
    given = parser.parse_args()
    inception = Inception()
    if given.photographs:
        reference = photographs(given.data, given.images, inception)
    else:
        reference = drawn(1.0, given.images, inception, seed=2)
    rows = []
    for truncation in LADDER:
        fake = drawn(truncation, given.images, inception)
        fid, kid = frechet_distance(fake, reference), kernel_distance(fake, reference)
        rows.append((fid[0], kid[0]))
        errors = f"(standard errors {fid[1] ** 0.5:.1f}, {kid[1] ** 0.5:.4f})"
        print(f"truncation {truncation}: FID {fid[0]:.1f}, KID {kid[0]:.4f} {errors}", flush=True)
    for name, column in zip(("FID", "KID"), np.array(rows).T, strict=True):
        print(f"{name}: {'monotone' if (np.diff(column) > 0).all() else 'NOT monotone'}")


if __name__ == "__main__":
    main()
