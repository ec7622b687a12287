"""Matching against its peers: ratios in one run. ``python -m benchmarks.matching [PART ...]``, parts a to f, n and w.

Latents are synthetic (rank-40 signal and noise, 18 x 512; "noise alone" has no leading directions and is the worst
case for us), identities and recognizer embeddings those of the real table if LIKEWISE_DATA has it, else synthetic too.
Peers: the loop that was published with the method, written again (the whole matrix, copied and searched again for every
pair), scikit-learn's distances, a bare matrix product of the same shapes, and MatchIt where Rscript is there.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import pairwise_distances

import likewise as lw
from benchmarks.matching_peers import (
    Floats,
    calmly,
    in_r,
    matchit,
    peak,
    published_distances,
    published_loop,
    say,
    timed,
)
from likewise.design.constraints import Near
from likewise.design.search import optimal
from likewise.design.search.bounds import bounded
from likewise.design.search.metric import Euclid
from likewise.design.search.points import Points
from likewise.design.search.score_matching import Scoreline

CONTRAST = lw.Contrast("perceived_gender", focal="male", reference="female")
DATA = Path(os.environ.get("LIKEWISE_DATA", Path(__file__).parents[1] / ".." / "shared" / "data"))
ROWS, WIDTH, RANK = 18, 512, 40


def warm_up() -> None:
    """Have everything loaded that is loaded once."""
    faces = faces_of(200)
    lw.match(faces, latents_of(faces), CONTRAST)


def faces_of(count: int, seed: int = 0) -> lw.Images:
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
    return lw.Images(
        pd.DataFrame(
            {
                "image": key, "identity": who, "eyeglasses": glasses,
                "perceived_gender": np.where(side > 0, "male", "female"),
            }
        )
    )  # fmt: skip


def latents_of(faces: lw.Images, seed: int = 1, signal: bool = True) -> lw.Vectors:
    """Return synthetic W+ latents: a person's place in 40 dimensions, the picture's own, and noise; or noise alone."""
    rng = np.random.default_rng(seed)
    who, people = pd.factorize(faces.identities)
    place = rng.normal(size=(len(people), RANK))[who] + 0.7 * rng.normal(size=(len(faces), RANK))
    basis = rng.normal(size=(RANK, ROWS * WIDTH)).astype(np.float32)
    values = np.empty((len(faces), ROWS * WIDTH), dtype=np.float32)
    for start in range(0, len(faces), 2000):
        part = place[start : start + 2000].astype(np.float32) * signal
        values[start : start + 2000] = part @ basis
        values[start : start + 2000] += 2 * rng.standard_normal((len(part), ROWS * WIDTH), dtype=np.float32)
    return lw.Vectors(faces.keys, values.reshape(len(faces), ROWS, WIDTH), source="synthetic W+")


def recognizer_of(faces: lw.Images, seed: int = 2) -> lw.Vectors:
    """Return the real recognizer embeddings of these images, or synthetic ones."""
    real = DATA / "celebahq" / "dlib_embeddings.f16.npy"
    if real.is_file():
        values = np.load(real).astype(np.float32)
        keys = [image for image in faces.keys if np.isfinite(values[int(image)]).all()]
        return lw.Vectors(keys, values[[int(key) for key in keys]], source="dlib")
    who, people = pd.factorize(faces.identities)
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(len(people), 128))[who] * 0.055 + rng.normal(size=(len(faces), 128)) * 0.025
    return lw.Vectors(faces.keys, values, source="synthetic recognizer")


def part_a() -> None:
    """N = 4,000: every pair with its references, each identity once, from latents; everybody has one thread."""
    faces = faces_of(4000)
    latents, recognizer = latents_of(faces), complete(faces, recognizer_of(faces))
    warm_up()  # load what is loaded once
    ours, cpu, plain_cpu, plain = both_ways(faces, latents, recognizer)
    flat = latents.take(faces.keys).reshape(len(faces), -1)
    focal = (CONTRAST.side(faces) == 1).to_numpy()
    hard = pairwise_distances(recognizer.take(faces.keys))  # ready for both
    matrix, _, matrix_cpu = timed(lambda: calmly(lambda: published_distances(flat)))
    who = faces.identities.to_numpy()
    loop, _, loop_cpu = timed(lambda: published_loop(matrix, hard, focal, who, len(ours)))
    names = np.array(faces.keys)
    columns = [ours.frame[name].to_numpy() for name in ("a", "b", "ref_a", "ref_b")]
    same = np.mean([(names[[row[k] for row in loop]] == columns[k]).mean() for k in range(4)])
    cross, _, cross_cpu = timed(lambda: calmly(lambda: pairwise_distances(flat[focal], flat[~focal])))
    peer = matchit(focal, pd.factorize(faces.identities)[0], cross)
    _, _, bare_cpu = timed(lambda: calmly(lambda: flat[focal] @ flat[~focal].T))
    loop_cpu += matrix_cpu
    say(f"(a) {len(faces)} images, {len(ours)} pairs with references: likewise {cpu:.2f} s CPU; published loop "
        f"{loop_cpu:.2f} s, of which scikit-learn's distances {matrix_cpu:.2f}: {loop_cpu / cpu:.1f}x; "
        f"same images and references {same:.1%}")  # fmt: skip
    _, noise_cpu, plain_noise_cpu, _ = both_ways(faces, latents_of(faces, signal=False), recognizer)
    say(f"    noise alone: {noise_cpu:.2f} s, {loop_cpu / noise_cpu:.1f}x; the bare matrix product {bare_cpu:.2f} s")
    if peer is not None:
        peer_cpu = peer[0] + cross_cpu
        say(f"    {len(plain)} pairs without references: likewise {plain_cpu:.2f} s; MatchIt in data order, {peer[1]} "
            f"pairs, {peer[0]:.2f} s + distances {cross_cpu:.2f}: {peer_cpu / plain_cpu:.1f}x")  # fmt: skip
        say(f"    noise alone: {plain_noise_cpu:.2f} s, {peer_cpu / plain_noise_cpu:.1f}x")


def both_ways(
    faces: lw.Images, latents: lw.Vectors, recognizer: lw.Vectors
) -> tuple[lw.Matches, float, float, lw.Matches]:
    """Match with and without references on one thread; return pairs and CPU seconds of both."""
    spec = lw.MatchSpec(preset="singh2021-distance")
    ours, _, cpu = timed(lambda: lw.match(faces, latents, CONTRAST, spec, difficulty=recognizer, threads=1))
    plain, _, plain_cpu = timed(lambda: lw.match(faces, latents, CONTRAST, threads=1))
    return ours, cpu, plain_cpu, plain


def complete(faces: lw.Images, vectors: lw.Vectors) -> lw.Vectors:
    """Return vectors of all these faces; where a recognizer found no face, a point of its own."""
    rng = np.random.default_rng(3)
    known = vectors.values.std()
    rows = [
        vectors.take([i])[0] if i in vectors else known * rng.normal(size=vectors.values.shape[1:]) for i in faces.keys
    ]
    return lw.Vectors(faces.keys, np.array(rows), source=vectors.source)


def part_b() -> None:
    """N = 30,000: with the recognizer rule and references, and without."""
    faces = faces_of(30_000)
    latents, recognizer = latents_of(faces), recognizer_of(faces)
    spec = lw.MatchSpec(preset="singh2021-distance", reference_where=(("eyeglasses", "0"),), max_pairs=1200)
    work = partial(lw.match, faces, latents, CONTRAST, spec, within=[(recognizer, 0.6)], difficulty=recognizer)
    ruled, wall, cpu = timed(work)
    say(f"(b) {len(faces)} images, recognizer < 0.6 and references: {wall:.1f} s wall, {cpu:.1f} s CPU")
    say(f"    peak {peak():.2f} GB, of which the latents are {latents.values.nbytes / 2**30:.2f} GB")
    say(f"    {ruled!r}")
    without_rule("without the rule", faces, latents, bare_product(faces, latents))


def part_n() -> None:
    """N = 30,000 without the rule on noise alone, where the whole product has to be made."""
    faces = faces_of(30_000)
    latents = latents_of(faces, signal=False)
    without_rule("(b) noise alone, without the rule", faces, latents, bare_product(faces, latents))


def part_w() -> None:
    """Whether shadows pay off on a real generator's latents: w of MobileStyleGAN, the same in all 18 rows."""
    from likewise.models.generators.mobilestylegan import MobileStyleGAN  # noqa: PLC0415  torch is needed for this part alone

    faces = faces_of(4000)
    w = np.asarray(MobileStyleGAN().sample_w(len(faces), seed=0), dtype=np.float32)
    latents = lw.Vectors(faces.keys, np.repeat(w[:, None, :], ROWS, axis=1), source="w of MobileStyleGAN")
    side = CONTRAST.side(faces)
    x, y = (Points(latents.values, latents.rows(list(side.index[side == sign]))) for sign in (1, -1))
    metric = Euclid(x, y)
    chosen = bounded(metric, np.inf, memory=2**30, threads=1)
    _, _, cpu = timed(partial(lw.match, faces, latents, CONTRAST, threads=1))
    say(
        f"(w) {len(faces)} w of MobileStyleGAN: shadows are {'not ' if chosen is metric else ''}thrown; {cpu:.2f} s CPU"
    )


def without_rule(name: str, faces: lw.Images, latents: lw.Vectors, bare: tuple[float, float]) -> None:
    """Match all pairs of latents and set it beside the bare product."""
    ours, wall, cpu = timed(partial(lw.match, faces, latents, CONTRAST))
    say(f"    {name}: {wall:.1f} s wall, {cpu:.1f} s CPU, {len(ours)} pairs, peak {peak():.2f} GB")
    say(f"    bare matrix product of the same shapes {bare[0]:.1f} s wall, {bare[1]:.1f} s CPU: "
        f"{wall / bare[0]:.2f}x wall, {cpu / bare[1]:.2f}x CPU")  # fmt: skip


def bare_product(faces: lw.Images, latents: lw.Vectors) -> tuple[float, float]:
    """Return what the product of all pairs takes by itself, its operands ready: wall and CPU seconds."""
    flat, side = latents.values.reshape(len(faces), -1), CONTRAST.side(faces)
    x, y = (latents.rows(list(side.index[side == sign])) for sign in (1, -1))
    wall = cpu = 0.0
    for columns in np.array_split(y, 8):  # in parts, so that the peak is that of the search
        right = flat[columns].T
        for start in range(0, len(x), 1024):
            _, more_wall, more_cpu = timed(partial(np.matmul, flat[x[start : start + 1024]], right))
            wall, cpu = wall + more_wall, cpu + more_cpu
    return wall, cpu


def part_c() -> None:
    """A ready 11,029 x 18,971 matrix, plain one to one, closest first."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(11_029, 20)), rng.normal(size=(18_971, 20))
    names = [f"a{k:05d}" for k in range(len(x))], [f"b{k:05d}" for k in range(len(y))]
    matrix = pairwise_distances(x, y)
    frame = pd.DataFrame(matrix, index=names[0], columns=names[1], copy=False)
    table = pd.DataFrame({"image": names[0] + names[1], "identity": names[0] + names[1]})
    faces = lw.Images(table.assign(perceived_gender=["male"] * len(x) + ["female"] * len(y)))
    spec = lw.MatchSpec(distance="precomputed", antiexact=())
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
        say(f"    MatchIt in data order {peer[0]:.1f} s CPU: {peer[0] / cpu:.0f}x")


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
    recognizer = recognizer_of(faces)
    spent: list[float] = []
    plain = optimal.Optimal._bounds

    def watched(self: optimal.Optimal, progress: Any) -> Floats:
        bounds, _, cpu = timed(lambda: plain(self, progress))
        spent.append(cpu)
        return bounds  # type: ignore[no-any-return]

    optimal.Optimal._bounds = watched  # type: ignore[method-assign,assignment]
    best, _, cpu = timed(lambda: lw.match(faces, recognizer, CONTRAST, lw.MatchSpec(method="optimal")))
    greedy = lw.match(faces, recognizer, CONTRAST)
    totals = [pairs.frame["distance"].sum() for pairs in (best, greedy)]
    say(f"(e) optimal, {len(best)} pairs on {recognizer.source}: {cpu - spent[0]:.2f} s CPU after {spent[0]:.1f} s "
        f"of distances; greedy costs {100 * (totals[1] / totals[0] - 1):.2f} % more")  # fmt: skip


def part_f() -> None:
    """How the time grows: latents of 9,216 numbers up to 16,000 images, recognizer embeddings beyond."""
    for count in (1000, 2000, 4000, 8000, 16_000):
        faces = faces_of(count)
        latents = latents_of(faces)
        _, wall, cpu = timed(partial(lw.match, faces, latents, CONTRAST))
        say(f"(f) {count:,} images x 9,216: {wall:.2f} s wall, {cpu:.2f} s CPU")
    for count in (10_000, 30_000, 100_000):
        rng = np.random.default_rng(0)
        who = rng.integers(0, count // 5, count)
        table = pd.DataFrame({"image": np.arange(count), "identity": who})
        faces = lw.Images(table.assign(perceived_gender=np.where(who % 8 < 3, "male", "female")))
        values = rng.normal(size=(count // 5, 128))[who] + 0.5 * rng.normal(size=(count, 128))
        near = lw.Vectors(faces.keys, values, source="synthetic recognizer")
        _, wall, cpu = timed(partial(lw.match, faces, near, CONTRAST, lw.MatchSpec(max_pairs=1200)))
        say(f"(f) {count:,} images x 128, 1,200 pairs: {wall:.2f} s wall, {cpu:.2f} s CPU")
    metric = Euclid(Points(near.values, np.arange(1024)), Points(near.values, np.arange(100_000)))
    metric.norms(np.float32)
    rule = Near("recognizer", metric, 5.0)
    block, _, cpu = timed(lambda: rule.mask(np.arange(1024), np.arange(100_000)))
    minutes = 0.37 * 0.63 * 1e12 / block.size * cpu / 60
    say(f"(f) 1,000,000 images, recognizer first: {minutes:.0f} CPU-minutes (calculated from a block of {block.shape})")


if __name__ == "__main__":
    wanted = sys.argv[1:] or list("abcdefnw")
    for name in wanted:
        globals()[f"part_{name}"]()
