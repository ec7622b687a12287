from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import likewise as lw
from invariants import check_pairs
from likewise.design.search import scan
from likewise.errors import SpecError, VectorError
from matching_problems import CONTRAST, Problem, problems
from naive_matching import Naive

SMALL = problems(most_people=6, most_images=2)


@settings(max_examples=80, deadline=None)
@given(
    SMALL,
    st.sampled_from([("identity",), ()]),
    st.sampled_from([{}, {"distance": 2.0}, {"light": 1.0}]),
    st.sampled_from([None, 1, 2]),
    st.booleans(),
    st.booleans(),
)
def test_optimal_is_the_best_of_all_matchings_and_never_worse_than_greedy(
    problem: Problem, antiexact, caliper, most: int | None, references: bool, listed: bool
):
    given_ = {"antiexact": antiexact, "caliper": caliper, "references": references, "max_pairs": most}
    beside = {"difficulty": problem.second} if references else {}
    spec = lw.MatchSpec(method="optimal", **given_)
    try:
        naive = Naive(problem.faces, problem.vectors, CONTRAST, spec, **beside)
        greedy = lw.match(problem.faces, problem.vectors, CONTRAST, lw.MatchSpec(**given_), **beside)
    except VectorError:
        return
    if len(naive._cells()) > 12:
        return  # too many matchings to try them all
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "_FEW", 1.0 if listed else -1.0)
        found = lw.match(problem.faces, problem.vectors, CONTRAST, spec, **beside)
    for pairs in (found, greedy):
        check_pairs(pairs, problem.faces, CONTRAST, problem.vectors)
    total = found.frame["distance"].sum()
    assert len(found) >= len(greedy)
    assert len(found) > len(greedy) or total <= greedy.frame["distance"].sum() + 1e-9
    assert len(found) == 0 or total == pytest.approx(naive.best_total(len(found)), abs=1e-9)
    more = len(found) + 1
    assert more > (most or more) or not np.isfinite(naive.best_total(more)), "no matching has more pairs"


def test_optimal_finds_the_pair_that_greed_gives_away():
    faces = _faces("ffmm")
    vectors = lw.Vectors(faces.keys, [[0.0], [2.0], [1.1], [-9.0]], source="line")
    greedy = lw.match(faces, vectors, CONTRAST)
    optimal = lw.match(faces, vectors, CONTRAST, lw.MatchSpec(method="optimal"))
    assert greedy.frame["distance"].sum() == pytest.approx(0.9 + 9.0)
    assert optimal.frame["distance"].sum() == pytest.approx(0.9 + 9.0)
    near = lw.MatchSpec(method="optimal", caliper={"distance": 9.5})
    assert len(lw.match(faces, vectors, CONTRAST, near)) == 2
    numbers = lw.Vectors(faces.keys, [[0.0], [2.0], [1.1], [3.05]], source="line")
    narrow = {"caliper": {"distance": 1.2}}
    assert len(lw.match(faces, numbers, CONTRAST, lw.MatchSpec(**narrow))) == 1
    assert len(lw.match(faces, numbers, CONTRAST, lw.MatchSpec(method="optimal", **narrow))) == 2


def test_memory_and_threads_change_nothing(world, contrast):
    spec = lw.MatchSpec(method="optimal")
    first = lw.match(world.faces, world.vectors, contrast, spec)
    assert first == lw.match(world.faces, world.vectors, contrast, spec, memory=2**20, threads=1)


def test_memory_changes_no_pair_where_many_are_as_good():
    """Ties without end and a rule that leaves few pairs: which of the equally good ones is taken hangs on nothing."""
    rng = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame({"image": [f"i{k:03d}" for k in range(n)], "identity": np.arange(n) // 6})
    frame["perceived_gender"] = np.where(frame["identity"] % 2, "male", "female")
    frame["site"] = frame["identity"] // 2
    faces = lw.Images(frame)
    vectors = lw.Vectors(faces.keys, rng.integers(0, 2, (n, 2)).astype(float), source="corners")
    spec = lw.MatchSpec(method="optimal", exact=("site",))
    first = lw.match(faces, vectors, CONTRAST, spec)
    for memory in (2**19, 2**20, 2**24):
        assert first == lw.match(faces, vectors, CONTRAST, spec, memory=memory)


def test_too_large_a_problem_is_refused_with_a_way_out(world, contrast):
    with pytest.raises(SpecError, match="narrow the rules"):
        lw.match(world.faces, world.vectors, contrast, lw.MatchSpec(method="optimal"), memory=100)


def _faces(sides: str) -> lw.Images:
    names = {"f": "female", "m": "male"}
    frame = pd.DataFrame({"image": [f"i{k}" for k in range(len(sides))], "perceived_gender": [names[s] for s in sides]})
    return lw.Images(frame.assign(identity=np.arange(len(sides))))
