from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import ndimage

from likewise.counterfactuals.masks import feathered, outside_changed, pasted, returned
from likewise.errors import ImageError
from likewise.models.perception.segmentation import one_piece


@given(
    mask=arrays.arrays(bool, (12, 15)),
    width=st.floats(0, 6),
    seed=st.integers(0, 1000),
)
def test_outside_the_mask_every_byte_stays(mask, width, seed):
    rng = np.random.default_rng(seed)
    original, edited = (rng.integers(0, 256, (12, 15, 3), dtype=np.uint8) for _ in range(2))
    weight = feathered(mask, width)
    result = pasted(original, edited, weight)
    assert (weight[~mask] == 0).all()
    assert (result[~mask] == original[~mask]).all()
    assert outside_changed(original, result, weight) == 0
    assert (result[weight == 1] == edited[weight == 1]).all()


def test_fading_happens_inside_only():
    mask = np.zeros((20, 20), bool)
    mask[5:15, 5:15] = True
    weight = feathered(mask, 4)
    assert weight[4, 10] == 0
    assert weight[5, 10] == pytest.approx(0.25)
    assert weight[10, 10] == 1
    assert (np.diff(weight[5:10, 10]) >= 0).all()


def test_a_face_that_the_border_cuts_is_edited_up_to_it():
    mask = np.zeros((20, 20), bool)
    mask[:, :10] = True
    assert feathered(mask, 4)[0, 0] == 1


def test_only_the_face_that_is_meant_is_edited():
    mask = np.zeros((20, 20), bool)
    mask[2:10, 2:10] = mask[14:18, 14:18] = True
    assert one_piece(mask).sum() == 64
    assert one_piece(mask, near=(15, 15)).sum() == 16
    assert one_piece(mask, near=(12, 13)).sum() == 16  # beside it: the nearest piece
    assert one_piece(~mask & False).sum() == 0


def test_a_change_outside_is_counted():
    original = np.zeros((4, 4, 3), np.uint8)
    result = original.copy()
    result[0, 0, 1] = 1
    weight = np.zeros((4, 4), np.float32)
    assert outside_changed(original, result, weight) == 1


def test_a_crop_goes_back_to_where_it_came_from():
    """A smooth picture, cropped by a turn and a scaling, comes back nearly as it was where the crop reaches."""
    rng = np.random.default_rng(3)
    smooth = ndimage.gaussian_filter(rng.normal(size=(80, 90, 3)), (6, 6, 0))
    picture = np.uint8(127 + 100 * smooth / np.abs(smooth).max())
    turn = 0.2
    linear = 0.9 * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    transform = np.column_stack([linear, [-10, -20]])
    rows, columns = np.mgrid[:64, :64]
    points = np.linalg.solve(linear, np.stack([columns.ravel() + 10, rows.ravel() + 20]))
    crop = np.stack(
        [
            ndimage.map_coordinates(picture[..., c].astype(float), points[::-1], order=1, mode="nearest").reshape(
                64, 64
            )
            for c in range(3)
        ],
        axis=-1,
    ).astype(np.uint8)
    back = returned(crop.astype(np.float32), transform, picture.shape[:2])
    assert back.shape == picture.shape
    window = returned(crop.astype(np.float32), transform, (20, 15), corner=(40, 35))
    assert np.abs(window - back[40:60, 35:50]).max() < 1e-2
    middle = (slice(40, 60), slice(35, 55))
    assert np.abs(back[middle] - picture[middle]).max() <= 4


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(ImageError, match="different sizes"):
        pasted(np.zeros((4, 4, 3), np.uint8), np.zeros((5, 4, 3), np.uint8), np.zeros((4, 4), np.float32))
