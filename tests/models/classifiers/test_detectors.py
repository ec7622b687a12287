"""Detectors as raters: a face or none, the confidence, and gaps of the detection rate."""

from __future__ import annotations

import hashlib

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
from likewise.simulation.scene import see
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


class Planted:
    """Misses two of five faces that look female, one of twenty others; decided by the picture alone."""

    name, license, threshold = "planted-detector", "MIT", float("nan")

    def score(self, pictures):
        female = see(pictures)[:, 0] > 0
        coin = np.array([int(hashlib.sha256(each.tobytes()).hexdigest()[:8], 16) / 16**8 for each in pictures])
        return {DETECTED: (coin >= np.where(female, 0.4, 0.05)).astype(np.float32)}


def test_recall_by_group_of_a_planted_detector_through_to_the_report(tmp_path):
    """A detector that misses one group more: recall by group and gap, clustered by identity, and the page."""
    folder, table = lw.World(identities=80, seed=1).write(tmp_path / "photos")
    done = lw.audit(
        table, folder, out=tmp_path / "audit", contrast=("perceived_gender", "female", "male"),
        raters=[f"classifier:{__name__}:Planted"], encoder="columns", covariates=["perceived_age"],
        groups={"by": ["perceived_gender"]},
    )  # fmt: skip
    quantity = f"planted-detector: Mean of {DETECTED}"
    rates = done.estimates.where(stat="group_rate", quantity=quantity).frame.set_index("group")
    for group, recall in (("female", 0.6), ("male", 0.95)):
        assert rates.loc[group, "low"] <= recall <= rates.loc[group, "high"]
        assert rates.loc[group, "clusters"] == 40 < rates.loc[group, "n"]
    gap = done.estimates.where(stat="gap", quantity=quantity, sample="all").frame.iloc[0]
    assert gap["low"] < -0.35 < gap["high"] < 0
    page = (tmp_path / "audit" / "report.html").read_text()
    assert "Recall (share of images with a detected face)" in page


def test_a_detector_that_hardly_misses_keeps_its_recall():
    """Labels that nearly all images carry are left out for classifiers, not for raters whose answers are averaged."""
    rows = [(f"i{k}", "d", DETECTED, float(k > 2)) for k in range(60)] + [
        (f"i{k}", "d", SEVERAL, 0.0) for k in range(60)
    ]
    ratings = lw.Ratings(pd.DataFrame(rows, columns=["unit", "rater", "question", "value"]))
    kept, _ = binarize(ratings, {"d": float("nan")})
    assert set(kept.frame["question"]) == {f"Mean of {DETECTED}"}  # an answer that is the same for all says nothing
    dropped, _ = binarize(ratings, {"d": 0.5})
    assert not len(dropped)
