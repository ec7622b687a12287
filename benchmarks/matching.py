"""Matching against its peers: ratios in one run. ``python benchmarks/matching.py [PART ...]``, parts a to f.

Latents are synthetic (rank-40 signal and noise, 18 x 512), identities and recogniser embeddings those of the real table
if LIKEWISE_DATA has it, else synthetic too. Peers: the loop that was published with the method, written again (the
whole matrix, copied and searched anew for every pair), scikit-learn's distances, a bare matrix product of the same
shapes, and MatchIt where Rscript is there.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.metrics import pairwise_distances
from threadpoolctl import threadpool_limits

import likewise as lw
from likewise.design import optimal
from likewise.design.metric import Euclid
from likewise.design.points import Points
from likewise.design.rules import Near
from likewise.design.scoreline import Scoreline

CONTRAST = lw.Contrast("perceived_gender", focal="male", reference="female")
DATA = Path(os.environ.get("LIKEWISE_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))
ROWS, WIDTH, RANK = 18, 512, 40
Floats = npt.NDArray[np.floating]


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what the work returns, its wall seconds and its CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def calmly(work: Callable[[], Any]) -> Any:
    """Do a peer's work with one BLAS thread: several wait for each other by spinning, which would count as its work."""
    with threadpool_limits(1, user_api="blas"):
        return work()


def peak() -> float:
    """Return the largest resident size of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def say(*parts: object) -> None:
    """Print at once."""
    print(*parts, flush=True)


def warm_up() -> None:
    """Have everything loaded that is loaded once."""
    faces = faces_of(200)
    lw.match(faces, latents_of(faces), CONTRAST)


def faces_of(count: int, seed: int = 0) -> lw.Faces:
    """Return a table of so many images with real identity counts, or counts like them."""
    rng = np.random.default_rng(seed)
    table = DATA / "celebahq" / "faces.parquet"
    if table.is_file():
        real = pd.read_parquet(table, columns=["celebahq_index", "identity", "Male", "Eyeglasses"])
        real["Male"] = real.groupby("identity")["Male"].transform("median").round()
        people = rng.permutation(real["identity"].unique())
        rank = real["identity"].map({name: place for place, name in enumerate(people)})
        real = real.iloc[np.argsort(rank.to_numpy(), kind="stable")[:count]]
        wanted = ("Male", "identity", "Eyeglasses", "celebahq_index")
        side, who, glasses, key = (real[name].to_numpy() for name in wanted)
    else:
        who = np.sort(rng.integers(0, max(2, count // 5), count))
        side, glasses, key = (who % 8 < 3).astype(int), (rng.random(count) < 0.05).astype(int), np.arange(count)
    return lw.Faces(
        pd.DataFrame(
            {
                "image": key, "identity": who, "eyeglasses": glasses,
                "perceived_gender": np.where(side > 0, "male", "female"),
            }
        )
    )  # fmt: skip


def latents_of(faces: lw.Faces, seed: int = 1) -> lw.Vectors:
    """Return synthetic W+ latents: a person's place in 40 dimensions, the picture's own, and noise."""
    rng = np.random.default_rng(seed)
    who, people = pd.factorize(faces.identities)
    signal = rng.normal(size=(len(people), RANK))[who] + 0.7 * rng.normal(size=(len(faces), RANK))
    basis = rng.normal(size=(RANK, ROWS * WIDTH)).astype(np.float32)
    values = np.empty((len(faces), ROWS * WIDTH), dtype=np.float32)
    for start in range(0, len(faces), 2000):
        part = signal[start : start + 2000].astype(np.float32)
        values[start : start + 2000] = part @ basis
        values[start : start + 2000] += 2 * rng.standard_normal((len(part), ROWS * WIDTH), dtype=np.float32)
    return lw.Vectors(faces.images, values.reshape(len(faces), ROWS, WIDTH), source="synthetic W+")


def recogniser_of(faces: lw.Faces, seed: int = 2) -> lw.Vectors:
    """Return the real recogniser embeddings of these images, or synthetic ones."""
    real = DATA / "celebahq" / "dlib_embeddings.f16.npy"
    if real.is_file():
        values = np.load(real).astype(np.float32)
        keys = [image for image in faces.images if np.isfinite(values[int(image)]).all()]
        return lw.Vectors(keys, values[[int(key) for key in keys]], source="dlib")
    who, people = pd.factorize(faces.identities)
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(len(people), 128))[who] * 0.055 + rng.normal(size=(len(faces), 128)) * 0.025
    return lw.Vectors(faces.images, values, source="synthetic recogniser")


def published_loop(
    distances: Floats, difficulty: Floats, focal: npt.NDArray[np.bool_], who: npt.NDArray[Any], pairs: int
) -> list[tuple[int, int, int, int]]:
    """Match as the released program does, step by step: our own words for its loop, with its copies and its masks.

    For every pair it copies the whole matrix (double precision, because its recogniser rule adds a penalty to it),
    writes over what was refused, picks the rows and then the columns that are left, and searches all of that.
    References come from masks over the whole table and scikit-learn's distances between the difficulties of all
    combinations. Before, it passes over all rows of both matrices and over all people.
    """
    people, count = pd.Series(who), len(who)
    refused = np.zeros((count, count), dtype=bool)
    useful = useful_of(distances, difficulty, people)
    sides = [focal & useful, ~focal & useful]
    found: list[tuple[int, int, int, int]] = []
    while len(found) < pairs and sides[0].any() and sides[1].any():
        open_ = deepcopy(distances)
        open_[refused] = 1e5
        open_ = open_[sides[0]][:, sides[1]]
        at = divmod(int(np.argmin(open_)), open_.shape[1])
        tests = [int(np.where(side)[0][place]) for side, place in zip(sides, at, strict=True)]
        own = [(people == who[test]).to_numpy() & (np.arange(count) != test) for test in tests]
        hard = [difficulty[test][mask].reshape(-1, 1) for test, mask in zip(tests, own, strict=True)]
        apart = pairwise_distances(*hard, metric="l1")
        best = divmod(int(np.argmin(apart)), apart.shape[1])
        references = [int(np.where(mask)[0][place]) for mask, place in zip(own, best, strict=True)]
        found.append((tests[0], tests[1], references[0], references[1]))
        gone = ((people == who[tests[0]]) | (people == who[tests[1]])).to_numpy()
        for side in sides:
            side[gone] = False
    return found


def published_distances(flat: Floats) -> Floats:
    """Return all distances as the released program has them: nobody is near to himself, in double precision."""
    found = pairwise_distances(flat)
    found[np.eye(len(found)).astype(bool)] = 1e3
    return np.asarray(found + np.zeros(found.shape, dtype=bool) * 1e6)  # its penalty; nobody breaks the rule here


def useful_of(distances: Floats, difficulty: Floats, people: pd.Series) -> npt.NDArray[np.bool_]:
    """Leave out, as the released program does, rows that are constant and people without a second image."""
    useful = pd.Series(True, index=people.index)
    for row in range(len(people)):
        if any(np.all(table[row] == table[row, 0]) for table in (distances, difficulty)):
            useful.iloc[row] = False
    frame = people.to_frame("who")
    for name in sorted(people.unique()):
        own = frame[(frame["who"] == name) & useful]
        if len(own) == 1:
            useful.loc[own.index] = False
    return useful.to_numpy()


def in_r(script: str, *arrays: npt.NDArray[Any]) -> float | None:
    """Run R with these matrices and return the CPU seconds that it prints, or nothing without R."""
    program = shutil.which("Rscript")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        for index, array in enumerate(arrays):
            np.asarray(array, dtype=np.float64).ravel(order="F").tofile(Path(folder) / f"{index}.bin")
        reader = f"get <- function(k, n) readBin(sprintf('{folder}/%d.bin', k), 'double', n);"
        code = f"suppressMessages(library(MatchIt)); {reader} {script}"
        done = subprocess.run([program, "-e", code], capture_output=True, text=True, check=False)
    if done.returncode:
        say("  R:", done.stderr.strip().splitlines()[-1])
        return None
    return float(done.stdout.split()[-1])


def part_a() -> None:
    """N = 4,000: every pair with its references, each identity once, from latents."""
    faces = faces_of(4000)
    latents, recogniser = latents_of(faces), complete(faces, recogniser_of(faces))
    warm_up()  # load what is loaded once
    spec = lw.MatchSpec(preset="singh2021-distance")
    ours, wall, cpu = timed(lambda: lw.match(faces, latents, CONTRAST, spec, difficulty=recogniser))
    flat = latents.take(faces.images).reshape(len(faces), -1)
    focal = (CONTRAST.side(faces) == 1).to_numpy()
    hard = pairwise_distances(recogniser.take(faces.images))  # ready for both
    matrix, _, matrix_cpu = timed(lambda: calmly(lambda: published_distances(flat)))
    who = faces.identities.to_numpy()
    loop, _, loop_cpu = timed(lambda: published_loop(matrix, hard, focal, who, len(ours)))
    names = np.array(faces.images)
    columns = [ours.frame[name].to_numpy() for name in ("a", "b", "ref_a", "ref_b")]
    tests, references = (
        np.mean([(names[[row[k] for row in loop]] == columns[k]).mean() for k in which]) for which in ((0, 1), (2, 3))
    )
    cross, _, cross_cpu = timed(lambda: calmly(lambda: pairwise_distances(flat[focal], flat[~focal])))
    script = (
        f"n <- {len(faces)}; t <- get(0, n); id <- get(1, n); d <- matrix(get(2, sum(t) * sum(1 - t)), sum(t));"
        "rownames(d) <- which(t == 1); colnames(d) <- which(t == 0);"
        "s <- sum(proc.time()[1:2]);"
        "m <- matchit(t ~ 1, data.frame(t = t, id = id), distance = d, unit.id = ~ id);"
        "cat(sum(proc.time()[1:2]) - s)"
    )
    codes = pd.factorize(faces.identities)[0]
    peer = in_r(script, focal, codes, cross)
    say(f"(a) {len(faces)} images, {len(ours)} pairs: likewise {wall:.2f} s wall, {cpu:.2f} s CPU")
    say(f"    published loop {loop_cpu + matrix_cpu:.2f} s CPU (scikit-learn's distances {matrix_cpu:.2f}): "
        f"{(loop_cpu + matrix_cpu) / cpu:.1f}x; same images {tests:.1%}, same references {references:.1%}")  # fmt: skip
    if peer is not None:
        say(f"    MatchIt in data order, without references {peer:.2f} s CPU + scikit-learn's distances between the "
            f"sides {cross_cpu:.2f}: {(peer + cross_cpu) / cpu:.1f}x")  # fmt: skip


def complete(faces: lw.Faces, vectors: lw.Vectors) -> lw.Vectors:
    """Return vectors of all these faces; where a recogniser found no face, a point of its own."""
    rng = np.random.default_rng(3)
    known = vectors.values.std()
    rows = [
        vectors.take([i])[0] if i in vectors else known * rng.normal(size=vectors.values.shape[1:])
        for i in faces.images
    ]
    return lw.Vectors(faces.images, np.array(rows), source=vectors.source)


def part_b() -> None:
    """N = 30,000: with the recogniser rule and references, and without."""
    faces = faces_of(30_000)
    latents, recogniser = latents_of(faces), recogniser_of(faces)
    spec = lw.MatchSpec(preset="singh2021-distance", reference_where=(("eyeglasses", "0"),), max_pairs=1200)
    ruled, wall, cpu = timed(
        lambda: lw.match(faces, latents, CONTRAST, spec, within=[(recogniser, 0.6)], difficulty=recogniser)
    )
    say(f"(b) {len(faces)} images, recogniser < 0.6 and references: {wall:.1f} s wall, {cpu:.1f} s CPU")
    say(f"    peak {peak():.2f} GB, of which the latents are {latents.values.nbytes / 2**30:.2f} GB")
    say(f"    {ruled!r}")
    ours, wall, cpu = timed(lambda: lw.match(faces, latents, CONTRAST))
    memory = peak()
    side = CONTRAST.side(faces)
    x, y = (latents.take(list(side.index[side == sign])).reshape(int((side == sign).sum()), -1) for sign in (1, -1))
    _, bare, bare_cpu = timed(lambda: [x[start : start + 1024] @ y.T for start in range(0, len(x), 1024)][:0])
    say(f"    without the rule: {wall:.1f} s wall, {cpu:.1f} s CPU, {len(ours)} pairs, peak {memory:.2f} GB")
    say(f"    bare matrix product of the same shapes {bare:.1f} s wall, {bare_cpu:.1f} s CPU")
    say(f"    {wall / bare:.2f}x wall, {cpu / bare_cpu:.2f}x CPU")


def part_c() -> None:
    """A ready 11,029 x 18,971 matrix, plain one to one, closest first."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(11_029, 20)), rng.normal(size=(18_971, 20))
    names = [f"a{k:05d}" for k in range(len(x))], [f"b{k:05d}" for k in range(len(y))]
    matrix = pairwise_distances(x, y)
    frame = pd.DataFrame(matrix, index=names[0], columns=names[1], copy=False)
    table = pd.DataFrame({"image": names[0] + names[1], "identity": names[0] + names[1]})
    faces = lw.Faces(table.assign(perceived_gender=["male"] * len(x) + ["female"] * len(y)))
    spec = lw.MatchSpec(distance="given", antiexact=())
    warm_up()
    ours, wall, cpu = timed(lambda: lw.match(faces, None, CONTRAST, spec, distances=frame))
    say(f"(c) ready {matrix.shape}: likewise {wall:.2f} s wall, {cpu:.2f} s CPU, {len(ours)} pairs")
    script = (
        f"p <- {len(x)}; q <- {len(y)}; d <- matrix(get(0, p * q), p); t <- rep(c(1, 0), c(p, q));"
        "rownames(d) <- seq_len(p); colnames(d) <- p + seq_len(q); s <- sum(proc.time()[1:2]);"
        "m <- matchit(t ~ 1, data.frame(t = t), distance = d);"
        "cat(sum(proc.time()[1:2]) - s)"
    )
    peer = in_r(script, matrix)
    if peer is not None:
        say(f"    MatchIt in data order {peer:.1f} s CPU: {peer / cpu:.0f}x")


def part_d() -> None:
    """Propensity: a million and ten million given scores."""
    for count in (30_000, 1_000_000, 10_000_000):
        rng = np.random.default_rng(0)
        focal = rng.random(count) < 0.37
        score = rng.normal(size=count) + 1.0 * focal
        codes = np.arange(count)
        for order in ("closest", "random"):
            turn = rng.permutation(int(focal.sum())) if order == "random" else None
            line = Scoreline(score[focal], score[~focal], codes[focal], codes[~focal], 0.1)
            found, wall, cpu = timed(partial(line.pairs, order=turn))
            say(f"(d) {count:,} scores, {order}: {wall:.2f} s wall, {cpu:.2f} s CPU, {len(found):,} pairs")


def part_e() -> None:
    """Optimal with each identity once at 30,000: the time after the distances."""
    faces = faces_of(30_000)
    recogniser = recogniser_of(faces)
    spent: list[float] = []
    plain = optimal.Optimal._bounds

    def watched(self: optimal.Optimal, progress: Any) -> Floats:
        bounds, _, cpu = timed(lambda: plain(self, progress))
        spent.append(cpu)
        return bounds  # type: ignore[no-any-return]

    optimal.Optimal._bounds = watched  # type: ignore[method-assign,assignment]
    best, _, cpu = timed(lambda: lw.match(faces, recogniser, CONTRAST, lw.MatchSpec(method="optimal")))
    greedy = lw.match(faces, recogniser, CONTRAST)
    totals = [pairs.frame["distance"].sum() for pairs in (best, greedy)]
    say(f"(e) optimal, {len(best)} pairs on {recogniser.source}: {cpu - spent[0]:.2f} s CPU after {spent[0]:.1f} s "
        f"of distances; greedy costs {100 * (totals[1] / totals[0] - 1):.2f} % more")  # fmt: skip


def part_f() -> None:
    """How the time grows: latents of 9,216 numbers up to 16,000 images, recogniser embeddings beyond."""
    for count in (1000, 2000, 4000, 8000, 16_000):
        faces = faces_of(count)
        latents = latents_of(faces)
        _, wall, cpu = timed(partial(lw.match, faces, latents, CONTRAST))
        say(f"(f) {count:,} images x 9,216: {wall:.2f} s wall, {cpu:.2f} s CPU")
    for count in (10_000, 30_000, 100_000):
        rng = np.random.default_rng(0)
        who = rng.integers(0, count // 5, count)
        table = pd.DataFrame({"image": np.arange(count), "identity": who})
        faces = lw.Faces(table.assign(perceived_gender=np.where(who % 8 < 3, "male", "female")))
        values = rng.normal(size=(count // 5, 128))[who] + 0.5 * rng.normal(size=(count, 128))
        near = lw.Vectors(faces.images, values, source="synthetic recogniser")
        _, wall, cpu = timed(partial(lw.match, faces, near, CONTRAST, lw.MatchSpec(max_pairs=1200)))
        say(f"(f) {count:,} images x 128, 1,200 pairs: {wall:.2f} s wall, {cpu:.2f} s CPU")
    metric = Euclid(Points(near.values, np.arange(1024)), Points(near.values, np.arange(100_000)))
    metric.norms(np.float32)
    rule = Near("recogniser", metric, 5.0)
    block, _, cpu = timed(lambda: rule.mask(np.arange(1024), np.arange(100_000)))
    minutes = 0.37 * 0.63 * 1e12 / block.size * cpu / 60
    say(f"(f) 1,000,000 images, recogniser first: {minutes:.0f} CPU-minutes (calculated from a block of {block.shape})")


if __name__ == "__main__":
    wanted = sys.argv[1:] or list("abcdef")
    for name in wanted:
        globals()[f"part_{name}"]()
