"""How well each recognizer tells people apart, and for whom it finds no face: on the CelebA-HQ subset.

    python benchmarks/recognizers.py --data ../shared/data --work /tmp/embedded [--only dlib,openface]

For each recognizer: the area under the ROC of all genuine pairs against random impostor pairs; the share of genuine and
of impostor pairs that its own threshold accepts; the threshold at one false match in a thousand; and enrolment failures
by perceived gender. Intervals are 95 %, by resampling identities: a genuine pair weighs as often as its person is
drawn, an impostor pair as the product of both. Failures are left out of the AUC and count as rejections in the shares.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.data.align import astray
from likewise.models.detectors.detection import central
from likewise.models.detectors.landmarks import template
from likewise.models.detectors.registry import detector
from likewise.rating.rate import Embedding
from likewise.runtime.executor import Executor
from likewise.runtime.pixels import ImageFolder, decode
from likewise.runtime.registry import create
from likewise.stats.bootstrap import draws, percentiles
from likewise.stats.intervals import share_interval

NAMES = ("dlib", "faceplugin", "mobilefacenet", "openface", "sface")
IMPOSTORS, RESAMPLES, LEVEL = 60_000, 400, 0.95
Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Trials:
    """Matches of rows, whether they show one person, and whose they are."""

    a: npt.NDArray[np.int64]
    b: npt.NDArray[np.int64]
    same: npt.NDArray[np.bool_]
    people: npt.NDArray[np.int64]
    """The identity of every row, as a code."""


def subset(data: Path, identities: int) -> pd.DataFrame:
    """Return the images of the subset with identity and perceived gender."""
    known = pd.read_parquet(data / "celebahq" / "faces.parquet").set_index("image")
    rows = known.loc[pd.read_csv(data / "celebahq" / "subset.csv")["image"]].reset_index()
    kept = rows["identity"].unique()[:identities]
    gender = rows["Male"].map({0: "female", 1: "male"})
    return rows.assign(perceived_gender=gender)[rows["identity"].isin(kept)].reset_index(drop=True)


def trials(faces: pd.DataFrame, *, seed: int = 0) -> Trials:
    """Return all pairs of one identity and a random sample of pairs of two."""
    people = pd.factorize(faces["identity"])[0].astype(np.int64)
    i, j = np.triu_indices(len(people), 1)
    own = people[i] == people[j]
    rng = np.random.default_rng(seed)
    others = rng.choice(np.flatnonzero(~own), min(IMPOSTORS, int((~own).sum())), replace=False)
    chosen = np.concatenate([np.flatnonzero(own), others])
    return Trials(i[chosen], j[chosen], own[chosen], people)


def embedded(name: str, faces: pd.DataFrame, data: Path, work: Path) -> Floats:
    """Embed all images in two processes; what was done before is read again."""
    album = ImageFolder((data / "celebahq" / "images").resolve(), {image: image for image in faces["image"]})
    engine = Executor(kind="processes", workers=2, chunk=64)
    folder = work / f"{name}-{len(faces)}"
    return np.concatenate(
        [part["e"] for part in engine.map(Embedding(name, {}, album), list(faces["image"]), folder=folder)]
    )


def measured(distance: Floats, found: Trials, threshold: float) -> dict[str, object]:
    """Return AUC and acceptance rates with intervals, and the threshold at FMR 0.001."""
    order = np.argsort(distance, kind="stable")
    order = order[np.isfinite(distance[order])]
    a, b = found.people[found.a], found.people[found.b]
    count = int(found.people.max()) + 1
    once = _statistics(np.ones((1, count)), order, distance, found, a, b, threshold)[0]
    blocks = draws(count, resamples=RESAMPLES, seed=0, block=20)
    values = np.concatenate([_statistics(w, order, distance, found, a, b, threshold) for w in blocks])
    names = ("AUC", "TPR", "FPR")
    shown: dict[str, object] = {
        name: _interval(percentiles(float(once[k]), values[:, k], clusters=count, level=LEVEL))
        for k, name in enumerate(names)
    }
    impostors = np.sort(np.where(np.isfinite(distance), distance, np.inf)[~found.same])
    return shown | {"at FMR 0.001": f"{impostors[int(0.001 * len(impostors))]:.3f}"}


def _statistics(
    weights: Floats, order: npt.NDArray[np.int64], distance: Floats, found: Trials, a: Codes, b: Codes, limit: float
) -> Floats:
    """Return AUC, TPR and FPR of each row of weights ``[r, people]``."""
    pair = np.where(found.same, weights[:, a], weights[:, a] * weights[:, b])
    genuine, impostor = pair * found.same, pair * ~found.same
    below = np.cumsum(impostor[:, order], axis=1) - impostor[:, order] / 2  # impostors nearer than each genuine pair
    total = genuine[:, order].sum(axis=1) * impostor[:, order].sum(axis=1)
    auc = 1 - (genuine[:, order] * below).sum(axis=1) / total
    near = np.nan_to_num(distance, nan=np.inf) < limit
    rates = [(part * near).sum(axis=1) / part.sum(axis=1) for part in (genuine, impostor)]
    return np.stack([auc, *rates], axis=1)


def _interval(found: object) -> str:
    return f"{found.estimate:.4f} ({found.low:.4f} to {found.high:.4f})"  # type: ignore[attr-defined]


def failures(failed: npt.NDArray[np.bool_], faces: pd.DataFrame) -> dict[str, str]:
    """Return the share of images without a face by perceived gender; a person counts as one cluster."""
    shown = {}
    for group, rows in faces.groupby("perceived_gender").indices.items():
        share, clusters = float(failed[rows].mean()), faces["identity"].iloc[rows].nunique()
        by_person = pd.Series(failed[rows]).groupby(faces["identity"].iloc[rows].to_numpy())
        spread = by_person.sum() - share * by_person.size()
        variance = float(np.square(spread).sum()) / len(rows) ** 2
        low, high, _ = share_interval(share, variance, n=len(rows), clusters=clusters, level=LEVEL)
        shown[f"no face, {group}"] = f"{failed[rows].sum()} of {len(rows)}: {share:.2%} ({low:.2%} to {high:.2%})"
    return shown


def frames(data: Path, *, most: int = 200) -> None:
    """Print how far the corners of aligned and of other pictures are from the frame of FFHQ, and where points lie."""
    looker = detector("retinaface")
    for name in ("celebahq", "fairface"):
        files = sorted((data / name / "images").glob("*.jpg"))
        chosen = [files[k] for k in np.random.default_rng(1).permutation(len(files))[:most]]
        away, points = [], []
        for picture in map(decode, chosen):
            face, side = central(looker.find(picture), picture), picture.shape[0]
            if face is not None:
                away.append(astray(template("ffhq").transform(face.points, looker.scheme, side), side))
                points.append((face.points + 0.5) / side * 1024 - 0.5)
        ends = np.quantile(away, [0, 0.5, 0.95, 1]).round(3)
        print(f"{name}: {len(away)} of {len(chosen)} faces; corners astray (least, median, 95 %, most) {ends} sides")
        print(f"  mean points at 1024 px: {np.mean(points, axis=0).round(1).tolist()}")


def main() -> None:
    """Measure and print one Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--work", type=Path, default=Path("embedded"), help="where embeddings are kept")
    parser.add_argument("--only", default=",".join(NAMES), help="comma-separated recognizers")
    parser.add_argument("--identities", type=int, default=600)
    parser.add_argument("--frame", action="store_true", help="only say how far pictures are from the frame of FFHQ")
    given = parser.parse_args()
    if given.frame:
        frames(given.data)
        return
    faces = subset(given.data, given.identities)
    asked, rows = trials(faces), []
    for name in given.only.split(","):
        recognizer = create("recognizer", name)
        found = embedded(name, faces, given.data, given.work)
        distance = recognizer.distance(found[asked.a], found[asked.b]).astype(np.float64)
        row = {
            "recognizer": name,
            "threshold": f"{recognizer.threshold:g}",
            **measured(distance, asked, recognizer.threshold),
        }
        rows.append(row | failures(np.asarray(~np.isfinite(found).all(axis=1)), faces))
        print("\n".join(f"{key}: {value}" for key, value in rows[-1].items()), end="\n\n", flush=True)
    print(f"{len(faces)} images, {int(asked.same.sum())} genuine and {int((~asked.same).sum())} impostor pairs\n")
    frame = pd.DataFrame(rows).astype(str)
    print("| " + " | ".join(frame.columns) + " |\n|" + "---|" * frame.shape[1])
    for values in frame.to_numpy():
        print("| " + " | ".join(values) + " |")


if __name__ == "__main__":
    main()
