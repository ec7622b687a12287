"""Real people: the recognizers tell them apart, and alignment knows what is aligned."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from recognizers import measured, subset, trials

from likewise.data.align import ALREADY, MOVED, AlignSpec, align
from likewise.models.detectors.registry import detector
from likewise.runtime.pixels import decode
from likewise.runtime.registry import create

DATA = Path(os.environ.get("LIKEWISE_DATA", Path(__file__).parents[3] / "shared" / "data"))
pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not (DATA / "celebahq").is_dir(), reason=f"no real data in {DATA}; set LIKEWISE_DATA"),
]


@pytest.mark.parametrize("name", ["mobilefacenet", "openface"])
def test_people_are_separated(name, weights):
    for part in {"mobilefacenet": ("mobilefacenet", "retinaface"), "openface": ("openface", "dlib-landmarks-5")}[name]:
        weights(part)
    faces = subset(DATA, 20)
    asked, recognizer = trials(faces), create("recognizer", name)
    found = recognizer.embed(np.stack([decode(DATA / "celebahq" / "images" / image) for image in faces["image"]]))
    distance = recognizer.distance(found[asked.a], found[asked.b]).astype(np.float64)
    assert float(str(measured(distance, asked, recognizer.threshold)["AUC"]).split()[0]) > 0.93
    assert np.isnan(found).any(axis=1).mean() < 0.05


def test_aligned_crops_are_left_and_others_are_moved(weights):
    weights("retinaface")
    spec, looker = AlignSpec(frame="ffhq", size=128), detector("retinaface")
    for name, state in (("celebahq", ALREADY), ("fairface", MOVED)):
        files = sorted((DATA / name / "images").glob("*.jpg"))[:8]
        assert [align(decode(file), looker, spec)[0] for file in files] == [state] * 8
