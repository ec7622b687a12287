"""How far the networks that describe faces agree with people's labels, and for whom they have no answer.

    python benchmarks/attributes.py --data ../shared/data --work /tmp/described [--images 1000]

On the CelebA-HQ subset and a part of FairFace: predicted gender and age, GEAR's race, the skin tone that is measured
inside the mask, and faces that are not found. Labels are what annotators perceived. Intervals are 95 %; several images
of a person are one cluster (in FairFace every image is its own). Images that are not found are left out of agreements
and counted apart. Tables are printed as Markdown.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from likewise.models.classifiers.faces import Age, Emotion, FaceResAge, Gear, Gender
from likewise.models.detectors.detected_faces import detect_faces
from likewise.models.perception.color import skin_tone
from likewise.models.perception.pose import MeshPose, PointsPose
from likewise.models.perception.segmentation import CLASSES, Segmenter, square
from likewise.runtime.executor import Executor, Result
from likewise.runtime.pixels import ImageFolder
from likewise.stats.intervals import share_interval
from likewise.stats.jackknife import jackknife

LEVEL = 0.95
BANDS = ("0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "more than 70")
GEAR_RACES = {  # what of GEAR's five answers would agree with FairFace's label
    "White": "white", "Black": "black", "East Asian": "asian", "Southeast Asian": "asian", "Indian": "indian",
}  # fmt: skip
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Answers:
    """The work of one chunk: what every network says about the same faces."""

    album: ImageFolder

    def __call__(self, images: list[str]) -> Result:
        """Look at these images."""
        pictures = self.album(images)
        seen = detect_faces(pictures)
        faceres = FaceResAge().outputs(seen)  # once for both of its heads
        gear, mesh, points = Gear().labeled(seen), MeshPose().pose(seen), PointsPose().pose(seen)
        skin = Segmenter().classes(pictures) == CLASSES.index("face skin")
        tones = [skin_tone(square(picture), mask) for picture, mask in zip(pictures, skin, strict=True)]
        races = np.stack([gear[race] for race in Gear.answers["race"]], axis=1)
        return {
            "found": seen.there,
            "gender-v1": Gender().labeled(seen)["male"],
            "faceres": faceres["male"][:, 0],
            "gear": gear["male"],
            "race": np.nan_to_num(races, nan=-1).argmax(axis=1),
            "happy": Emotion().labeled(seen)["happy"],
            "age-v1": Age().years(seen),
            "faceres-age": faceres["age"] @ np.arange(1, 101, dtype=np.float32),
            "ita": np.array([tone[0] for tone in tones]),
            "yaw": mesh.yaw, "pitch": mesh.pitch, "roll": mesh.roll,
            "yaw5": points.yaw, "pitch5": points.pitch, "roll5": points.roll,
        }  # fmt: skip


def answered(name: str, faces: pd.DataFrame, data: Path, work: Path) -> pd.DataFrame:
    """Return the faces with all answers; what was done before is read again."""
    album = ImageFolder((data / name / "images").resolve(), {image: image for image in faces["image"]})
    engine = Executor(kind="processes", workers=2, chunk=32)
    parts = list(engine.map(Answers(album), list(faces["image"]), folder=work / f"{name}-{len(faces)}"))
    return faces.assign(**{key: np.concatenate([part[key] for part in parts]) for key in parts[0]})


def celebahq(data: Path, images: int) -> pd.DataFrame:
    """Return the subset's images with their labels, whole identities up to about so many images."""
    known = pd.read_parquet(data / "celebahq" / "faces.parquet").set_index("image")
    rows = known.loc[pd.read_csv(data / "celebahq" / "subset.csv")["image"]].reset_index()
    kept = rows["identity"].isin(rows["identity"].iloc[:images].unique())
    return rows.assign(group=rows["Male"].map({0: "female", 1: "male"}))[kept].reset_index(drop=True)


def fairface(data: Path, images: int) -> pd.DataFrame:
    """Return a random part of the faces with their labels."""
    rows = pd.read_csv(data / "fairface" / "faces.csv").sample(frac=1, random_state=0).iloc[:images]
    return rows.assign(identity=rows["image"], group=rows["perceived_gender"].str.lower()).reset_index(drop=True)


def share(hits: Iterable[bool], people: Iterable[object]) -> str:
    """Return a share with its interval; a person counts as one cluster."""
    hit, codes = np.asarray(list(hits), dtype=float), pd.factorize(np.asarray(list(people)))[0]
    if len(hit) == 0:
        return "none"
    mean, clusters = float(hit.mean()), int(codes.max()) + 1
    spread = np.bincount(codes, hit - mean)
    low, high, _ = share_interval(
        mean, float(np.square(spread).sum()) / len(hit) ** 2, n=len(hit), clusters=clusters, level=LEVEL
    )
    return f"{mean:.1%} ({low:.1%} to {high:.1%}), n {len(hit)}"


def gap(values: pd.Series, side: pd.Series, people: pd.Series) -> str:
    """Return the difference of means, yes less no, with its interval."""
    known = values.notna()
    y, yes = values[known].to_numpy(float), side[known].to_numpy(float)
    columns = np.column_stack([y * yes, yes, y * (1 - yes), 1 - yes])
    codes = pd.factorize(people[known])[0].astype(np.int64)
    found = jackknife(columns, lambda t: t[..., 0] / t[..., 1] - t[..., 2] / t[..., 3], [codes], level=LEVEL)
    means = (y[yes == 1].mean(), y[yes == 0].mean())
    return f"{means[0]:.1f} against {means[1]:.1f}: {found.estimate:+.1f} ({found.low:+.1f} to {found.high:+.1f})"


def table(title: str, rows: list[dict[str, str]]) -> None:
    """Print a Markdown table."""
    print(f"\n### {title}\n")
    names = list(rows[0])
    print("| " + " | ".join(names) + " |\n|" + "---|" * len(names))
    for row in rows:
        print("| " + " | ".join(str(row[name]) for name in names) + " |")


def genders(name: str, faces: pd.DataFrame) -> list[dict[str, str]]:
    """Agreement of each network's gender with the label, by the label."""
    rows = []
    for model in ("gender-v1", "faceres", "gear"):
        row = {"data": name, "network": model}
        for group in ("female", "male"):
            mine = faces[(faces["group"] == group) & faces["found"]]
            row[f"perceived {group}"] = share((mine[model] > 0.5) == (group == "male"), mine["identity"])
        rows.append(row)
    return rows


def by_race(faces: pd.DataFrame) -> list[dict[str, str]]:
    """Agreement and failures by perceived race in FairFace."""
    rows = []
    for race, mine in faces.groupby("perceived_race"):
        found = mine[mine["found"]]
        male = found["perceived_gender"] == "Male"
        row = {"perceived race": str(race), "no face found": share(~mine["found"], mine["identity"])}
        for model in ("gender-v1", "faceres", "gear"):
            row[f"gender by {model}"] = share((found[model] > 0.5) == male, found["identity"])
        wanted = GEAR_RACES.get(str(race))
        code = Gear.answers["race"].index(wanted) if wanted else -1
        row["race by gear"] = share(found["race"] == code, found["identity"]) if wanted else "no such answer"
        row["median ITA"] = f"{mine['ita'].median():.0f}"
        rows.append(row)
    return rows


def ages(celeba: pd.DataFrame, fair: pd.DataFrame) -> list[dict[str, str]]:
    """Predicted years against the label Young, and against FairFace's bands."""
    found = fair[fair["found"]]
    band = found["perceived_age"].map({label: k for k, label in enumerate(BANDS)})
    rows = []
    for model in ("age-v1", "faceres-age"):
        said = np.digitize(found[model], [3, 10, 20, 30, 40, 50, 60, 70])
        rows.append(
            {
                "network": model,
                "CelebA-HQ: years, not Young against Young": gap(
                    celeba[model], celeba["Young"] == 0, celeba["identity"]
                ),
                "FairFace: in the labeled band": share(said == band, found["identity"]),
                "at most one band off": share(np.abs(said - band) <= 1, found["identity"]),
            }
        )
    return rows


def main() -> None:
    """Answer, compare, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--images", type=int, default=1000, help="about so many of each set")
    given = parser.parse_args()
    celeba = answered("celebahq", celebahq(given.data, given.images), given.data, given.work)
    fair = answered("fairface", fairface(given.data, given.images), given.data, given.work)
    table("Gender that agrees with the label", genders("CelebA-HQ", celeba) + genders("FairFace", fair))
    table("Age", ages(celeba, fair))
    pale = gap(celeba["ita"], celeba["Pale_Skin"] == 1, celeba["identity"])
    smile = gap(100 * celeba["happy"], celeba["Smiling"] == 1, celeba["identity"])
    table("Against CelebA's labels", [{"ITA, Pale_Skin or not": pale, "happy (%), Smiling or not": smile}])
    lost = [
        {"data": n, **{f"perceived {g}": share(~m["found"], m["identity"]) for g, m in f.groupby("group")}}
        for n, f in (("CelebA-HQ", celeba), ("FairFace", fair))
    ]
    table("No face found (dlib)", lost)
    table("By perceived race (FairFace)", by_race(fair))
    both = celeba[celeba["found"]]
    agree = {angle: f"{np.corrcoef(both[angle], both[f'{angle}5'])[0, 1]:.2f}" for angle in ("yaw", "pitch", "roll")}
    table("Correlation of the two ways to a pose (CelebA-HQ)", [dict(agree)])


if __name__ == "__main__":
    main()
