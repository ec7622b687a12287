"""SFace, YuNet and the Inception of 2015 answer as their published files do.

The stored numbers were made once on noise: SFace and YuNet by onnxruntime from the unchanged files; Inception by a
second route that does not fold the normalizations and resizes by an affine grid, from the tensors and settings of the
TorchScript file, whose code was not run.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from likewise.models.detectors.registry import detector
from likewise.models.detectors.yunet import YuNetDetector
from likewise.models.recognizers.onnx import session
from likewise.runtime.registry import create

torch = pytest.importorskip("torch")

STORED = Path(__file__).parents[1] / "fixtures" / "networks" / "commercial.npz"


@pytest.fixture(scope="module")
def stored():
    with np.load(STORED) as file:
        return dict(file)


@pytest.fixture(scope="module")
def noise():
    """The inputs, drawn in the order in which they were drawn when the numbers were stored."""
    rng = np.random.default_rng(2015)
    pictures = rng.integers(0, 256, (2, 64, 80, 3), dtype=np.uint8)
    crops = rng.integers(0, 256, (2, 3, 112, 112)).astype(np.float32)
    return pictures, crops, rng.integers(0, 256, (1, 3, 640, 640)).astype(np.float32)


def test_inception_has_the_published_features(weights, stored, noise):
    weights("inception-2015")
    found = create("perceptual", "inception").features_of_pictures(noise[0])
    np.testing.assert_allclose(found[:, ::8], stored["inception/features"], atol=1e-4)


def test_inception_takes_signals_and_pictures_alike(weights, noise):
    from likewise.runtime.registry import to_signals

    weights("inception-2015")
    inception = create("perceptual", "inception", {"batch": 1})
    pictures = noise[0]
    np.testing.assert_allclose(
        inception.features(to_signals(pictures)), inception.features_of_pictures(pictures), atol=1e-5
    )
    assert inception.distance(to_signals(pictures), to_signals(pictures)).max() < 1e-9
    assert inception.features_of_pictures(pictures[:0]).shape == (0, 2048)
    assert inception.vectors(["a", "b"], pictures).source == "inception-2015, pooled features"


def test_sface_embeds_as_published_whatever_the_batch(weights, stored, noise):
    opened = session(str(weights("sface")))
    name = opened.get_inputs()[0].name
    together = opened.run(None, {name: noise[1]})[0]
    np.testing.assert_allclose(together, stored["sface/embedding"], atol=1e-4)
    np.testing.assert_allclose(opened.run(None, {name: noise[1][:1]})[0], together[:1], atol=1e-4)


def test_yunet_answers_as_published_at_any_size(weights, stored, noise):
    opened = session(str(weights("yunet")))
    name = opened.get_inputs()[0].name
    for output in opened.get_outputs():
        answer = opened.run([output.name], {name: noise[2]})[0]
        np.testing.assert_allclose(answer[0, ::97], stored[f"yunet/{output.name}"], atol=1e-4)
        small = opened.run([output.name], {name: noise[2][:, :, :320, :256]})[0]
        stride = int(output.name.split("_")[1])
        assert small.shape[1] == (320 // stride) * (256 // stride)


def test_sface_declares_its_family_its_license_and_its_detector(weights):
    for name in ("sface", "yunet"):
        weights(name)
    recognizer = create("recognizer", "sface")
    assert (recognizer.family, recognizer.detector, recognizer.dim) == ("sface", "yunet", 128)
    assert recognizer.license.startswith("Apache-2.0")
    assert np.isnan(recognizer.embed(np.zeros((1, 64, 64, 3), np.uint8))).all()


class FakeSession:
    """Answers like YuNet: one face, in one cell of one stride."""

    def get_inputs(self):
        return [type("Input", (), {"name": "input"})]

    def run(self, names, given):
        _, _, height, width = given["input"].shape
        made = []
        for name in names:
            part, stride = name.split("_")
            cells = (height // int(stride)) * (width // int(stride))
            made.append(np.zeros((1, cells, {"cls": 1, "obj": 1, "bbox": 4, "kps": 10}[part]), np.float32))
            if stride == "16":
                cell = 3 * (width // 16) + 2  # row 3, column 2
                value = {"cls": 0.81, "obj": 1.0, "bbox": [0.5, 0.25, np.log(2), np.log(4)], "kps": np.arange(10) / 8}
                made[-1][0, cell] = value[part]
        return made


def test_yunet_is_decoded_as_opencv_does_it(monkeypatch):
    looking = YuNetDetector.__new__(YuNetDetector)
    looking._session, looking._confidence, looking._sides = FakeSession(), 0.7, (320,)
    (face,) = looking.find(np.zeros((320, 320, 3), np.uint8))
    assert face.score == pytest.approx(0.9)
    assert face.box == pytest.approx((2.5 * 16 - 16, 3.25 * 16 - 32, 2.5 * 16 + 16, 3.25 * 16 + 32))
    expected = (np.arange(10).reshape(5, 2) / 8 + [2, 3]) * 16 - 0.5
    np.testing.assert_allclose(face.points, expected)
    (larger,) = looking.find(np.zeros((640, 640, 3), np.uint8))  # resized to 320, and back
    np.testing.assert_allclose(larger.points + 0.5, 2 * (face.points + 0.5))


def test_yunet_finds_no_face_in_a_blank_image(weights):
    weights("yunet")
    assert detector("yunet").find(np.full((50, 97, 3), 127, np.uint8)) == []
