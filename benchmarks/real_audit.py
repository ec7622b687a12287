"""Matched samples of real photographs: is a recognizer worse for perceived women, before and after matching?

    python -m benchmarks.real_audit --work DIR                      needs the CelebA-HQ data that LIKEWISE_DATA names
    python -m benchmarks.real_audit --work DIR --design paper --method quick --people 200
    python -m benchmarks.real_audit --work DIR --pool
    python -m benchmarks.real_audit --admissible [--pool] [--people 200]        how many pairs dlib's rule admits

Lays out an audit in DIR (the photographs stay where they are, and none is shown), runs it, and prints the gaps of every
recognizer unmatched and matched, how much the covariates' differences shrink, and what each design says. Resumes where
it was; the printed figures are whatever comes out. Designs:

- ``trials``, ours: the trials that recognizers rate are matched on components of the latents and on the attributes by
  cardinality; other designs are variants.
- ``paper``, that of Singh et al. (2021): single images, nearest first, all rows of the latents, two images that dlib
  takes for one person (distance below 0.6), second images without eyeglasses that are equally difficult (LPIPS).

Latents are by the encoder, quick and often of another person, or ``--method quick`` (one step of descent) or
``refine``. dlib's embeddings of all photographs come with the data; the other recognizers embed them here.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial.distance import cdist

from benchmarks.projection import DATA, subset
from likewise.audit.runner import run
from likewise.runtime.progress import reporter
from likewise.tables import Estimates, Images, Trials
from likewise.tables.io import write_frame, write_text

COVARIATES = ("Young", "Smiling", "Eyeglasses", "Pale_Skin", "Wearing_Hat", "Blurry", "Chubby", "Mouth_Slightly_Open")
RECOGNIZERS = ("mobilefacenet", "faceplugin", "sface", "facenet")
DLIB = "dlib.npz"

_PLAN = """\
format = 2
seed = 0
covariates = [{covariates}]

[data]
images = "{images}"
table = "people.csv"

[contrast]
column = "perceived_gender"
focal = "female"
reference = "male"

[project]
generator = "mobilestylegan"
perceptual = "lpips-alex"
method = "{method}"
{design}
[[precomputed]]
rater = "dlib"
embeddings = "{dlib}"
measure = "euclidean"
threshold = 0.6
{raters}
[trials]
impostors = 20

[report]
title = "CelebA-HQ"
"""

_TRIALS = """
[units]
kind = "trials"
features = "auto"

[match]
method = "cardinality"
balance = [{covariates}]

[[variant]]
name = "latents alone"
method = "cardinality"

[[variant]]
name = "propensity on the attributes"
distance = "propensity"
score_on = [{covariates}]
"""

_PAPER = """
[match]
preset = "singh2021-distance"
reference_where = {{Eyeglasses = 0}}

[[secondary_distance]]
vectors = "{dlib}"
limit = 0.6

[reference_difficulty]
perceptual = "lpips-alex"
"""
DESIGNS = {"trials": _TRIALS, "paper": _PAPER}


def photographs(*, pool: bool) -> pd.DataFrame:
    """Return the photographs with their labels: the subset, or the whole pool."""
    if not pool:
        return subset()
    faces = pd.read_parquet(DATA / "celebahq" / "faces.parquet").set_index("image")
    return faces.loc[pd.read_csv(DATA / "celebahq" / "pool.csv")["image"]].reset_index()


def chosen(*, people: int, pool: bool) -> pd.DataFrame:
    """Return the photographs of so many people, half of either side (0: all); who is labeled both ways is left out."""
    faces = photographs(pool=pool)
    sides = faces.groupby("identity")["Male"].agg(["min", "max"])
    one = sides[sides["min"] == sides["max"]]["min"]
    rng, each = np.random.default_rng(0), people // 2 or len(one)
    who = [name for _, part in one.groupby(one) for name in rng.permutation(part.index.to_numpy())[:each]]
    return faces[faces["identity"].isin(who)].copy()


def admissible(table: pd.DataFrame, limit: float = 0.6) -> str:
    """Say how many pairs of photographs across the contrast dlib takes for one person, and of people, each once."""
    stored = np.load(DATA / "celebahq" / "dlib_embeddings.f16.npy", mmap_mode="r")
    values = np.asarray(stored[table["celebahq_index"].to_numpy()], dtype=np.float64)
    there = np.flatnonzero(np.isfinite(values).all(axis=1))
    table, values = table.iloc[there], values[there]
    male = (table["Male"] > 0).to_numpy()
    near = cdist(values[~male], values[male]) < limit
    one, other = (pd.factorize(table.loc[side, "identity"])[0] for side in (~male, male))
    met = csr_matrix((np.ones(near.sum()), (one[near.nonzero()[0]], other[near.nonzero()[1]])))
    pairs = int((maximum_bipartite_matching(met) >= 0).sum())
    return (
        f"{len(table)} photographs of {table['identity'].nunique()} people: {near.sum()} of {near.size} pairs are "
        f"below {limit} by dlib; at most {pairs} pairs with each person once"
    )


def lay_out(
    folder: Path, *, people: int, design: str = "trials", method: str = "encoder", pool: bool = False,
    recognizers: tuple[str, ...] = RECOGNIZERS,
) -> None:  # fmt: skip
    """Write the table of so many people, half of either side (0: all), dlib's embeddings, and the plan."""
    table = chosen(people=people, pool=pool)
    table["perceived_gender"] = np.where(table["Male"] > 0, "male", "female")
    for name in COVARIATES:
        table[name] = (table[name] > 0).astype(int)
    folder.mkdir(parents=True, exist_ok=True)
    write_frame(folder / "people.csv", table[["image", "identity", "perceived_gender", *COVARIATES]])
    _write_embeddings(folder / DLIB, table)
    names = ", ".join(f'"{name}"' for name in COVARIATES)
    raters = "".join(f'\n[[rater]]\nkind = "recognizer"\nname = "{name}"\n' for name in recognizers)
    images = os.path.relpath((DATA / "celebahq" / "images").resolve(), folder.resolve())
    how = DESIGNS[design].format(covariates=names, dlib=DLIB)
    plan = _PLAN.format(covariates=names, images=images, raters=raters, method=method, design=how, dlib=DLIB)
    write_text(folder / "audit.toml", plan)


def _write_embeddings(path: Path, table: pd.DataFrame) -> None:
    """Write dlib's embeddings of the photographs; those in which it found no face have none."""
    stored = np.load(DATA / "celebahq" / "dlib_embeddings.f16.npy", mmap_mode="r")
    values = np.asarray(stored[table["celebahq_index"].to_numpy()], dtype=np.float32)
    there = np.isfinite(values).all(axis=1)
    np.savez(path, keys=table["image"].to_numpy(str)[there], values=values[there])


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
    faces = Images.read(folder / "images.parquet").frame.set_index("image")
    genuine = Trials.read(folder / "trials.parquet").genuine().frame
    one, other = (faces.loc[genuine[end], list(COVARIATES)].to_numpy() for end in ("a", "b"))
    differ = pd.DataFrame(one != other, columns=list(COVARIATES))
    shares: pd.DataFrame = differ.groupby(faces.loc[genuine["a"], "perceived_gender"].to_numpy()).mean().T
    return shares.add_prefix("two pictures differ, ")


def main() -> None:
    """Lay out, run, tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--admissible", action="store_true", help="only count the pairs that the paper's rule admits")
    parser.add_argument("--people", type=int, default=600, help="half of either side; 0: all")
    parser.add_argument("--design", choices=list(DESIGNS), default="trials")
    parser.add_argument("--method", default="encoder", help="of projection: encoder, quick, refine")
    parser.add_argument("--pool", action="store_true", help="all photographs instead of the subset")
    parser.add_argument("--recognizers", nargs="*", default=RECOGNIZERS, help="beside dlib")
    given = parser.parse_args()
    if given.admissible:
        print(admissible(chosen(people=0 if given.pool else given.people, pool=given.pool)))
        return
    if given.work is None:
        parser.error("--work is missing: the folder of the audit")
    if not (given.work / "audit.toml").is_file():
        lay_out(
            given.work, people=0 if given.pool else given.people, design=given.design, method=given.method,
            pool=given.pool, recognizers=tuple(given.recognizers),
        )  # fmt: skip
    run(str(given.work), reporter=reporter(quiet=False))
    print(summary(given.work))


if __name__ == "__main__":
    main()
