"""Choose the crops and thresholds that no maker names, on one half of the people; measure them on the other half.

    python -m benchmarks.crops --data ../shared/data --work /tmp/cropped [--choosing 100]

FaceRes, FaceNet and GEAR come without a word on how a face is to be cut. Images are found once, by dlib, and
cut in each
of our ways. On some people of the first half the crop with the largest AUC is chosen (GEAR: the one whose gender agrees
most with the label, on half of FairFace); on the whole first half the threshold, for one false match in a thousand;
the second half is only measured. The thresholds of faceplugin and SFace are set in the same way.

Impostors are of one perceived gender: pairs of two are easier, and would set a threshold that is too generous.
Intervals are 95 %, people resampled.
"""

from __future__ import annotations

import argparse
import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.attributes import fairface, share
from benchmarks.recognizers import Floats, Trials, embedded, measured, subset, trials
from likewise.models.classifiers.faces import Gear
from likewise.models.detectors.detected_faces import detect_faces
from likewise.runtime.executor import Executor, Result
from likewise.runtime.pixels import ImageFolder
from likewise.runtime.registry import create

CROPS = ("face-20", "chip", "face-40", "mesh")  # 20, 25, 40 and 45 % of a face's side more on each side
RECOGNIZERS = ("faceres", "facenet")
FALSE_MATCHES = 0.001


@dataclass(frozen=True)
class Cut:
    """The work of one chunk: faces found once and embedded by each network in each crop."""

    album: ImageFolder
    ways: tuple[tuple[str, str], ...]
    """Networks, and a crop for each."""

    def __call__(self, images: list[str]) -> Result:
        """Embed these images; a row of NaN where no face was found."""
        seen = detect_faces(self.album(images, size=256))
        made: Result = {}
        for name, crop in self.ways:
            recognizer = create("recognizer", name)
            made[f"{name} {crop}"] = seen.spread(
                recognizer.embed_crops(seen.crops(crop, recognizer.preprocessing.size))
            )
        return made


@dataclass(frozen=True)
class Genders:
    """The work of one chunk: what GEAR calls the same faces in each crop."""

    album: ImageFolder

    def __call__(self, images: list[str]) -> Result:
        """Return the chance of male; NaN where no face was found."""
        seen, gear = detect_faces(self.album(images, size=256)), Gear()
        made: Result = {}
        for crop in CROPS:
            gear.preprocessing = dataclasses.replace(gear.preprocessing, template=crop)
            made[crop] = gear.labeled(seen)["male"]
        return made


def worked(work: Cut | Genders, images: list[str], folder: Path) -> dict[str, npt.NDArray[np.float32]]:
    """Do the work in one process; what was done before is read again."""
    parts = list(Executor(chunk=32).map(work, images, folder=folder))
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def halves(faces: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split the people at random into two halves, with all their pictures."""
    people = np.sort(faces["identity"].unique())
    first = np.random.default_rng(8).permutation(people)[: len(people) // 2]
    mine = faces["identity"].isin(first)
    return faces[mine].reset_index(drop=True), faces[~mine].reset_index(drop=True)


def of_one_gender(faces: pd.DataFrame) -> Trials:
    """Return all genuine pairs, and impostor pairs of people of one perceived gender."""
    asked = trials(faces)
    group = faces["perceived_gender"].to_numpy()
    kept = asked.same | (group[asked.a] == group[asked.b])
    return Trials(asked.a[kept], asked.b[kept], asked.same[kept], asked.people)


def distances(name: str, values: npt.NDArray[np.float32], asked: Trials) -> Floats:
    """Return the distance of every pair."""
    apart = create("recognizer", name).distance(values[asked.a], values[asked.b])
    return np.asarray(apart, dtype=np.float64)


def limit(distance: Floats, asked: Trials) -> float:
    """Return the threshold that one impostor pair in a thousand is below."""
    impostors = np.sort(np.where(np.isfinite(distance), distance, np.inf)[~asked.same])
    return float(impostors[int(FALSE_MATCHES * len(impostors))])


def choose(name: str, faces: pd.DataFrame, cut: dict[str, npt.NDArray[np.float32]]) -> str:
    """Return the crop with the largest AUC, and print all."""
    asked, found = of_one_gender(faces), {}
    for crop in CROPS:
        shown = measured(distances(name, cut[f"{name} {crop}"], asked), asked, 0.5)["AUC"]
        print(f"crops: {name} in {crop}: AUC {shown} on {faces['identity'].nunique()} people", flush=True)
        found[crop] = float(str(shown).split()[0])
    return max(found, key=lambda crop: found[crop])


def settle(name: str, faces: pd.DataFrame, values: npt.NDArray[np.float32]) -> None:
    """Set the threshold on the first half of the people, and measure it and the AUC on the second."""
    row = pd.Series(range(len(faces)), index=faces["image"])
    first, second = halves(faces)
    asked, others = of_one_gender(first), of_one_gender(second)
    threshold = limit(distances(name, values[row[first["image"]]], asked), asked)
    shown = measured(distances(name, values[row[second["image"]]], others), others, threshold)
    said = ", ".join(f"{key} {shown[key]}" for key in ("AUC", "TPR", "FPR"))
    people = first["identity"].nunique(), second["identity"].nunique()
    print(f"thresholds: {name}: {threshold:.3f}, set on {people[0]} people; on {people[1]} others {said}", flush=True)


def gear(data: Path, work: Path, images: int) -> None:
    """Choose GEAR's crop on half of some FairFace pictures, and measure it on the other half."""
    faces = fairface(data, images)
    album = ImageFolder((data / "fairface" / "images").resolve(), {image: image for image in faces["image"]})
    male = worked(Genders(album), list(faces["image"]), work / f"gear-{images}")
    right = {crop: (male[crop] > 0.5) == (faces["group"] == "male").to_numpy() for crop in CROPS}
    there = np.isfinite(male[CROPS[0]])
    half = np.arange(len(faces)) < len(faces) // 2
    for crop in CROPS:
        print(f"crops: gear in {crop}: {share(right[crop][half & there], faces['image'][half & there])}", flush=True)
    best = max(CROPS, key=lambda crop: right[crop][half & there].mean())
    print(f"crops: gear: {best}; on the other half {share(right[best][~half & there], faces['image'][~half & there])}")


def main() -> None:
    """Choose, set, measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--work", type=Path, required=True, help="where finished parts are kept")
    parser.add_argument("--people", type=int, default=600, help="people of the subset, half of whom are measured")
    parser.add_argument("--choosing", type=int, default=100, help="people on whom crops are chosen")
    parser.add_argument(
        "--embedded", type=Path, default=None, help="--work of benchmarks/recognizers.py, for faceplugin, sface"
    )
    parser.add_argument("--fairface", type=int, default=500, help="pictures for GEAR")
    given = parser.parse_args()
    faces = subset(given.data, given.people)
    album = ImageFolder((given.data / "celebahq" / "images").resolve(), {image: image for image in faces["image"]})
    first, _ = halves(faces)
    some = first[first["identity"].isin(first["identity"].unique()[: given.choosing])].reset_index(drop=True)
    every = tuple((name, crop) for name in RECOGNIZERS for crop in CROPS)
    cut = worked(Cut(album, every), list(some["image"]), given.work / f"cut-{len(some)}")
    chosen = {name: choose(name, some, cut) for name in RECOGNIZERS}
    print(f"crops: chosen {chosen}", flush=True)
    gear(given.data, given.work, given.fairface)
    folder = given.work / "-".join([*chosen, *chosen.values(), str(len(faces))])
    whole = worked(Cut(album, tuple(chosen.items())), list(faces["image"]), folder)
    for name, crop in chosen.items():
        settle(name, faces, whole[f"{name} {crop}"])
    if given.embedded:
        faces = subset(given.data, 600)
        for name in ("faceplugin", "sface"):
            settle(name, faces, embedded(name, faces, given.data, given.embedded).astype(np.float32))


if __name__ == "__main__":
    main()
