"""FID, KID, recall and coverage on the Inception of 2015: a truncation ladder of the embedded generator.

    python -m benchmarks.inception [--images 200] [--work DIR] [--photographs --data ../shared/data]

The nearer latents are brought to the mean face, the farther their images are from the generator's untruncated ones (of
other seeds): both distances must grow from rung to rung, recall and coverage must fall. Precision and density are
printed: images near the mean face lie where the reference is dense. Features are kept in DIR. With ``--photographs``
the reference is CelebA-HQ; there a mild truncation may help, because those photographs are less varied than what the
generator draws.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from likewise.analysis.images.feature_distances import frechet_distance, kernel_distance
from likewise.analysis.images.manifold import STATS, manifold_scores
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


def kept(work: Path | None, name: str, make: Callable[[], Floats]) -> Floats:
    """Return features from the folder, or make them and keep them there."""
    if work is None:
        return make()
    path = work / f"{name}.npy"
    if not path.is_file():
        work.mkdir(parents=True, exist_ok=True)
        np.save(path, make().astype(np.float32))
    return np.asarray(np.load(path), np.float64)


def rung(fake: Floats, reference: Floats) -> dict[str, tuple[float, float]]:
    """Return each score with its standard error; NaN where it is not estimated here."""
    fid, kid = frechet_distance(fake, reference), kernel_distance(fake, reference)
    scores = manifold_scores(reference, fake)
    found = {"FID": (fid[0], fid[1] ** 0.5), "KID": (kid[0], kid[1] ** 0.5)}
    return found | {stat: (float(getattr(scores, stat).mean()), float("nan")) for stat in STATS}


def verdict(name: str, column: Floats) -> str:
    """Say whether a score changes in the expected direction from rung to rung."""
    sign = 1 if name in ("FID", "KID") else -1
    return f"{name}: {'monotone' if (sign * np.diff(column) > 0).all() else 'NOT monotone'}"


def main() -> None:
    """Print the ladder, and whether it is monotone."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--images", type=int, default=200, help="images of the reference, and of each rung")
    parser.add_argument("--work", type=Path, help="where features are kept; default: nowhere")
    parser.add_argument("--photographs", action="store_true", help="compare with photographs")
    given = parser.parse_args()
    inception, n = Inception(), given.images
    if given.photographs:
        reference = kept(given.work, f"photographs-{n}", lambda: photographs(given.data, n, inception))
    else:
        reference = kept(given.work, f"reference-{n}", lambda: drawn(1.0, n, inception, seed=2))
    rows = []
    for truncation in LADDER:
        fake = kept(given.work, f"drawn-{truncation:g}-{n}", partial(drawn, truncation, n, inception))
        rows.append(rung(fake, reference))
        line = ", ".join(f"{name} {value:.4g}" + (f" (se {error:.2g})" if np.isfinite(error) else "")
                         for name, (value, error) in rows[-1].items())  # fmt: skip
        print(f"truncation {truncation}: {line}", flush=True)
    for name in ("FID", "KID", "recall", "coverage"):
        print(verdict(name, np.array([found[name][0] for found in rows])))


if __name__ == "__main__":
    main()
