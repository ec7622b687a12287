"""The torch recognizers as ONNX graphs: two implementations of each network, one answer."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnxruntime
import pytest
import torch

from likewise.models.preprocessing import Preprocessing
from likewise.models.recognizers import torch as module
from likewise.models.recognizers.mobilefacenet import MobileFaceNet
from likewise.models.recognizers.onnx_export import as_onnx
from likewise.models.recognizers.openface import OpenFace
from likewise.runtime.registry import create

INTAKES = {
    MobileFaceNet: Preprocessing(size=112, detector="dlib", mean=(120, 110, 100), scale=(58, 57, 56)),
    OpenFace: Preprocessing(size=96, detector="dlib", mean=(0, 0, 0), scale=(255, 255, 255)),
}


@pytest.fixture
def crops():
    return {
        size: np.random.default_rng(size).integers(0, 256, (3, size, size, 3), dtype=np.uint8) for size in (96, 112)
    }


@pytest.mark.parametrize("color", ["RGB", "BGR"])
@pytest.mark.parametrize("kind", INTAKES)
def test_a_graph_says_what_the_network_says(kind, color, crops):
    torch.manual_seed(1)
    network = kind().eval().requires_grad_(False)
    preprocessing = dataclasses.replace(INTAKES[kind], color=color)
    given = crops[preprocessing.size]
    graph = onnxruntime.InferenceSession(as_onnx(network, preprocessing), providers=["CPUExecutionProvider"])
    (answer,) = graph.run(None, {"crops": given.astype(np.float32)})
    with torch.inference_mode():
        expected = network(torch.from_numpy(preprocessing.prepared(given))).numpy()
    assert np.abs(answer - expected).max() <= 1e-5 * max(1.0, np.abs(expected).max())
    assert np.abs(answer[0] - answer[1]).max() > 1e-6  # it does look at the picture


@pytest.mark.parametrize(("name", "detector"), [("mobilefacenet", "retinaface"), ("openface", "dlib-landmarks-5")])
def test_the_real_weights_give_one_answer_with_and_without_the_runtime(name, detector, weights, crops, monkeypatch):
    weights(name)
    weights(detector)
    recognizer = create("recognizer", name)
    given = crops[recognizer.preprocessing.size]
    fast, plain = recognizer.forward(given), recognizer.forward_in_torch(given)
    assert np.abs(fast - plain).max() <= 2e-5 * np.abs(plain).max()
    module._session.cache_clear()
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    np.testing.assert_array_equal(create("recognizer", name).forward(given), plain)
    module._session.cache_clear()
