"""What the judges say of a sweep: beside the original, along the dial, and with faces found once."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.errors import SpecError
from likewise.images import Album, save
from likewise.make.certificate import DRIFT, PERSON, TARGET, CertificateSpec
from likewise.make.certify import Certifying, Judges
from likewise.make.counterfactual import file_of, key_of
from likewise.models import seen
from likewise.plugins import register, to_pictures
from likewise.world.scene import draw

LEVELS = (-1.0, 0.0, 1.0)
HELD = "world-attributes: smiling"


def judged_faces(folder, smiles):
    """One face with the attribute at three levels; ``smiles`` says how much it smiles at each, the original not."""
    factors = np.zeros((4, 10))
    factors[1:, 0], factors[1:, 3] = LEVELS, smiles
    pictures = to_pictures(draw(factors))
    keys = [key_of("a", level) for level in LEVELS]
    save(folder / "a.png", pictures[0])
    for key, picture in zip(keys, pictures[1:], strict=True):
        save(folder / file_of(key), picture)
    spec = CertificateSpec(target="world-attributes: female", held=(HELD,), recogniser="world")
    work = Certifying(spec, LEVELS, Album(folder, {"a": "a.png"}), Album(folder, {key: file_of(key) for key in keys}))
    return work(["a"])


def test_drift_is_what_moves_with_the_dial(tmp_path):
    """A face that is drawn with a smile at every level has no drift; one that begins to smile has."""
    alike = judged_faces(tmp_path / "alike", [0.8, 0.8, 0.8])
    assert np.abs(alike[DRIFT + HELD]).max() < 0.01
    begins = judged_faces(tmp_path / "begins", [0.0, 0.0, 0.8])[DRIFT + HELD][0]
    assert begins[:2] == pytest.approx([0, 0], abs=0.01)
    assert begins[2] > 0.25
    assert (np.diff(alike[TARGET][0]) > 0.2).all()
    assert (alike[PERSON][0] > 0).all(), "the person is compared with the original"


class Two:
    """Reads found faces, like the networks of faces do; says two labels."""

    licence, threshold = "none", 0.5

    def __init__(self, finder: str = "dlib") -> None:
        self.name = "two"

    def labelled(self, found):
        return {"a": np.full(len(found), 0.2, np.float32), "b": np.full(len(found), 0.3, np.float32)}

    def score(self, pictures):
        raise AssertionError("faces are found once for all judges")


def test_faces_are_found_once_for_all_judges_and_labels_may_be_summed(monkeypatch):
    for name in ("two", "twin"):
        register("classifier", name, Two)
    asked = []
    monkeypatch.setattr(seen, "look_for_faces", lambda pictures, name: asked.append(name) or pictures)
    pictures = np.zeros((3, 8, 8, 3), np.uint8)
    said = Judges(CertificateSpec(target="two: a", held=("twin: a + b",), recogniser="")).scores(pictures)
    assert asked == ["dlib"]
    assert said["two: a"] == pytest.approx([0.2] * 3)
    assert said["twin: a + b"] == pytest.approx([0.5] * 3)
    other = CertificateSpec(
        target="two: a", held=("twin: b",), recogniser="", options={"two": {"finder": "retinaface"}}
    )
    Judges(other).scores(pictures)
    assert asked == ["dlib", "retinaface", "dlib"], "a judge with a finder of its own"
    with pytest.raises(SpecError, match="gives a label 'c'"):
        Judges(CertificateSpec(target="two: a + c", recogniser="")).scores(pictures)
