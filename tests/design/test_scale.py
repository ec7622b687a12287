"""Searches beside the usual one: on an engine, approximate, and on vectors larger than memory."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from invariants import check_pairs
from likewise.design.search import approximate, scan
from likewise.design.search.points import Points
from likewise.errors import SpecError
from likewise.runtime.executor import Executor
from likewise.tables.vectors import write_stream

CONTRAST = lw.Contrast("perceived_gender", focal="male", reference="female")


def crowd(count: int = 400, width: int = 24, seed: int = 0) -> tuple[lw.Images, lw.Vectors, lw.Vectors]:
    """Images of some people, their vectors, and those of a recognizer."""
    rng = np.random.default_rng(seed)
    who = rng.integers(0, count // 3, count)
    table = pd.DataFrame(
        {"image": [f"i{k:04d}" for k in range(count)], "identity": who, "age": rng.integers(0, 5, count)}
    )
    faces = lw.Images(table.assign(perceived_gender=np.where(who % 5 < 2, "male", "female")))
    near = rng.normal(size=(count // 3, width))[who] + rng.normal(size=(count, width))
    second = lw.Vectors(faces.keys, rng.normal(size=(count, 4)), source="second")
    return faces, lw.Vectors(faces.keys, near, source="near"), second


@pytest.fixture
def every_search_is_large(monkeypatch):
    monkeypatch.setattr(scan, "LARGE", 0)


SPECS = [
    (lw.MatchSpec(), ()),
    (lw.MatchSpec(caliper={"distance": 7.0}, max_pairs=30), ()),
    (lw.MatchSpec(exact=("age",), ratio=2), ()),
    (lw.MatchSpec(), (0.45,)),
    (lw.MatchSpec(distance="mahalanobis", order="random", seed=3), (2.0,)),
    (lw.MatchSpec(method="optimal", exact=("age",)), (0.6,)),
]


@pytest.mark.parametrize(("spec", "limits"), SPECS)
def test_blocks_on_an_engine_give_the_same_pairs_and_the_same_reasons(spec, limits, every_search_is_large, monkeypatch):
    faces, vectors, second = crowd()
    within = [(second, limit) for limit in limits]
    here = lw.match(faces, vectors, CONTRAST, spec, within=within)
    asked = []
    plain = Executor.map
    monkeypatch.setattr(Executor, "map", lambda *args, **options: asked.append(1) or plain(*args, **options))
    monkeypatch.setattr(Executor, "_processes", Executor._local)  # the blocks themselves, without the way
    away = lw.match(faces, vectors, CONTRAST, spec, within=within, engine=Executor(kind="processes"), memory=2**20)
    assert asked
    check_pairs(away, faces, CONTRAST, vectors, within)
    assert away == here
    assert away.dropped.equals(here.dropped)


def test_processes_give_the_same_pairs(every_search_is_large):
    faces, vectors, second = crowd()
    engine = Executor(kind="processes", workers=2)
    for within in ([], [(second, 0.45)]):
        here = lw.match(faces, vectors, CONTRAST, within=within)
        assert lw.match(faces, vectors, CONTRAST, within=within, engine=engine, memory=2**20) == here


def test_a_ray_cluster_gives_the_same_pairs(every_search_is_large):
    ray = pytest.importorskip("ray")
    faces, vectors, second = crowd()
    engine = Executor(kind="ray", workers=2)
    try:
        for within in ([], [(second, 0.45)]):
            here = lw.match(faces, vectors, CONTRAST, within=within)
            assert lw.match(faces, vectors, CONTRAST, within=within, engine=engine, memory=2**20) == here
    finally:
        ray.shutdown()


def test_mapped_points_travel_as_the_name_of_their_file(tmp_path):
    values = np.arange(60_000, dtype=np.float32).reshape(1000, 60)
    np.save(tmp_path / "values.npy", values)
    mapped = np.load(tmp_path / "values.npy", mmap_mode="r")[100:]
    points = Points(mapped, np.arange(3, 9))
    sent = pickle.dumps(points)
    assert len(sent) < 2000
    back = pickle.loads(sent)  # noqa: S301
    assert np.array_equal(back.at(np.arange(6)), values[103:109])
    again = pickle.loads(pickle.dumps(Points(values, np.arange(4))))  # noqa: S301
    assert np.array_equal(again.at(np.arange(4)), values[:4])


def test_approximate_search_says_how_much_it_found():
    pytest.importorskip("faiss")
    faces, vectors, _ = crowd(3000, 16)
    found = lw.match(faces, vectors, CONTRAST, lw.MatchSpec(search="approximate"))
    exact = lw.match(faces, vectors, CONTRAST)
    check_pairs(exact, faces, CONTRAST, vectors)
    first = str(found).splitlines()[0]
    assert "Approximate search: it listed" in first
    share = float(first.split("listed ")[1].split(" %")[0])
    assert 50 < share <= 100
    assert len(found) == len(exact)
    assert found.spec.search == "approximate"
    assert exact.frame["distance"].min() <= found.frame["distance"].min()


def test_approximate_search_is_the_same_again_and_knows_its_recall(monkeypatch):
    """With every cell looked into, nothing is missed and the pairs are the exact ones."""
    faiss = pytest.importorskip("faiss")
    faces, vectors, _ = crowd(1500, 16)
    spec = lw.MatchSpec(search="approximate", max_pairs=50)
    once = lw.match(faces, vectors, CONTRAST, spec)
    faiss.omp_set_num_threads(1)
    assert lw.match(faces, vectors, CONTRAST, spec) == once
    monkeypatch.setattr(approximate, "PROBED", 1)
    whole = lw.match(faces, vectors, CONTRAST, spec)
    assert "listed 100.0 %" in whole.note
    assert whole.frame.equals(lw.match(faces, vectors, CONTRAST, lw.MatchSpec(max_pairs=50)).frame)


def test_approximate_search_keeps_the_hard_rules_and_needs_no_index_for_few_pairs():
    pytest.importorskip("faiss")
    faces, vectors, second = crowd(1500, 16)
    spec = lw.MatchSpec(search="approximate", exact=("age",), caliper={"distance": 6.0})
    found = lw.match(faces, vectors, CONTRAST, spec)
    assert {"exact age", "caliper distance"} <= set(found.ledger.columns)
    few = lw.match(faces, vectors, CONTRAST, lw.MatchSpec(search="approximate"), within=[(second, 0.2)])
    assert "No approximate search was needed" in few.note
    assert few.frame.equals(lw.match(faces, vectors, CONTRAST, within=[(second, 0.2)]).frame)


@pytest.mark.parametrize("options", [{"method": "optimal"}, {"distance": "propensity"}, {"distance": "precomputed"}])
def test_approximate_search_is_refused_where_it_has_no_effect(options):
    with pytest.raises(SpecError, match="approximate"):
        lw.MatchSpec(search="approximate", **options)


def test_without_faiss_approximate_search_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    faces, vectors, _ = crowd()
    with pytest.raises(SpecError, match="likewise\\[scale\\]"):
        lw.match(faces, vectors, CONTRAST, lw.MatchSpec(search="approximate"))


LARGER = """
import resource, sys
import numpy as np, pandas as pd
import likewise as lw
from likewise.design import match
folder, memory = sys.argv[1], int(sys.argv[2])
faces = lw.Images.read(folder + "/faces.csv")
contrast = lw.Contrast("perceived_gender", focal="male", reference="female")
def limited(count):  # of private, writable memory: a map of a file for reading does not count
    resource.setrlimit(resource.RLIMIT_DATA, (count, resource.RLIM_INFINITY))
def data():
    return 1024 * int(next(l for l in open("/proc/self/status") if l.startswith("VmData")).split()[1])
vectors = lw.Vectors.read(folder + "/vectors")
some = faces.keys[:40]
few = lw.Vectors(some, vectors.take(some), source="few")
lw.match(faces.subset(some), few, contrast, threads=1)
assert vectors.mapped
if memory:
    limited(data() + memory)
pairs = lw.match(faces, vectors, contrast, memory=max(memory, 2**28) // 4, threads=1)
pairs.write(folder + f"/pairs-{memory}.parquet")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits private memory, as Linux does")
def test_latents_several_times_larger_than_the_memory_allowed(tmp_path):
    """Under a limit that the system enforces: 420 MB of vectors are matched within 128 MB of private memory."""
    count, width = 1500, 70_000
    faces, _, _ = crowd(count)
    faces.frame.to_csv(tmp_path / "faces.csv", index=False)
    rng = np.random.default_rng(0)
    (tmp_path / "vectors").mkdir()
    parts = (rng.standard_normal((100, width), dtype=np.float32) for _ in range(count // 100))
    write_stream(tmp_path / "vectors", faces.keys, parts, source="large")
    code = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    for memory in (2**27, 0):
        done = subprocess.run(
            [sys.executable, "-c", LARGER, str(tmp_path), str(memory)],
            capture_output=True,
            text=True,
            env=code,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
    limited, free = (lw.Matches.read(tmp_path / f"pairs-{memory}.parquet") for memory in (2**27, 0))
    assert limited == free
