from __future__ import annotations

import numpy as np
import pytest

from likewise.models.detectors.detection import Detection
from likewise.models.perception.glasses import WORN, worn_share
from likewise.models.perception.segmentation import CLASSES

POINTS = {
    "corners": np.array([[170.0, 120], [145, 120], [85, 120], [110, 120], [128, 170]]),
    "centers": np.array([[98.0, 120], [158, 120], [128, 165], [105, 200], [150, 200]]),
}


def face(scheme, scale=1.0):
    return Detection((60, 60, 200, 230), POINTS[scheme] * scale, 1.0)


def classes(rows, columns):
    made = np.full((256, 256), CLASSES.index("face skin"), np.uint8)
    made[rows, columns] = CLASSES.index("others")
    return made


@pytest.mark.parametrize("scheme", ["corners", "centers"])
def test_what_is_worn_at_the_eyes_counts_and_a_hat_does_not(scheme):
    glasses, hat = classes(slice(112, 135), slice(85, 171)), classes(slice(0, 60), slice(0, 256))
    assert worn_share(glasses, face(scheme), scheme, (256, 256)) > 10 * WORN
    assert worn_share(hat, face(scheme), scheme, (256, 256)) == 0
    assert worn_share(classes(slice(0, 0), slice(0, 0)), face(scheme), scheme, (256, 256)) == 0


def test_the_size_of_the_picture_does_not_matter():
    glasses = classes(slice(112, 135), slice(85, 171))
    large = worn_share(glasses, face("corners", 4.0), "corners", (1024, 1024))
    assert large == pytest.approx(worn_share(glasses, face("corners"), "corners", (256, 256)))


def test_a_face_at_the_edge_is_no_error():
    assert worn_share(classes(slice(0, 0), slice(0, 0)), face("corners", 20.0), "corners", (256, 256)) == 0
