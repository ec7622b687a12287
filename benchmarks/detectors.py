"""Face detectors as systems under audit: recall by group, on photographs and on drawn faces, and with a planted rule.

    python -m benchmarks.detectors --work DIR --fairface ../shared/data/fairface [--most 700]    # photographs
    python -m benchmarks.detectors --work DIR --drawn 200                           # faces of the embedded generator
    python -m benchmarks.detectors --work DIR --worlds 1000                         # planted recalls: coverage

Every photograph shows a face, so the share of images with a detection is the recall. The photographs of FairFace were
cropped around faces that another detector had found: recalls are high, and say nothing about faces that it missed.
A planted detector misses 15 % of the faces of one group and 5 % of the other's; a person whom it missed once it misses
more often again. Ratings are kept in DIR, by detector.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import likewise as lw
from likewise.data.describe_spec import DescribeSpec
from likewise.latents.sampled import drawn as draw
from likewise.models.classifiers.detectors import CONFIDENCE, DETECTED
from likewise.runtime.pixels import save
from likewise.runtime.registry import create
from likewise.stats.intervals import wilson

DETECTORS = ("dlib-detector", "yunet-detector", "retinaface-detector")
PLANTED = {"a": 0.85, "b": 0.95}
PEOPLE, EACH, SPREAD = 60, 4, 8.0  # people of each group, images of each, precision of a person's own recall


def rated(name: str, images: lw.Images, folder: Path, work: Path) -> lw.Ratings:
    """Return what a detector found in every image; what was done before is read again."""
    kept = work / f"{name}-{len(images)}.parquet"
    if not kept.is_file():
        lw.rate(images, folder, model=create("classifier", name)).write(kept)
    return lw.Ratings.read(kept)


def printed(images: lw.Images, folder: Path, work: Path, families: list[list[str]]) -> None:
    """Print recall and confidence of every detector by each set of columns."""
    for name in DETECTORS:
        ratings = rated(name, images, folder, work)
        frame = ratings.frame
        shown = lw.Ratings(frame[frame["question"].isin([DETECTED, CONFIDENCE])])
        for by in families:
            found = lw.by_group(shown, None, images, by, suppress_below=20).frame
            for question in (DETECTED, CONFIDENCE):
                print(f"\n{name}, {question}, by {' x '.join(by)}")
                own = found[found["quantity"] == f"{name}: {question}"]
                kept = own["stat"].isin(["group_rate", "group_mean", "group_difference", "max_difference"])
                for _, row in own[kept].iterrows():
                    ends = f"({row['low']:.4f} to {row['high']:.4f})"
                    print(f"  {row['stat']:<17}{row['group']:<36}{row['estimate']:.4f} {ends}  n {row['n']}")


def photographs(data: Path, most: int) -> tuple[lw.Images, Path]:
    """Return the table of FairFace, or so many random rows; nobody is in it twice, as far as is known."""
    frame = pd.read_csv(data / "faces.csv", dtype=str)
    frame = frame.sample(most, random_state=0, ignore_index=True) if most else frame
    return lw.Images(frame.assign(identity=frame["image"])), data / "images"


def drawn(count: int, work: Path) -> tuple[lw.Images, Path]:
    """Draw faces with the embedded generator at 512 pixels; gender is predicted, skin tone is measured."""
    folder, table = work / f"drawn-{count}", work / f"drawn-{count}.csv"
    if not table.is_file():
        generator = create("generator", "mobilestylegan")
        mean = generator.mean_w()
        w = mean + 0.7 * (generator.sample_w(count, 3) - mean)
        names = [f"{place:04d}.png" for place in range(count)]
        for place, name in enumerate(names):
            if not (folder / name).is_file():
                save(folder / name, draw(generator, w[place : place + 1].astype(np.float32), 512)[0])
        images = lw.Images(pd.DataFrame({"image": names, "identity": names}))
        lw.describe(images, folder, spec=DescribeSpec(columns=("predicted_gender", "measured_ita"))).write(table)
    images = lw.Images.read(table)
    ita = images.attribute("measured_ita")
    tone = pd.Series(np.where(ita > 28, "lighter", "darker"), index=ita.index).where(ita.notna())
    return images.with_attribute("measured_tone", tone), folder


def world(seed: int) -> tuple[lw.Ratings, lw.Images]:
    """Draw the detections of a planted detector: people of unequal numbers of images and recalls of their own."""
    rng = np.random.default_rng(seed)
    rows = []
    for group, recall in PLANTED.items():
        own = rng.beta(recall * SPREAD, (1 - recall) * SPREAD, PEOPLE)
        for person, chance in enumerate(own):
            for image in range(int(rng.integers(1, 2 * EACH))):
                rows.append((f"{group}{person}-{image}", f"{group}{person}", group, float(rng.random() < chance)))
    frame = pd.DataFrame(rows, columns=["image", "identity", "perceived_group", "value"])
    ratings = frame.rename(columns={"image": "unit"})[["unit", "value"]].assign(rater="planted", question=DETECTED)
    return lw.Ratings(ratings), lw.Images(frame.drop(columns="value"))


def coverage(worlds: int) -> None:
    """Print how often intervals of the recalls and of their difference hold the planted values."""
    truth = {("group_rate", "a"): PLANTED["a"], ("group_rate", "b"): PLANTED["b"],
             ("group_difference", "a - b"): PLANTED["a"] - PLANTED["b"]}  # fmt: skip
    held = dict.fromkeys(truth, 0)
    alone = 0
    for seed in range(worlds):
        ratings, images = world(seed)
        found = lw.by_group(ratings, None, images, "perceived_group", reference="b")
        for key, value in truth.items():
            low, high = found.where(stat=key[0], group=key[1]).frame[["low", "high"]].to_numpy(dtype=float)[0]
            held[key] += bool(low <= value <= high)
        hit = ratings.frame["value"][images.frame["perceived_group"].to_numpy() == "a"]
        low, high = wilson(hit.mean(), len(hit), level=0.95)
        alone += low <= PLANTED["a"] <= high
    for key, count in [*held.items(), (("images as if independent", "a"), alone)]:
        low, high = wilson(count / worlds, worlds, level=0.95)
        print(f"{key[0]:<26}{key[1]:<8}covered {100 * count / worlds:.1f} % ({100 * low:.1f} to {100 * high:.1f})")


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--fairface", type=Path)
    parser.add_argument("--most", type=int, default=0, help="photographs, drawn at random; 0: all")
    parser.add_argument("--drawn", type=int, default=0)
    parser.add_argument("--worlds", type=int, default=0)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    if given.fairface:
        show = partial(printed, *photographs(given.fairface, given.most), given.work)
        show([["perceived_race"], ["perceived_gender"], ["perceived_age"], ["perceived_race", "perceived_gender"]])
    if given.drawn:
        show = partial(printed, *drawn(given.drawn, given.work), given.work)
        show([["predicted_gender"], ["measured_tone"], ["predicted_gender", "measured_tone"]])
    if given.worlds:
        coverage(given.worlds)


if __name__ == "__main__":
    main()
