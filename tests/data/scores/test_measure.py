from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from likewise.data.scores.measure import need_consistent, need_direction, separation
from likewise.errors import TableError
from likewise.tables import Images

IMAGES = Images(pd.DataFrame({"image": [f"i{n}" for n in range(40)], "identity": [f"p{n // 2}" for n in range(40)]}))


def scored(genuine, impostor) -> pd.DataFrame:
    rows = [(f"i{2 * n}", f"i{2 * n + 1}", value) for n, value in enumerate(genuine)]
    rows += [(f"i{2 * n}", f"i{2 * n + 3}", value) for n, value in enumerate(impostor)]
    return pd.DataFrame(rows, columns=["a", "b", "distance"])


@pytest.mark.parametrize(("shift", "measure"), [(5, "similarity"), (-5, "distance")])
def test_the_direction_is_that_of_genuine_pairs(shift, measure):
    rng = np.random.default_rng(0)
    found = separation(scored(rng.normal(shift, 1, 15), rng.normal(0, 1, 15)), IMAGES)
    assert need_direction(found, "x") == measure
    assert found.auc == pytest.approx(float(shift > 0))


@pytest.mark.parametrize(("genuine", "impostor", "message"), [
    (np.arange(15.0), np.arange(15.0), "Check the columns of identity and score"),
    ([9.0, 9.0], np.arange(15.0), "--measure similarity"),
    ([], np.arange(15.0), "no pair is of one identity"),
    (np.arange(15.0), [], "--measure"),
])  # fmt: skip
def test_what_is_not_decided_is_an_error(genuine, impostor, message):
    with pytest.raises(TableError, match="Cannot tell") as error:
        need_direction(separation(scored(genuine, impostor), IMAGES), "vendor")
    assert message in str(error.value)


def test_noise_is_rarely_taken_for_a_direction():
    rng = np.random.default_rng(1)
    taken = [separation(scored(rng.normal(size=15), rng.normal(size=15)), IMAGES).direction for _ in range(300)]
    assert np.mean([each is not None for each in taken]) < 0.02


def test_a_declared_measure_that_pairs_contradict_is_an_error():
    reversed_ = separation(scored(np.full(15, 0.9), np.full(15, 0.2)), IMAGES)
    with pytest.raises(TableError, match=r'read as distance\. Set measure = "similarity"'):
        need_consistent(reversed_, "vendor", "distance")
    need_consistent(separation(scored(np.full(15, 0.2), np.full(15, 0.9)), IMAGES), "vendor", "distance")


def test_empty_scores_and_pairs_from_both_ends_count_once():
    frame = scored(np.full(10, 0.2), np.full(10, 0.9))
    both = pd.concat([frame, frame.rename(columns={"a": "b", "b": "a"})], ignore_index=True)
    both.loc[0, "distance"] = both.loc[20, "distance"] = np.nan
    found = separation(both, IMAGES)
    assert (found.genuine, found.impostor) == (9, 10)


@pytest.mark.parametrize(("largest", "scale"), [(0.98, 1), (99.0, 100), (412.3, 413)])
def test_the_scale_of_similarities(largest, scale):
    assert separation(scored([largest] * 9, [0.1] * 9), IMAGES).scale == scale


def test_normalized_scores_a_little_above_one_are_no_percentages():
    found = separation(scored([0.7] * 8 + [1.2], [0.1] * 9), IMAGES)
    assert found.scale == 1.2  # no distance is negative
