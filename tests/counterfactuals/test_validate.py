"""What validators measure: beside the original, over the strengths, with faces detected once."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.counterfactuals.validation import measure_edits
from likewise.counterfactuals.validation.measure_edits import REDRAWN, MeasureEdits
from likewise.counterfactuals.validation.validators import Validators
from likewise.counterfactuals.validation.validity import DRIFT, PERSON, TARGET, ValiditySpec
from likewise.data.keys import file_of, key_of
from likewise.errors import SpecError
from likewise.models.detectors import detected_faces
from likewise.runtime.pixels import ImageFolder, save
from likewise.runtime.registry import register, to_pictures
from likewise.simulation.scene import draw

LEVELS = (-1.0, 0.0, 1.0)
HELD = "world-attributes: smiling"


def measured_faces(folder, smiles):
    """One face with the attribute at three strengths; ``smiles`` is how much it smiles at each, the original not."""
    factors = np.zeros((4, 10))
    factors[1:, 0], factors[1:, 3] = LEVELS, smiles
    pictures = to_pictures(draw(factors))
    keys = [key_of("a", level) for level in LEVELS]
    save(folder / "a.png", pictures[0])
    for key, picture in zip(keys, pictures[1:], strict=True):
        save(folder / file_of(key), picture)
    spec = ValiditySpec(target="world-attributes: female", held=(HELD,), recognizer="world")
    work = MeasureEdits(
        spec, LEVELS, ImageFolder(folder, {"a": "a.png"}), ImageFolder(folder, {key: file_of(key) for key in keys})
    )
    return work(["a"])


def test_drift_is_what_moves_with_the_strength(tmp_path):
    """A face that smiles at every strength has no drift; one that begins to smile has."""
    alike = measured_faces(tmp_path / "alike", [0.8, 0.8, 0.8])
    assert np.abs(alike[DRIFT + HELD]).max() < 0.01
    begins = measured_faces(tmp_path / "begins", [0.0, 0.0, 0.8])[DRIFT + HELD][0]
    assert begins[:2] == pytest.approx([0, 0], abs=0.01)
    assert begins[2] > 0.25
    assert (np.diff(alike[TARGET][0]) > 0.2).all()
    assert (alike[PERSON][0] > 0).all(), "the person is compared with the original"


class Two:
    """A classifier of detected faces with two labels."""

    license, threshold = "none", 0.5

    def __init__(self, detector: str = "dlib") -> None:
        self.name = "two"

    def labeled(self, found):
        return {"a": np.full(len(found), 0.2, np.float32), "b": np.full(len(found), 0.3, np.float32)}

    def score(self, pictures):
        raise AssertionError("faces are detected once for all validators")


def test_faces_are_detected_once_for_all_validators_and_labels_may_be_summed(monkeypatch):
    for name in ("two", "twin"):
        register("classifier", name, Two)
    asked = []
    monkeypatch.setattr(detected_faces, "detect_faces", lambda pictures, name: asked.append(name) or pictures)
    pictures = np.zeros((3, 8, 8, 3), np.uint8)
    said = Validators(ValiditySpec(target="two: a", held=("twin: a + b",), recognizer="")).scores(pictures)
    assert asked == ["dlib"]
    assert said["two: a"] == pytest.approx([0.2] * 3)
    assert said["twin: a + b"] == pytest.approx([0.5] * 3)
    other = ValiditySpec(target="two: a", held=("twin: b",), recognizer="", options={"two": {"detector": "retinaface"}})
    Validators(other).scores(pictures)
    assert asked == ["dlib", "retinaface", "dlib"], "a validator with a detector of its own"
    with pytest.raises(SpecError, match="has no label 'c'"):
        Validators(ValiditySpec(target="two: a + c", recognizer="")).scores(pictures)


@pytest.mark.parametrize(("drawn", "found"), [(REDRAWN - 0.001, [0.1, 0.7]), (REDRAWN + 0.001, [REDRAWN + 0.001] * 2)])
def test_artifacts_are_looked_for_between_the_reconstruction_and_the_edit(monkeypatch, drawn, found):
    """An editor that draws a face again differs from the photograph; a broken reconstruction is no yardstick."""
    original, control = (np.full((1, 8, 8, 3), shade, np.uint8) for shade in (0, 50))
    edits = np.full((2, 8, 8, 3), 60, np.uint8)

    def scores(before, after, *, recolored=False, redrawn=False):
        assert redrawn == (before.max() == 0)
        return np.array([drawn], np.float32) if before.max() == 0 else np.array([0.1, 0.7], np.float32)

    monkeypatch.setattr(measure_edits, "artifact_scores", scores)
    by_way = measure_edits.by_way(original[0], edits, control[0], recolored=False)
    np.testing.assert_allclose(by_way, found, atol=1e-6)
