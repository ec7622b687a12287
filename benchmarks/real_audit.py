"""The whole audit on real photographs: is a recognizer worse for perceived women, before and after matching?

    python -m benchmarks.real_audit --work DIR [--people 300]     needs the CelebA-HQ subset that LIKEWISE_DATA names

Lays out an audit of the subset in DIR (the photographs stay where they are, and none is shown), runs it, and prints the
gaps of every recognizer unmatched and matched, how much the covariates' differences shrink, and
what each design says. Latents are the encoder's: quick, and often of another person, so matching on them is matching on
what an encoder keeps. Resumes where it was; the printed figures are whatever comes out.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.projection import DATA, subset
from likewise.audit.runner import run
from likewise.runtime.progress import reporter
from likewise.tables import Estimates, Images, Trials
from likewise.tables.io import write_frame, write_text

COVARIATES = ("Young", "Smiling", "Eyeglasses", "Pale_Skin", "Wearing_Hat", "Blurry", "Chubby", "Mouth_Slightly_Open")
RECOGNIZERS = ("dlib", "facenet", "mobilefacenet")

_PLAN = """\
format = 1
seed = 0
covariates = [{covariates}]

[faces]
images = "{images}"
table = "people.csv"

[contrast]
column = "perceived_gender"
focal = "female"
reference = "male"

[project]
generator = "mobilestylegan"
perceptual = "lpips-alex"
method = "encoder"

[match]
rows = "mean"
exact = ["Eyeglasses", "Young"]

[[variant]]
name = "propensity on the attributes"
distance = "propensity"
score_on = [{covariates}]

[[variant]]
name = "latents alone"
rows = "mean"

[[variant]]
name = "latents alone, contrast left in"
rows = "mean"
{raters}
[trials]
impostors = 20

[report]
title = "CelebA-HQ subset"

[engine]
kind = "processes"
workers = {workers}
"""


def lay_out(folder: Path, *, people: int) -> None:
    """Write the table of so many people, half of either side, and the plan."""
    faces = subset()
    sides = faces.groupby("identity")["Male"].agg(["min", "max"])
    one = sides[sides["min"] == sides["max"]]["min"]
    rng = np.random.default_rng(0)
    chosen = [who for _, part in one.groupby(one) for who in rng.permutation(part.index.to_numpy())[: people // 2]]
    table = faces[faces["identity"].isin(chosen)].copy()
    table["perceived_gender"] = np.where(table["Male"] > 0, "male", "female")
    for name in COVARIATES:
        table[name] = (table[name] > 0).astype(int)
    write_frame(folder / "people.csv", table[["image", "identity", "perceived_gender", *COVARIATES]])
    names = ", ".join(f'"{name}"' for name in COVARIATES)
    raters = "".join(f'\n[[rater]]\nslot = "recognizer"\nname = "{name}"\n' for name in RECOGNIZERS)
    images = os.path.relpath((DATA / "celebahq" / "images").resolve(), folder.resolve())
    plan = _PLAN.format(covariates=names, images=images, raters=raters, workers=os.cpu_count() or 1)
    write_text(folder / "audit.toml", plan)


def summary(folder: Path) -> str:
    """Return the figures that the question asks for."""
    estimates, balance = (Estimates.read(folder / f"{name}.parquet").frame for name in ("estimates", "balance"))
    gaps = estimates[estimates["stat"].isin(["gap", "adjusted_gap"]) & ~estimates["sample"].str.contains(", without ")]
    smd = balance[balance["stat"] == "smd"].pivot(index="quantity", columns="sample", values="estimate").abs()
    return "\n\n".join(
        [
            gaps[["quantity", "sample", "stat", "estimate", "low", "high", "n", "clusters"]].to_string(index=False),
            smd.to_string(),
            apart(folder).to_string(),
            f"mean absolute SMD: {smd['all'].mean():.3f} before, {smd['matched'].mean():.3f} after matching",
        ]
    )


def apart(folder: Path) -> pd.DataFrame:
    """Return by group in which share of the genuine trials the two pictures differ in an attribute."""
    faces = Images.read(folder / "faces.parquet").frame.set_index("image")
    genuine = Trials.read(folder / "trials.parquet").genuine().frame
    one, other = (faces.loc[genuine[end], list(COVARIATES)].to_numpy() for end in ("a", "b"))
    differ = pd.DataFrame(one != other, columns=list(COVARIATES))
    shares: pd.DataFrame = differ.groupby(faces.loc[genuine["a"], "perceived_gender"].to_numpy()).mean().T
    return shares.add_prefix("two pictures differ, ")


def main() -> None:
    """Lay out, run, tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--people", type=int, default=600)
    given = parser.parse_args()
    if not (given.work / "audit.toml").is_file():
        given.work.mkdir(parents=True, exist_ok=True)
        lay_out(given.work, people=given.people)
    run(str(given.work), reporter=reporter(quiet=False))
    print(summary(given.work))


if __name__ == "__main__":
    main()
