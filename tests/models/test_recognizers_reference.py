"""MobileFaceNet, RetinaFace and OpenFace answer as the networks of the packages that published their weights.

The stored numbers are theirs, on noise: tests/data/networks/make_recognizers.py made them and says with what.
``test_as_onnx`` holds the way over onnxruntime to these networks; tests/weights holds FaceRes and FaceNet to their own
runtimes; dlib and faceplugin run as published.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch

from likewise.models.detectors.retinaface import RetinaFace
from likewise.models.recognizers.torch import network
from likewise.models.state import fill, read_state

STORED = Path(__file__).parents[1] / "fixtures" / "networks"


@pytest.fixture(scope="module")
def noise():
    spec = importlib.util.spec_from_file_location("inputs", STORED / "inputs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.noise


@pytest.fixture(scope="module")
def theirs():
    with np.load(STORED / "recognizers.npz") as stored:
        return dict(stored)


@pytest.mark.parametrize("name", ["mobilefacenet", "openface"])
def test_an_embedding_is_the_packages_own(name, weights, noise, theirs):
    net = network(name, str(weights(name)), "cpu")
    with torch.inference_mode():
        ours = net(torch.from_numpy(noise(name))).numpy()
    expected = theirs[f"{name}/embedding"]
    np.testing.assert_allclose(ours, expected, atol=2e-5 * np.abs(expected).max())


def test_retinaface_reads_every_anchor_as_the_package_does(weights, noise, theirs):
    net = RetinaFace()
    fill(net, read_state(weights("retinaface"), "retinaface")[0], "retinaface")
    with torch.inference_mode():
        found = net.eval()(torch.from_numpy(noise("retinaface")))
    for name, ours in zip(("scores", "boxes", "points"), found, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs[f"retinaface/{name}"], atol=1e-4, err_msg=name)
