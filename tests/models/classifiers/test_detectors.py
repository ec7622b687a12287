"""Detectors as raters: a face or none, the confidence, and gaps of the detection rate."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import likewise as lw
from likewise.analysis.labels import binarize
from likewise.errors import SpecError
from likewise.models.classifiers.detectors import CONFIDENCE, DETECTED, SEVERAL
from likewise.models.requirements import DETECTORS
from likewise.runtime.registry import create
from likewise.runtime.requirements import requirements
from portraits import portrait

BLANK = np.full((1, 400, 400, 3), 200, np.uint8)


@pytest.mark.parametrize("name", ["dlib", "yunet", "retinaface"])
def test_a_face_is_detected_and_a_blank_is_not(weights, name):
    for weight in DETECTORS[name].weights:
        weights(weight)
    assert requirements("classifier", f"{name}-detector").weights == DETECTORS[name].weights
    rater = create("classifier", f"{name}-detector")
    found = rater.score(np.concatenate([portrait(), BLANK]))
    assert found[DETECTED].tolist() == [1, 0]
    assert found[SEVERAL].tolist() == [0, 0]
    assert found[CONFIDENCE][0] > 0.5 and found[CONFIDENCE][1] == 0
    assert create("classifier", f"{name}-detector", {"least": 0.99999}).score(portrait())[DETECTED] <= 1


def test_gaps_of_the_detection_rate(weights):
    """Half of one group's faces cannot be seen: the rater's mean is the detection rate of each group."""
    weights("yunet")
    rows = [("a", k % 2 == 0) for k in range(24)] + [("b", True) for _ in range(24)]
    pictures = np.concatenate([portrait() if seen else BLANK for _, seen in rows])
    frame = pd.DataFrame({"image": [f"i{k}" for k in range(48)], "perceived_group": [group for group, _ in rows]})
    images = lw.Images(frame.assign(identity=frame["image"]))
    rater = create("classifier", "yunet-detector")
    ratings = lw.rate(images, pictures, model=rater)
    given, _ = binarize(ratings, {rater.name: rater.threshold})
    found = lw.gaps(given, None, images, lw.Contrast("perceived_group", "a", "b"))
    row = found.where(quantity=f"yunet-detector: Mean of {DETECTED}", stat="gap").frame.iloc[0]
    assert row["estimate"] == pytest.approx(-0.5)
    assert row["low"] < -0.5 < row["high"] < 0


def test_a_limit_beyond_certainty_is_explained(weights):
    weights("yunet")
    with pytest.raises(SpecError, match="least is 1"):
        create("classifier", "yunet-detector", {"least": 1.0})
