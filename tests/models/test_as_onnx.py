"""The torch recognisers as ONNX graphs: two implementations of each network, one answer."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnxruntime
import pytest
import torch

from likewise.models.intake import Intake
from likewise.models.mobilefacenet import MobileFaceNet
from likewise.models.openface import OpenFace
from likewise.models.recognisers import torch as module
from likewise.models.recognisers.as_onnx import as_onnx
from likewise.plugins import create

INTAKES = {
    MobileFaceNet: Intake(size=112, finder="dlib", mean=(120, 110, 100), scale=(58, 57, 56)),
    OpenFace: Intake(size=96, finder="dlib", mean=(0, 0, 0), scale=(255, 255, 255)),
}


@pytest.fixture
def crops():
    return {
        size: np.random.default_rng(size).integers(0, 256, (3, size, size, 3), dtype=np.uint8) for size in (96, 112)
    }


@pytest.mark.parametrize("colour", ["RGB", "BGR"])
@pytest.mark.parametrize("kind", INTAKES)
def test_a_graph_says_what_the_network_says(kind, colour, crops):
    torch.manual_seed(1)
    network = kind().eval().requires_grad_(False)
    intake = dataclasses.replace(INTAKES[kind], colour=colour)
    given = crops[intake.size]
    graph = onnxruntime.InferenceSession(as_onnx(network, intake), providers=["CPUExecutionProvider"])
    (answer,) = graph.run(None, {"crops": given.astype(np.float32)})
    with torch.inference_mode():
        expected = network(torch.from_numpy(intake.prepared(given))).numpy()
    assert np.abs(answer - expected).max() <= 1e-5 * max(1.0, np.abs(expected).max())
    assert np.abs(answer[0] - answer[1]).max() > 1e-6  # it does look at the picture


@pytest.mark.parametrize(("name", "finder"), [("mobilefacenet", "retinaface"), ("openface", "dlib-landmarks-5")])
def test_the_real_weights_give_one_answer_with_and_without_the_runtime(name, finder, weights, crops, monkeypatch):
    weights(name)
    weights(finder)
    recogniser = create("recogniser", name)
    given = crops[recogniser.intake.size]
    fast, plain = recogniser.forward(given), recogniser.forward_in_torch(given)
    assert np.abs(fast - plain).max() <= 2e-5 * np.abs(plain).max()
    module._session.cache_clear()
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    np.testing.assert_array_equal(create("recogniser", name).forward(given), plain)
    module._session.cache_clear()
