"""Which distance preserves what, on real photographs: the paper's table with right standard errors.

    python -m benchmarks.distances --work DIR     DIR is that of benchmarks.real_audit, whose latents are read

For 1,000 photographs of the CelebA-HQ subset, the 10 nearest by each distance: how far they are from the query in the
background, in yaw, pitch and roll (mean absolute difference) and in perceived attributes (share that disagrees), and
whether the nearest is of another identity. Angles, background and skin tone are from our networks (``describe``), not
by the paper's, so columns compare with each other better than with the published ones. There are no labels of race.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd

import likewise as lw
from benchmarks.projection import DATA, album
from likewise.data.describe import describe
from likewise.data.describe_spec import DescribeSpec
from likewise.design.retrieval import Limited, retrieval
from likewise.latents.directions import mean_rows
from likewise.runtime.cpu import tune
from likewise.runtime.executor import Executor
from likewise.runtime.progress import reporter
from likewise.tables import Vectors

MEASURED = ("measured_background", "predicted_yaw", "predicted_pitch", "predicted_roll", "measured_ita")
LABELED = ("perceived_gender", "Young", "Smiling", "Eyeglasses")
SAME = 0.6  # dlib's threshold, the paper's limit
PIXELS = 16


def described(work: Path, workers: int) -> lw.Images:
    """Return the faces of the audit with what networks read from them; a stopped run goes on."""
    faces = lw.Images.read(work / "images.parquet")
    engine = Executor(kind="processes", workers=workers, chunk=64) if workers > 1 else Executor(chunk=64)
    tune(engine)
    (work / "described").mkdir(exist_ok=True)
    with reporter(quiet=False).task("describe", len(faces)) as progress:
        spec = DescribeSpec(columns=MEASURED)
        return describe(faces, album(), spec=spec, executor=engine, folder=work / "described", progress=progress)


def distances(work: Path, faces: lw.Images) -> dict[str, Vectors | Limited]:
    """Return what is compared: latents, dlib's embeddings, both, and plain pixels."""
    latents = Vectors.read(work / "latents")
    mean = Vectors(latents.keys, mean_rows(latents).astype(np.float32), source=latents.source)
    table = pd.read_parquet(DATA / "celebahq" / "faces.parquet").set_index("image")["celebahq_index"]
    rows = np.load(DATA / "celebahq" / "dlib_embeddings.f16.npy")[table.loc[faces.keys].to_numpy()]
    there = np.isfinite(rows).all(axis=1)
    who = Vectors(
        [i for i, ok in zip(faces.keys, there, strict=True) if ok], rows[there].astype(np.float32), source="dlib"
    )
    small = album()(faces.keys, size=PIXELS).reshape(len(faces), -1).astype(np.float32)
    return {
        "latent, all rows": latents,
        "latent, mean row": mean,
        "recognizer (dlib)": who,
        f"latent, mean row, dlib < {SAME}": Limited(mean, who, SAME),
        f"pixels at {PIXELS} px": Vectors(faces.keys, small, source="pixels"),
    }


def main() -> None:
    """Describe, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    faces = described(given.work, given.workers)
    plain = faces.frame.dropna(subset=list(MEASURED))
    faces = lw.Images(plain)
    found = retrieval(faces, distances(given.work, faces), covariates=[*MEASURED, *LABELED], queries=given.queries)
    frame = found.frame
    frame["shown"] = [
        f"{e:.3f} ({low:.3f} to {high:.3f})" for e, low, high in frame[["estimate", "low", "high"]].to_numpy()
    ]
    print(frame.pivot(index="quantity", columns="sample", values="shown").to_string())
    print(frame.groupby("sample")["n"].max().to_string())


if __name__ == "__main__":
    main()
