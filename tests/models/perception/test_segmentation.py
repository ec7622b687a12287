"""The segmenter finds the face in a portrait, whatever the batch and the picture's size."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.errors import SpecError
from likewise.models.perception.segmentation import CLASSES, SIDE, Segmenter
from portraits import portrait


@pytest.fixture(scope="module")
def segmenter(weights):
    weights("selfie-multiclass")
    return Segmenter(batch=2)


def test_the_face_is_in_the_middle_and_the_clothes_are_below(segmenter):
    classes = segmenter.classes(portrait())[0]
    skin = classes == CLASSES.index("face skin")
    clothes = classes == CLASSES.index("clothes")
    assert 0.05 < skin.mean() < 0.4
    rows, columns = np.nonzero(skin)
    assert abs(np.median(columns) / SIDE - 0.5) < 0.15
    assert np.median(np.nonzero(clothes)[0]) > np.median(rows)
    np.testing.assert_array_equal(segmenter.masks(portrait(), "face skin")[0], skin)


def test_batches_and_single_pictures_agree(segmenter):
    pictures = np.concatenate([portrait(turned=turn, size=256) for turn in (0, 5, -5)])
    together = segmenter.classes(pictures)
    alone = np.concatenate([segmenter.classes(picture[None]) for picture in pictures])
    assert (together != alone).mean() < 1e-4, "rounding may tip a pixel between two classes"
    assert segmenter.classes(pictures[:0]).shape == (0, SIDE, SIDE)


def test_an_unknown_class_and_an_empty_batch_are_errors(segmenter):
    with pytest.raises(SpecError, match="Unknown class"):
        segmenter.masks(portrait(), "nose")
    with pytest.raises(SpecError, match="at least 1"):
        Segmenter(batch=0)
