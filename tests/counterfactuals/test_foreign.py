"""Edits of whole pictures: the background, and artifacts inside the face, with the real segmenter on a portrait."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image
from tests.portraits import portrait

from likewise.counterfactuals.foreign.background import background_changed, segmenter
from likewise.counterfactuals.foreign.within_face import edited_whole, whole_edit_artifacts, within_face
from likewise.counterfactuals.validation.artifacts import artifact_scores, changed_region
from likewise.counterfactuals.validation.synthetic_artifacts import add_artifact
from likewise.models.perception.segmentation import resized_to


@pytest.fixture(scope="module")
def original():
    return portrait(size=320)[0]


def round_trip(picture):
    """What an endpoint does to every picture: JPEG, and slightly other colors."""
    buffer = io.BytesIO()
    Image.fromarray(np.clip(picture * 0.97 + 3, 0, 255).astype(np.uint8)).save(buffer, format="JPEG", quality=85)
    return np.asarray(Image.open(buffer).convert("RGB"))


def skin_of(picture):
    return resized_to(segmenter().masks(picture[None], "face skin")[0].astype(np.uint8) * 255, len(picture)) > 127


def behind(picture):
    return resized_to(segmenter().masks(picture[None], "background")[0].astype(np.uint8) * 255, len(picture)) > 127


def test_a_round_trip_leaves_the_background(original, weights):
    weights("selfie-multiclass")
    assert background_changed(original, round_trip(original)[None]).tolist() == [0]


def test_a_repainted_background_is_found_with_and_without_a_control(original, weights):
    weights("selfie-multiclass")
    repainted = np.where(behind(original)[..., None], np.uint8([200, 30, 30]), round_trip(original))
    for control in (None, round_trip(original)):
        assert background_changed(original, repainted[None], control)[0] > 1000


def test_what_the_endpoint_does_to_every_picture_is_no_edit(original, weights):
    """The reconstruction control has the same tinted background, so it does not count as an edit."""
    weights("selfie-multiclass")
    tinted = np.clip(original + np.int64([60, 0, 0]), 0, 255).astype(np.uint8)
    assert background_changed(original, tinted[None])[0] > 0
    assert background_changed(original, tinted[None], tinted).tolist() == [0]


def test_the_edit_is_seen_inside_the_face_only(original, weights):
    weights("selfie-multiclass")
    other = 255 - original
    assert edited_whole(changed_region(original, other[None]))
    shown = within_face(original, other[None])[0]
    changed = (shown != original).any(axis=-1)
    assert changed.any() and changed.mean() < 0.5 and changed[behind(original)].mean() < 0.01


def test_clean_round_trips_have_no_artifacts_and_patches_have(original, weights):
    weights("selfie-multiclass")
    clean = np.stack([round_trip(original)] * 3)
    whole = artifact_scores(original, clean)
    found = whole_edit_artifacts(original, clean)
    assert (found < 0.5).all() and (found <= whole + 1e-6).all()
    patched = clean.copy()
    on_the_cheeks = np.random.default_rng(1)  # other seeds put it on the brim of the hat, outside the face
    patched[2] = add_artifact("color patch", clean[2], skin_of(original), on_the_cheeks)
    assert whole_edit_artifacts(original, patched)[2] > 0.5


def test_a_picture_without_a_face_is_compared_whole(weights):
    weights("selfie-multiclass")
    wall = np.full((64, 64, 3), 120, np.uint8)
    assert (within_face(wall, wall[None] + 9) == wall + 9).all()
