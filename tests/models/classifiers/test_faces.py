"""Face classifiers: chances that sum to one, no face no answer, batches as single faces, dlib's own chips."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.errors import InputError, SpecError
from likewise.models.classifiers.faces import BANDS, Age, Emotion, FaceResAge, FaceResGender, Gear, Gender, banded
from likewise.models.detectors.detected_faces import detect_faces
from likewise.runtime.registry import create
from portraits import portrait

KINDS = [Gender, Age, Emotion, FaceResGender, FaceResAge, Gear]


@pytest.fixture(scope="module")
def pictures(weights):
    weights("dlib-landmarks-5")
    blank = np.full((1, 400, 400, 3), 200, np.uint8)
    return np.concatenate([portrait(), blank, portrait(mirrored=True), portrait(turned=8)])


@pytest.mark.parametrize("kind", KINDS)
def test_chances_sum_to_one_and_no_face_is_no_answer(weights, pictures, kind):
    weights(kind.network)
    whole, single = kind().score(pictures), kind(batch=1).score(pictures)
    values = np.stack(list(whole.values()))
    assert np.isnan(values[:, 1]).all()
    np.testing.assert_allclose(values[:, [0, 2, 3]].sum(axis=0), 3 if kind is Gear else 1, atol=1e-3)
    np.testing.assert_allclose(values, np.stack(list(single.values())), atol=1e-5)


@pytest.mark.parametrize("kind", [Gender, FaceResGender, Emotion])
def test_the_weights_of_another_network_are_refused_at_once(weights, kind):
    weights("age-v1")
    with pytest.raises(InputError, match="These are not the weights of"):
        kind(weights="age-v1")


def test_the_portrait_is_of_an_elderly_face(weights, pictures):
    weights("age-v1")
    weights("faceres")
    seen = detect_faces(pictures)
    for kind in (Age, FaceResAge):
        years = kind().years(seen)
        assert np.isnan(years[1])
        assert (years[[0, 2, 3]] > 40).all()


def test_our_chip_is_dlibs(weights, pictures):
    dlib = pytest.importorskip("dlib")
    seen = detect_faces(pictures[:1])
    points = [dlib.point(*map(round, point)) for point in seen.faces[0].points.tolist()]
    box = dlib.rectangle(*(round(edge) for edge in seen.faces[0].box))
    details = dlib.get_face_chip_details(dlib.full_object_detection(box, points), 64, 0.2)
    theirs = dlib.extract_image_chip(np.ascontiguousarray(pictures[0]), details).astype(float)
    ours = seen.crops("face-20", 64)[0].astype(float)
    alike = [np.corrcoef(np.roll(ours, (0, shift), (0, 1)).ravel(), theirs.ravel())[0, 1] for shift in (-2, 0, 2)]
    assert alike[1] > 0.97, "the same crop, but for part of a pixel and the way of interpolating"
    assert alike[1] > max(alike[0], alike[2])


def test_bands_cover_every_year_once():
    chances = np.full((1, 100), 0.01, np.float32)
    bands = banded(chances, np.arange(100))
    assert len(bands) == len(BANDS)
    np.testing.assert_allclose(sum(bands.values()), 1, atol=1e-6)
    np.testing.assert_allclose(bands["20-29"], 0.1, atol=1e-6)


def test_components_are_created_by_name(weights):
    weights("gender-v1")
    gender = create("classifier", "gender", {"batch": 4})
    assert gender.name == "gender-v1"
    assert "CC0" in gender.license
    assert gender.detector == "dlib"
    with pytest.raises(SpecError, match="batch is 0"):
        create("classifier", "gender", {"batch": 0})
