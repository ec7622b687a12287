"""Balance as a constraint: the sample is balanced, proved, and as large as the bound says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import likewise as lw
from likewise.design.balance.frontier import frontier
from likewise.design.balance.table import verdict
from likewise.design.balance.weighting import entropy_weights, overlap_weights
from likewise.design.cardinality.exchanges import exchanged
from likewise.design.cardinality.problem import Problem
from likewise.design.cardinality.sample import largest_balanced
from likewise.design.trials import default_units
from likewise.errors import SpecError
from likewise.simulation.world import CONTRAST


def problem(seed: int, units: int, tolerance: float, strata: int = 1, most: int | None = None) -> Problem:
    rng = np.random.default_rng(seed)
    focal = np.arange(units) < units // 2
    numbers = rng.normal(size=(units, 2)) + 0.8 * focal[:, None]
    people = np.r_[rng.integers(0, units // 3, units // 2), units + rng.integers(0, units // 3, units - units // 2)]
    codes = pd.factorize(people)[0].astype(np.int64)
    return Problem(numbers, focal, codes, rng.integers(0, strata, units), np.full(2, tolerance), most)


def best_by_hand(given_: Problem) -> int:
    """Try every sample, the largest first."""
    units = len(given_.focal)
    for size in range(units // 2, 0, -1):
        for chosen in combinations(range(units), 2 * size):
            mask = np.zeros(units, dtype=bool)
            mask[list(chosen)] = True
            if mask[given_.focal].sum() == size and given_.holds(mask):
                return size
    return 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.05, 0.3, 1.0]), st.sampled_from([1, 2]))
def test_no_sample_exceeds_the_bound_and_the_one_found_holds(seed: int, tolerance: float, strata: int):
    given_ = problem(seed, 11, tolerance, strata)
    found = largest_balanced(given_)
    assert given_.holds(found.chosen)
    assert found.size <= best_by_hand(given_) <= found.bound


@pytest.mark.parametrize("strata", [1, 3])
def test_rounding_loses_little_on_larger_problems(strata):
    for seed in range(3):
        found = largest_balanced(problem(seed, 600, 0.05, strata))
        assert found.bound - found.size <= 0.1 * found.bound + 2


def test_a_cap_is_kept():
    assert largest_balanced(problem(0, 300, 0.2, most=10)).size == 10


def test_balance_shows_what_the_ledger_proves():
    world = lw.World(identities=160, seed=3)
    images, factors = world.draw()
    vectors = lw.Vectors(images.keys, factors[:, 1:], source="factors but the attribute")
    asked = default_units(images)
    spec = lw.MatchSpec(method="cardinality", max_smd=0.1, balance="eyeglasses", exact="smiling")
    found = lw.match(images, vectors, CONTRAST, spec, units=asked)
    assert len(found) >= 15
    assert {"max_smd 0.1", "exact smiling (mean)", "antiexact identity"} <= set(found.ledger.columns)
    assert "no such sample has more than" in found.note
    table = lw.balance(images, CONTRAST, found, covariates=["eyeglasses", "smiling"], units=asked, vectors=vectors)
    assert verdict(table, max_smd=0.1).balanced
    assert not verdict(table, sample="all").balanced
    assert "not in the balanced sample" in set(found.dropped["reason"])
    assert found == lw.match(images.subset(images.keys[::-1]), vectors, CONTRAST, spec, units=asked)


def test_images_can_be_balanced_too_and_groups_that_do_not_overlap_are_explained():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"image": range(80), "identity": range(80), "sex": ["F", "M"] * 40})
    images = lw.Images(frame)
    near = lw.Vectors(images.keys, rng.normal(size=(80, 2)), source="near")
    assert len(lw.match(images, near, lw.Contrast("sex", "F", "M"), lw.MatchSpec(method="cardinality"))) > 20
    apart = lw.Vectors(images.keys, rng.normal(size=(80, 1)) + 20 * (frame[["sex"]] == "F").to_numpy(), source="apart")
    nothing = lw.match(images, apart, lw.Contrast("sex", "F", "M"), lw.MatchSpec(method="cardinality"))
    assert len(nothing) == 0
    assert nothing.note.startswith("No pair satisfies all constraints")


def test_what_cannot_be_balanced_is_refused():
    images = lw.Images(pd.DataFrame({"image": range(8), "identity": range(8), "sex": ["F", "M"] * 4}))
    between = lw.Vectors(images.keys, (images.frame[["sex"]] == "F").to_numpy(float), source="the attribute itself")
    spec, contrast = lw.MatchSpec(method="cardinality"), lw.Contrast("sex", "F", "M")
    with pytest.raises(SpecError, match="Number 1 of the vectors is constant within each group"):
        lw.match(images, between, contrast, spec)
    wide = lw.Vectors(images.keys, np.random.default_rng(0).normal(size=(8, 401)), source="wide")
    with pytest.raises(SpecError, match="401 numbers are too many"):
        lw.match(images, wide, contrast, spec)
    with pytest.raises(SpecError, match="second distances"):
        lw.match(images, wide, contrast, spec, within=[(wide, 1.0)])


def test_the_frontier_keeps_more_pairs_where_more_imbalance_is_left():
    images, factors = lw.World(identities=120, seed=3).draw()
    vectors = lw.Vectors(images.keys, factors[:, 1:6], source="factors")
    frame = frontier(images, vectors, CONTRAST, units=default_units(images), at=(0.3, 0.05)).frame
    kept = frame[frame["stat"] == "pairs_kept"]["estimate"].tolist()
    left = frame[(frame["stat"] == "imbalance_left") & (frame["sample"] == "matched")]["estimate"].tolist()
    (before,) = frame[frame["sample"] == "all"]["estimate"]
    assert before > left[1], "unmatched groups are farther apart"
    chance = frame[frame["stat"] == "imbalance_by_chance"]["estimate"].tolist()
    assert chance == pytest.approx([2 / np.sqrt(np.pi * pairs) for pairs in kept])
    assert kept[0] < kept[1]
    assert left[0] < left[1]
    assert left[0] <= 0.05
    with pytest.raises(SpecError, match="needs method = 'cardinality'"):
        frontier(images, vectors, CONTRAST, lw.MatchSpec())


def test_a_smaller_sample_is_balanced_more_closely_and_the_bound_stays():
    given_ = problem(1, 400, 0.1)
    most, less = (largest_balanced(replace(given_, keep=keep)) for keep in (1.0, 0.9))
    assert most.bound == less.bound
    assert less.size == int(0.9 * less.bound)
    assert most.size >= less.size
    assert np.abs(given_.apart(less.chosen)).max() < 0.2 * np.abs(given_.apart(most.chosen)).max()
    with pytest.raises(SpecError, match="not a share of at most 1"):
        lw.MatchSpec(method="cardinality", keep=1.5)
    with pytest.raises(SpecError, match="keep needs method = 'cardinality'"):
        lw.MatchSpec(keep=0.5)


def squares(given_: Problem, chosen: np.ndarray) -> float:
    return float((given_.apart(chosen) ** 2).sum())


def after_exchanges(given_: Problem, chosen: np.ndarray) -> Iterator[np.ndarray]:
    """All samples after at most one exchange within a stratum on each side."""
    strata = given_.strata
    moves = [
        [None, *(move for move in product(np.flatnonzero(chosen & side), np.flatnonzero(side & ~chosen))
                 if strata[move[0]] == strata[move[1]])]
        for side in (given_.focal, ~given_.focal)
    ]  # fmt: skip
    for both in product(*moves):
        mask = chosen.copy()
        for move in filter(None, both):
            mask[move[0]], mask[move[1]] = False, True
        yield mask


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.2, 1.0]), st.sampled_from([1, 2]))
def test_exchanges_end_where_none_on_each_side_balances_more_closely(seed: int, tolerance: float, strata: int):
    given_ = problem(seed, 16, tolerance, strata)
    rng = np.random.default_rng(seed)
    chosen = max(
        (sample for _ in range(200) if given_.holds(sample := rng.random(16) < 0.4)),
        key=lambda sample: sample.sum(), default=np.zeros(16, dtype=bool),
    )  # fmt: skip
    found = exchanged(given_, chosen)
    assert given_.holds(found)
    assert found.sum() == chosen.sum()
    assert squares(given_, found) <= squares(given_, chosen)
    best = min(squares(given_, mask) for mask in after_exchanges(given_, found) if given_.holds(mask))
    assert squares(given_, found) <= best * (1 + 1e-5)


def test_a_sample_of_thirty_is_balanced_more_closely_by_exchanges(monkeypatch):
    given_ = [replace(problem(seed, 180, 0.2), keep=0.9) for seed in range(4)]
    closer = [squares(each, largest_balanced(each).chosen) for each in given_]
    monkeypatch.setattr("likewise.design.cardinality.exchanges.FEW_PAIRS", 0)
    plain = [squares(each, largest_balanced(each).chosen) for each in given_]
    assert sum(closer) < 0.5 * sum(plain)


def test_named_columns_are_balanced_more_closely_than_the_numbers_of_the_vectors():
    images, factors = lw.World(identities=120, seed=4).draw()
    vectors = lw.Vectors(images.keys, factors[:, 1:], source="factors")
    asked, names = default_units(images), ["eyeglasses", "light", "smiling"]

    def apart(spec: lw.MatchSpec) -> float:
        found = lw.match(images, vectors, CONTRAST, spec, units=asked)
        table = lw.balance(images, CONTRAST, found, covariates=names, units=asked)
        return float(table.where(stat="smd", sample="matched").frame["estimate"].pow(2).sum())

    spec = lw.MatchSpec(method="cardinality", max_smd=0.2)
    assert apart(replace(spec, balance=tuple(names))) < 0.5 * apart(spec)


def test_weights_balance_exactly_and_say_when_they_cannot():
    images, _ = lw.World(identities=200, seed=2).draw()
    asked = default_units(images)
    names = ["eyeglasses", "smiling", "light"]
    for make in (entropy_weights, overlap_weights):
        weights = make(images, CONTRAST, covariates=names, units=asked)
        table = lw.balance(images, CONTRAST, covariates=names, units=asked, weights=weights)
        assert verdict(table, sample="weighted", max_smd=1e-3).balanced
    whose = images.identities.loc[asked.frame.set_index("trial").loc[weights.index, "a"]].to_numpy()
    assert (weights.groupby(whose).sum() <= 1 + 1e-9).all()  # an identity weighs 1 at most, however many images it has
    rows = {"image": list("1234"), "identity": list("abcd"), "sex": list("FFMM"), "age": [9, 9, 1, 2]}
    with pytest.raises(SpecError, match="overlap too little"):
        entropy_weights(lw.Images(pd.DataFrame(rows)), lw.Contrast("sex", "F", "M"), covariates=["age"])
