from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import likewise as lw
from invariants import check_pairs
from likewise.design.search import greedy, scan, topk
from likewise.errors import TableError, VectorError
from matching_problems import CONTRAST, Problem, problems
from naive_matching import Naive

NOBODY = (VectorError, TableError)
SETTINGS = settings(max_examples=100, deadline=None)


def rows(pairs: lw.Matches) -> list[tuple[str, str, float]]:
    frame = pairs.frame
    return list(zip(frame["a"], frame["b"], frame["distance"], strict=True))


@st.composite
def specs(draw: st.DrawFn) -> lw.MatchSpec:
    caliper = {}
    if draw(st.booleans()):
        caliper["light"] = draw(st.sampled_from([0.0, 1.0, 2.0, "0.53sd", "1.03sd"]))
    if draw(st.booleans()):
        caliper["distance"] = draw(st.sampled_from([0.0, 1.0, 2.0, 3.0, "0.83sd", "1.57sd"]))
    references = draw(st.booleans())
    return lw.MatchSpec(
        antiexact=draw(st.sampled_from([("identity",), ()])),
        exact=draw(st.sampled_from([(), ("hair",), ("eyeglasses",)])),
        caliper=caliper,
        references=references,
        reference_where=draw(st.sampled_from([{}, {"eyeglasses": 0}])) if references else {},
        difficulty_ratio=draw(st.sampled_from([None, 1.0, 1.5])) if references else None,
        difficulty_at_least=draw(st.sampled_from([None, 0.5])) if references else None,
        max_pairs=draw(st.sampled_from([None, 1, 3])),
    )


def matched(problem: Problem, spec: lw.MatchSpec, **options) -> tuple[lw.Matches, Naive]:
    beside = {**options, **({"difficulty": problem.second} if spec.references else {})}
    found = lw.match(problem.faces, problem.vectors, CONTRAST, spec, **beside)
    check_pairs(found, problem.faces, CONTRAST, problem.vectors, options.get("within", ()))
    return found, Naive(problem.faces, problem.vectors, CONTRAST, spec, **beside)


@SETTINGS
@given(problems(), specs(), st.sampled_from([None, 1.0, 1.5, 3.0]))
def test_greedy_is_the_naive_argmin(problem: Problem, spec: lw.MatchSpec, limit: float | None):
    within = [(problem.second, limit)] if limit else []
    try:
        found, naive = matched(problem, spec, within=within)
    except NOBODY:
        return  # a side without anybody, or with one of whom there is no spread; said, and tested elsewhere
    assert rows(found) == naive.greedy()
    for a, b, ref_a, ref_b in found.frame.reindex(columns=["a", "b", "ref_a", "ref_b"]).itertuples(index=False):
        assert not spec.references or naive.chosen_references(a, b) == (ref_a, ref_b)
    assert found.ledger.drop(columns="pair").all(axis=None)


@SETTINGS
@given(problems(), specs(), st.integers(0, 2**32 - 1))
def test_short_lists_many_blocks_and_any_row_order_change_nothing(problem: Problem, spec: lw.MatchSpec, seed: int):
    beside = {"difficulty": problem.second} if spec.references else {}
    try:
        first = lw.match(problem.faces, problem.vectors, CONTRAST, spec, **beside)
    except NOBODY:
        return
    rng = np.random.default_rng(seed)
    faces = lw.Images(problem.faces.frame.sample(frac=1, random_state=int(seed % 2**31)))
    images = rng.permutation(problem.vectors.keys).tolist()
    vectors = lw.Vectors(images, problem.vectors.take(images), source="w")
    with pytest.MonkeyPatch.context() as patch:
        for place in (scan, greedy):
            patch.setattr(place, "LIST", 1)
        patch.setattr(scan, "_FEW", -1.0)  # never list, always search
        patch.setattr(topk, "_LEAST_RUN", 2)
        patch.setattr(topk, "_ONE_IN", 1)
        patch.setattr(scan, "_LEAST_ROWS", 1)
        second = lw.match(faces, vectors, CONTRAST, spec, **beside, memory=1, threads=2)
    check_pairs(second, faces, CONTRAST, vectors)
    assert first == second
    assert first.dropped.equals(second.dropped)
    assert first.note == second.note


@SETTINGS
@given(problems(), st.sampled_from(["key", "random"]), st.sampled_from([("identity",), ()]))
def test_in_turn_each_takes_the_nearest_that_is_left(problem: Problem, order: str, antiexact: tuple[str, ...]):
    spec = lw.MatchSpec(order=order, antiexact=antiexact)
    try:
        found, naive = matched(problem, spec)
    except NOBODY:
        return
    if len(naive.reference) < len(naive.focal):
        naive = Naive(
            problem.faces,
            problem.vectors,
            lw.Contrast("perceived_gender", focal="male", reference="female"),
            spec,
        )
    keys = np.arange(len(naive.focal))
    turn = keys if order == "key" else np.random.default_rng(0).permutation(keys)
    wanted = naive.in_turn([naive.focal[index] for index in turn])
    assert {frozenset(row[:2]) for row in rows(found)} == {frozenset(row[:2]) for row in wanted}
    assert [row[2] for row in rows(found)] == [row[2] for row in wanted]
