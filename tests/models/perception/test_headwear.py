"""Headwear: what is worn above the brows counts; glasses, the background and clothes below the face do not."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.models.detectors.detection import Detection
from likewise.models.perception.headwear import headwear_share
from likewise.models.perception.segmentation import CLASSES

POINTS = {
    "corners": np.array([[170.0, 120], [145, 120], [85, 120], [110, 120], [128, 170]]),
    "centers": np.array([[101.0, 120], [154, 120], [128, 165], [105, 200], [150, 200]]),
}


def share(scheme, scale=1.0, **worn):
    """A head of hair and skin before a background; ``others=rows`` puts something worn into those rows."""
    made = np.full((256, 256), CLASSES.index("background"), np.uint8)
    made[20:85, 60:196], made[85:220, 60:196] = CLASSES.index("hair"), CLASSES.index("face skin")
    for name, rows in worn.items():
        made[rows, 60:196] = CLASSES.index(name)
    face = Detection((60, 60, 200, 230), POINTS[scheme] * scale, 1.0)
    side = round(256 * scale)
    return headwear_share(made, face, scheme, (side, side))


@pytest.mark.parametrize("scheme", ["corners", "centers"])
@pytest.mark.parametrize("worn", ["others", "clothes"])
def test_a_hat_or_a_hood_counts_and_other_things_do_not(scheme, worn):
    assert share(scheme, **{worn: slice(20, 90)}) > 0.8
    assert 0.2 < share(scheme, **{worn: slice(20, 50)}) < 0.8, "half a hat counts half"
    assert share(scheme) == 0
    assert share(scheme, **{worn: slice(112, 140)}) == 0, "eyeglasses"
    assert share(scheme, **{worn: slice(200, 256)}) == 0, "a collar"


def test_the_size_of_the_picture_does_not_matter():
    assert share("corners", 4.0, others=slice(20, 70)) == pytest.approx(share("corners", others=slice(20, 70)))


def test_a_face_at_the_edge_is_no_error():
    assert share("corners", 0.01) == 0
