"""Photographs to learn from: FairFace faces in the generator's frame, and their refined latents.

    python -m benchmarks.fairface --work DIR --images 240 [--share 1/2]        needs LIKEWISE_DATA

FairFace is licensed CC BY 4.0, so what is learned from it may be shipped; its labels are not used. Photographs come
in a random order with a fixed seed. DIR/aligned has each in the generator's frame (256 px; what the photograph does not
show is mirrored), DIR/latents its latent by ``--method``. A stopped run goes on. DIR holds photographs of people: keep
it to yourself.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from benchmarks.projection import DATA, share
from likewise.data.align import Alignment, AlignSpec, settled
from likewise.data.keys import file_of
from likewise.latents.projection import ProjectSpec, solver
from likewise.runtime.cpu import keep_freed_memory
from likewise.runtime.pixels import ImageFolder
from likewise.runtime.registry import create, to_signals

SIDE = 256


def photographs(count: int) -> list[str]:
    """Return the names of the first photographs in the order."""
    faces = pd.read_csv(DATA / "fairface" / "faces.csv")["image"]
    return [str(name) for name in faces.sample(frac=1, random_state=11)[:count]]


def aligned(images: list[str], folder: Path) -> ImageFolder:
    """Bring photographs into the generator's frame; those without a face are left out."""
    folder.mkdir(parents=True, exist_ok=True)
    root = (DATA / "fairface" / "images").resolve()
    spec = settled(AlignSpec(size=SIDE), create("generator", "mobilestylegan"))
    missing = [image for image in images if not (folder / file_of(image)).exists()]
    Alignment(spec, ImageFolder(root, {image: image for image in missing}), folder)(missing)
    return ImageFolder(folder.resolve(), {i: file_of(i) for i in images if (folder / file_of(i)).exists()})


def project(images: list[str], show: ImageFolder, folder: Path, method: str) -> None:
    """Project what is not projected yet."""
    folder.mkdir(parents=True, exist_ok=True)
    generator, _, solve = solver(ProjectSpec(generator="mobilestylegan", perceptual="lpips-alex", method=method))
    for image in images:
        kept = folder / f"{Path(image).stem}.npy"
        if kept.exists():
            continue
        start = time.process_time()
        w, _ = solve(to_signals(show([image], size=generator.resolution)))
        fresh = kept.with_suffix(".part.npy")
        np.save(fresh, w[0])
        fresh.replace(kept)
        print(f"{image}: {time.process_time() - start:.1f} CPU s", flush=True)


def main() -> None:
    """Align and project."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--images", type=int, default=240)
    parser.add_argument("--method", default="refine")
    parser.add_argument("--share", default="1/1", help="of the photographs: the k-th of n")
    given = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    images = share(photographs(given.images), given.share)
    show = aligned(images, given.work / "aligned")
    project([image for image in images if image in show.files], show, given.work / "latents", given.method)


if __name__ == "__main__":
    main()
