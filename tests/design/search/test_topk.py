"""The few smallest of every row, whatever a sample of the columns says about them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import likewise as lw
from likewise.design.search import scan, topk
from likewise.errors import SpecError

CONTRAST = lw.Contrast("perceived_gender", focal="male", reference="female")
EMPTY = [np.nan, np.inf]


def blocks_of(seed: int, rows: int, columns: int, kind: str, dtype: type[np.floating]) -> np.ndarray:
    """Numbers of a kind: with ties, in order (so that neighbors mislead a sample), all equal, or hardly any."""
    rng = np.random.default_rng(seed)
    block = rng.integers(0, 40, (rows, columns)) / 7 if kind == "ties" else rng.random((rows, columns))
    if kind == "sorted":
        block = np.sort(block, axis=1)[:, :: rng.choice([-1, 1])]
    if kind == "equal":
        block[:] = 3.0
    holes = rng.random(block.shape) < {"empty": 0.98, "ties": 0.2}.get(kind, 0.0)
    return np.where(holes, rng.choice(EMPTY, block.shape), block).astype(dtype)


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 9),
    st.integers(1, 300),
    st.sampled_from(["plain", "ties", "sorted", "equal", "empty"]),
    st.sampled_from([np.float32, np.float64]),
    st.integers(1, 7),
    st.sampled_from([1, 2, 8]),
)
def test_they_are_those_of_sorting_everything(seed, rows, columns, kind, dtype, most, one_in):
    block = blocks_of(seed, rows, columns, kind, dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topk, "_LEAST_RUN", 2)
        patch.setattr(topk, "_ONE_IN", one_in)
        patch.setattr(topk, "SLAB", 4)
        slabs = list(topk.smallest(block, most))
    assert sum(len(few.at) for few in slabs) == rows
    entries = [entry for few in slabs for entry in zip(few.at, few.values, few.count, few.rest, strict=True)]
    for row, (at, values, count, rest) in zip(block, entries, strict=True):
        numbers = np.flatnonzero(np.isfinite(row))
        assert count == min(most, len(numbers))
        assert np.array_equal(values[:count], np.sort(row[numbers])[:count])
        assert np.array_equal(row[at[:count]], values[:count])
        order = list(zip(values[:count], at[:count], strict=True))
        assert order == sorted(order)
        others = np.setdiff1d(numbers, at[:count])
        assert rest <= row[others].min(initial=np.inf)
        assert len(others) or rest == np.inf or rest >= values[:count].max()


def matrix_of(seed: int, shape: tuple[int, int]) -> tuple[lw.Images, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 5000, shape) / 64
    values[rng.random(shape) < 0.3] = np.nan
    names = [[f"{side}{k:04d}" for k in range(count)] for side, count in zip("ab", shape, strict=True)]
    table = pd.DataFrame({"image": names[0] + names[1], "identity": names[0] + names[1]})
    faces = lw.Images(table.assign(perceived_gender=["male"] * shape[0] + ["female"] * shape[1]))
    return faces, pd.DataFrame(values, index=names[0], columns=names[1])


def argmin_loop(frame: pd.DataFrame) -> list[tuple[str, str, float]]:
    """Take the smallest of all, first row and first column of a tie, remove both, repeat."""
    left, found = frame.to_numpy(copy=True), []
    left[np.isnan(left)] = np.inf
    while np.isfinite(least := left.min()):
        row, column = np.unravel_index(left.argmin(), left.shape)
        found.append((frame.index[row], frame.columns[column], least))
        left[row], left[:, column] = np.inf, np.inf
    return found


@pytest.mark.parametrize("listed", [1, 3, 48])
def test_a_wide_ready_matrix_gives_the_pairs_of_argmin_for_every_block_and_thread(listed, monkeypatch):
    faces, frame = matrix_of(listed, (60, 3000))
    wanted = argmin_loop(frame)
    monkeypatch.setattr(scan, "LIST", listed)
    monkeypatch.setattr(scan, "_LEAST_ROWS", 1)
    spec = lw.MatchSpec(distance="precomputed", antiexact=())
    for given_ in (frame, lambda a, b: frame.loc[a, b]):
        for memory in (1, 2**22, 2**30):
            for threads in (1, 2):
                pairs = lw.match(faces, None, CONTRAST, spec, distances=given_, memory=memory, threads=threads).frame
                assert list(zip(pairs["a"], pairs["b"], pairs["distance"], strict=True)) == wanted


@pytest.mark.parametrize("wrong", [-1.5, -np.inf])
@pytest.mark.parametrize("columns", [30, 3000])
@pytest.mark.parametrize("caliper", [{}, {"distance": 20.0}])
def test_a_negative_distance_is_refused_wherever_it_stands(wrong, columns, caliper):
    faces, frame = matrix_of(5, (20, columns))
    frame.iloc[13, columns - 2] = wrong
    spec = lw.MatchSpec(distance="precomputed", caliper=caliper)
    with pytest.raises(SpecError, match=f"distance is negative: {wrong:g}"):
        lw.match(faces, None, CONTRAST, spec, distances=frame)
