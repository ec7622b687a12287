"""Shadows never lie: bounds hold, pairs are the same, and they are thrown only where they pay off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import likewise as lw
from invariants import check_pairs
from likewise.design.search import bounds, scan
from likewise.design.search.metric import Euclid
from likewise.design.search.points import Points
from likewise.errors import VectorError
from likewise.runtime.executor import Executor
from matching_problems import CONTRAST, Problem, problems
from naive_matching import Naive

KINDS = ["low rank", "all directions alike", "far from the origin", "duplicates", "tiny", "double", "constant", "vast"]


@contextmanager
def always() -> Iterator[list[bounds.ProjectionBounds]]:
    """Throw shadows whatever the probe says, and return those that were thrown."""
    thrown: list[bounds.ProjectionBounds] = []
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("LARGE", 0), ("_PAYS", 0), ("_SEEN", 0), ("_DIRECTIONS", (1, 2)), ("_RUN", 3)):
            patch.setattr(bounds, name, value)
        plain = bounds.ProjectionBounds.__post_init__
        patch.setattr(bounds.ProjectionBounds, "__post_init__", lambda self: thrown.append(self) or plain(self))
        yield thrown


def cloud(kind: str, seed: int, count: int = 150, width: int = 1100) -> np.ndarray:
    """Points [count, width]; more numbers than are summed in float32 at once."""
    rng = np.random.default_rng(seed)
    if kind == "low rank":
        return rng.normal(size=(count, 5)) @ rng.normal(size=(5, width)) + 0.05 * rng.normal(size=(count, width))
    noise = rng.normal(size=(count, width))
    if kind == "far from the origin":
        return noise + 1e4
    if kind == "duplicates":
        return np.round(noise[rng.integers(0, 20, count)], 1)
    if kind == "constant":
        return np.full((count, width), 0.1)
    return noise * {"tiny": 1e-22, "vast": 1e17}.get(kind, 1.0)


def euclid(kind: str, seed: int) -> Euclid:
    values = cloud(kind, seed).astype(np.float64 if kind == "double" else np.float32)
    scale = np.linspace(0.5, 2.0, values.shape[1]) if seed % 2 else None
    return Euclid(*(Points(values, np.arange(*ends), scale=scale) for ends in ((0, 60), (60, 150))))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_no_two_points_are_nearer_than_their_shadows(kind, seed):
    metric = euclid(kind, seed)
    with always() as thrown:
        found = bounds.bounded(metric, np.inf, memory=2**30, threads=2)
    if kind in ("constant", "vast"):  # no direction to look from; squares that float32 cannot hold
        assert found is metric or kind == "constant"
    else:
        assert thrown == [found]
    rows, columns = np.arange(60), np.arange(90)
    exact = np.array([metric.exact(row, columns) for row in rows])
    lower = found.lower(rows, columns, np.float32)
    assert (lower <= exact).all()
    assert (found.upper(rows, columns, lower) >= exact).all()
    assert np.array_equal(found.exact(3, columns), exact[3])


def test_shadows_of_low_rank_points_are_tight():
    metric = euclid("low rank", 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "LARGE", 0)
        patch.setattr(bounds, "_PAYS", 20)
        found = bounds.bounded(metric, np.inf, memory=2**30, threads=1)
    assert isinstance(found, bounds.ProjectionBounds)
    rows, columns = np.arange(60), np.arange(90)
    exact = np.array([metric.exact(row, columns) for row in rows])
    assert (found.lower(rows, columns, np.float32) / exact).min() > 0.97


def test_shadows_are_not_thrown_where_they_do_not_pay_off(monkeypatch):
    monkeypatch.setattr(bounds, "LARGE", 0)
    alike, low = euclid("all directions alike", 0), euclid("low rank", 0)
    assert bounds.bounded(alike, np.inf, memory=2**30, threads=1) is alike
    assert bounds.bounded(low, np.inf, memory=2**20, threads=1) is low  # no room
    middle = float(np.median(low.exact(0, np.arange(90))))
    monkeypatch.setattr(bounds, "_PAYS", 1e9)
    assert bounds.bounded(low, middle, memory=2**30, threads=1) is low
    monkeypatch.setattr(bounds, "LARGE", 2**32)
    assert bounds.bounded(low, np.inf, memory=2**30, threads=1) is low


def specs() -> st.SearchStrategy[lw.MatchSpec]:
    return st.builds(
        lw.MatchSpec,
        antiexact=st.sampled_from([("identity",), ()]),
        exact=st.sampled_from([(), ("hair",)]),
        caliper=st.sampled_from([{}, {"distance": 1.0}, {"distance": 2.0}, {"light": 1.0, "distance": 3.0}]),
        max_pairs=st.sampled_from([None, 3]),
    )


@settings(max_examples=60, deadline=None)
@given(problems(), specs(), st.booleans())
def test_greedy_by_shadows_is_the_naive_argmin(problem: Problem, spec: lw.MatchSpec, short: bool):
    naive = Naive(problem.faces, problem.vectors, CONTRAST, spec)
    with always() as thrown, pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "_FEW", -1.0)  # never list, always search
        if short:
            patch.setattr(scan, "LIST", 1)
        try:
            found = lw.match(problem.faces, problem.vectors, CONTRAST, spec, threads=2)
        except VectorError:
            return
    check_pairs(found, problem.faces, CONTRAST, problem.vectors)
    frame = found.frame
    assert list(zip(frame["a"], frame["b"], frame["distance"], strict=True)) == naive.greedy()
    plain = lw.match(problem.faces, problem.vectors, CONTRAST, spec)
    assert found == plain
    assert found.dropped.equals(plain.dropped)
    assert len(thrown) <= 1


def people(count: int, width: int) -> tuple[lw.Images, lw.Vectors]:
    rng = np.random.default_rng(0)
    who = rng.integers(0, count // 3, count)
    table = pd.DataFrame({"image": range(count), "identity": who})
    faces = lw.Images(table.assign(perceived_gender=np.where(who % 5 < 2, "male", "female")))
    values = rng.normal(size=(count, 4)) @ rng.normal(size=(4, width)) + 0.02 * rng.normal(size=(count, width))
    return faces, lw.Vectors(faces.keys, values, source="low rank")


@pytest.mark.parametrize("spec", [lw.MatchSpec(), lw.MatchSpec(ratio=2), lw.MatchSpec(order="random")])
def test_the_probe_chooses_shadows_and_every_way_gives_the_same_pairs(spec, monkeypatch):
    faces, vectors = people(900, 300)
    plain = lw.match(faces, vectors, CONTRAST, spec)
    check_pairs(plain, faces, CONTRAST, vectors)
    monkeypatch.setattr(bounds, "LARGE", 0)
    thrown = []
    chosen = scan.bounded
    monkeypatch.setattr(scan, "bounded", lambda *args, **options: thrown.append(chosen(*args, **options)) or thrown[-1])
    assert lw.match(faces, vectors, CONTRAST, spec) == plain
    monkeypatch.setattr(scan, "LARGE", 0)
    monkeypatch.setattr(Executor, "_processes", Executor._local)  # the blocks themselves, without the way
    away = lw.match(faces, vectors, CONTRAST, spec, engine=Executor(kind="processes"), memory=2**25)
    assert away == plain
    assert [type(metric) for metric in thrown] == [bounds.ProjectionBounds, bounds.ProjectionBounds]
