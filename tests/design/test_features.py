"""Features: the contrast's own conditional direction is removed, and confounders stay visible."""

from __future__ import annotations

import numpy as np
import pytest

import likewise as lw
from likewise.design.features import freed_components, principal_components, row_groups
from likewise.errors import VectorError

STEP, GRADIENT = [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]


def latents(rows: int | None = None) -> tuple[np.ndarray, lw.Vectors]:
    """Group (first number), a confounder that goes along with it (second) and noise (third)."""
    rng = np.random.default_rng(0)
    side = np.where(np.arange(200) % 2 == 0, 1.0, -1.0)
    values = np.column_stack([3 * side, 2 * side + rng.normal(size=200), rng.normal(size=200)])
    wide = values if rows is None else np.repeat(values[:, None], rows, axis=1)
    return values, lw.Vectors([f"{k:03d}" for k in range(200)], wide, source="latents")


@pytest.mark.parametrize("rows", [None, 2, 18])
def test_the_own_direction_goes_and_the_confounder_stays(rows):
    values, vectors = latents(rows)
    found = freed_components(vectors, 40, step=STEP, gradient=GRADIENT)
    assert found.values.shape == (200, 2)
    assert np.allclose(found.values.std(axis=0), 1, atol=1e-5)
    explained = np.linalg.lstsq(np.column_stack([np.ones(200), found.values]), values, rcond=None)[1]
    assert explained[1] < 1e-6  # the confounder can be read from the components
    assert explained[0] > 100  # the group itself only as far as the confounder says it


def test_without_a_direction_nothing_is_removed_and_the_count_is_at_most():
    _, vectors = latents()
    assert freed_components(vectors, 40).values.shape == (200, 3)
    assert freed_components(vectors, 1).values.shape == (200, 1)


def test_rows_of_w_plus_are_grouped_coarse_middle_fine():
    wide = np.repeat(np.arange(18.0)[None, :, None], 2, axis=2)
    groups = row_groups(lw.Vectors(["1"], wide, source="W+")).values
    assert groups[0, :, 0].tolist() == [1.5, 5.5, 12.5]
    assert row_groups(lw.Vectors(["1"], wide[:, :4], source="W+")).values.shape == (1, 2)  # of few rows the mean


def test_what_has_no_components_is_an_error():
    flat = lw.Vectors(["1", "2"], np.ones((2, 3)), source="flat")
    with pytest.raises(VectorError, match="no components"):
        freed_components(flat, 2)
    _, vectors = latents()
    with pytest.raises(VectorError, match="does not change the score"):
        freed_components(vectors, 2, step=[0.0, 1.0, 0.0], gradient=GRADIENT)


def test_components_of_more_numbers_than_images_are_those_of_the_whole_matrix():
    values = np.random.default_rng(5).normal(size=(12, 40))
    wide = principal_components(lw.Vectors([str(k) for k in range(12)], values, source="toy"), 3).values
    centered = values - values.mean(axis=0)
    u, s, _ = np.linalg.svd(centered, full_matrices=False)
    np.testing.assert_allclose(np.abs(wide), np.abs(u[:, :3] * s[:3]), atol=1e-5)
