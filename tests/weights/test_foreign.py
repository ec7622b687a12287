"""Foreign graphs become ONNX: each step against torch or numpy, whole networks against their own runtimes."""

from __future__ import annotations

import base64
import importlib.util
import json
import struct
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from likewise.errors import WeightsError
from likewise.weights.formats.flatbuffers import Table
from likewise.weights.formats.graph import Graph, Step
from likewise.weights.formats.onnx_graph import write_onnx
from likewise.weights.formats.protobuf import fields
from likewise.weights.formats.tf_graphdef import read_frozen
from likewise.weights.formats.tfjs import read_tfjs
from likewise.weights.formats.tflite import read_tflite

RNG = np.random.default_rng(3)
STORED = Path(__file__).parents[1] / "fixtures" / "networks"


def run(path, x):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return dict(
        zip([o.name for o in session.get_outputs()], session.run(None, {session.get_inputs()[0].name: x}), strict=True)
    )


def one_step(tmp_path, op, x, *constants, batch=1, **options):
    """Run one step on ``x``; the graph was made for one picture, whatever comes."""
    names = [f"c{k}" for k in range(len(constants))]
    shape = (batch, *x.shape[1:])
    graph = Graph(
        {"x": shape}, ("y",), dict(zip(names, constants, strict=True)), [Step(op, "y", ("x", *names), options)]
    )
    write_onnx(graph, tmp_path / "step.onnx")
    return run(tmp_path / "step.onnx", x)["y"]


def noise(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def same(size, kernel, stride):
    extra = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return extra // 2, extra - extra // 2


@pytest.mark.parametrize(("size", "kernel", "stride"), [(9, 3, 1), (8, 3, 2), (9, 3, 2), (7, 5, 2), (6, 2, 2)])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_a_convolution_is_torchs(tmp_path, size, kernel, stride, padding):
    x, k = noise(2, size, size, 3), noise(kernel, kernel, 3, 4)
    got = one_step(tmp_path, "Conv2D", x, k, padding=padding, strides=(stride, stride))
    sides = same(size, kernel, stride) * 2 if padding == "SAME" else (0, 0, 0, 0)
    y = F.conv2d(
        F.pad(torch.from_numpy(x).permute(0, 3, 1, 2), sides), torch.from_numpy(k).permute(3, 2, 0, 1), stride=stride
    )
    np.testing.assert_allclose(got, y.permute(0, 2, 3, 1), atol=1e-5)


def test_a_depthwise_convolution_keeps_its_channels_apart(tmp_path):
    x, k = noise(2, 6, 6, 3), noise(3, 3, 3, 2)
    got = one_step(tmp_path, "DepthwiseConv2dNative", x, k, padding="VALID", strides=(1, 1))
    for channel in range(3):
        for times in range(2):
            alone = torch.from_numpy(k[..., channel, times])[None, None]
            y = F.conv2d(torch.from_numpy(x[..., channel])[:, None], alone)[:, 0]
            np.testing.assert_allclose(got[..., channel * 2 + times], y, atol=1e-5)


def test_an_upward_convolution_paints_its_kernel(tmp_path):
    x, k = noise(1, 2, 2, 3), noise(2, 2, 3, 4)
    got = one_step(tmp_path, "Conv2DTranspose", x, k, strides=(2, 2), padding="SAME")
    np.testing.assert_allclose(got[0, 2:4, 0:2], np.einsum("i,hwio->hwo", x[0, 1, 0], k), atol=1e-5)
    with pytest.raises(WeightsError, match="as large as its stride"):
        one_step(tmp_path, "Conv2DTranspose", x, noise(3, 3, 3, 4), strides=(2, 2), padding="SAME")


def test_resizing_follows_the_given_corners(tmp_path):
    x, size = noise(1, 4, 4, 2), np.array([8, 8])
    signal = torch.from_numpy(x).permute(0, 3, 1, 2)
    for option, corners in (("align_corners", True), ("half_pixel_centers", False)):
        got = one_step(tmp_path, "ResizeBilinear", x, size, **{option: True})
        y = F.interpolate(signal, size=(8, 8), mode="bilinear", align_corners=corners).permute(0, 2, 3, 1)
        np.testing.assert_allclose(got, y, atol=1e-5)
    plain = one_step(tmp_path, "ResizeBilinear", x, size)
    np.testing.assert_allclose(plain[:, ::2, ::2], x, atol=1e-6)
    nearest = one_step(tmp_path, "ResizeNearestNeighbor", x, size)
    np.testing.assert_array_equal(nearest, x.repeat(2, axis=1).repeat(2, axis=2))


def test_a_shape_that_was_fixed_for_one_picture_serves_three(tmp_path):
    x = noise(3, 4, 4, 2)
    np.testing.assert_array_equal(one_step(tmp_path, "Reshape", x, np.array([1, 32])), x.reshape(3, 32))
    np.testing.assert_array_equal(one_step(tmp_path, "Reshape", x, np.array([1, -1])), x.reshape(3, 32))
    np.testing.assert_array_equal(one_step(tmp_path, "Reshape", x, np.array([2, 2, 4, 2])), x.reshape(6, 2, 4, 2))


SIMPLE = {
    "Relu6": ([], lambda x: np.clip(x, 0, 6)),
    "Square": ([], np.square),
    "Softmax": ([], lambda x: np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)),
    "Mean": ([np.array([1, 2])], lambda x: x.mean(axis=(1, 2))),
    "Sum": ([np.array(2)], lambda x: x.sum(axis=2)),
    "Max": ([np.array([1, 2])], lambda x: x.max(axis=(1, 2))),
    "Transpose": ([np.array([0, 2, 1, 3])], lambda x: x.transpose(0, 2, 1, 3)),
    "Pad": ([np.array([[0, 0], [1, 2], [0, 0], [0, 3]])], lambda x: np.pad(x, ((0, 0), (1, 2), (0, 0), (0, 3)))),
    "Prelu": ([np.float32([0.5, -1])], lambda x: np.where(x > 0, x, x * np.float32([0.5, -1]))),
    "Minimum": ([np.float32(0.25)], lambda x: np.minimum(x, np.float32(0.25))),
    "BiasAdd": ([np.float32([1, 2])], lambda x: x + np.float32([1, 2])),
    "MatMul": ([np.float32([[1, 2, 3], [4, 5, 6]])], lambda x: x @ np.float32([[1, 2, 3], [4, 5, 6]])),
}  # fmt: skip


@pytest.mark.parametrize("op", SIMPLE)
def test_a_simple_step_is_numpys(tmp_path, op):
    constants, wanted = SIMPLE[op]
    x = 4 * noise(2, 3, 4, 2)
    np.testing.assert_allclose(one_step(tmp_path, op, x, *constants), wanted(x), atol=1e-5)


def test_what_is_not_known_is_refused_by_name(tmp_path):
    with pytest.raises(WeightsError, match="operation LSTM"):
        one_step(tmp_path, "LSTM", noise(1, 2, 2, 1))
    with pytest.raises(WeightsError, match="'z' is an input of a step"):
        Graph({"x": (1, 2)}, ("y",), {}, [Step("Add", "y", ("x", "z"))]).ordered()
    with pytest.raises(WeightsError, match="too small for its stride"):
        one_step(tmp_path, "Conv2D", noise(1, 16, 16, 1), noise(3, 3, 1, 1), strides=(8, 8), padding="SAME")
    circle = [Step("Relu", "a", ("b",)), Step("Relu", "b", ("a",))]
    with pytest.raises(WeightsError, match="a cycle"):
        Graph({"x": (1, 2)}, ("a",), {}, circle).ordered()
    assert not (tmp_path / "step.onnx").exists()


def tfjs_files(tmp_path, numbers=None, kind="float16"):
    text = lambda word: base64.b64encode(word.encode()).decode()  # noqa: E731
    nodes = [
        {"name": "x", "op": "Placeholder", "attr": {"shape": {"shape": {"dim": [{"size": "-1"}, {"size": "2"}]}}}},
        {"name": "k", "op": "Const"},
        {"name": "b", "op": "Const"},
        {
            "name": "y", "op": "_FusedMatMul", "input": ["x", "k", "b"],
            "attr": {"fused_ops": {"list": {"s": [text("BiasAdd"), text("Relu")]}}, "transpose_b": {"b": False}},
        },
    ]  # fmt: skip
    quantized = {"quantization": {"dtype": kind, "original_dtype": "float32"}} if kind else {}
    weights = [
        {"name": "k", "shape": [2, 2], "dtype": "float32", **quantized},
        {"name": "b", "shape": [2], "dtype": "float32"},
    ]
    (tmp_path / "m.json").write_text(
        json.dumps({"modelTopology": {"node": nodes}, "weightsManifest": [{"weights": weights}]})
    )
    raw = np.float16([1, 2, 3, 4]).tobytes() + np.float32([-100, 0.5]).tobytes() if numbers is None else numbers
    (tmp_path / "m.bin").write_bytes(raw)
    return read_tfjs(tmp_path / "m.json", tmp_path / "m.bin", outputs=("y",))


def test_a_tfjs_model_is_read_with_its_fused_parts(tmp_path):
    write_onnx(tfjs_files(tmp_path), tmp_path / "m.onnx", names=("answer",))
    x = np.float32([[1, 1], [0, 2]])
    np.testing.assert_allclose(run(tmp_path / "m.onnx", x)["answer"], [[0, 6.5], [0, 8.5]])


def test_a_tfjs_model_that_is_damaged_is_refused(tmp_path):
    with pytest.raises(WeightsError, match="fewer than the JSON file names"):
        tfjs_files(tmp_path, b"short")
    with pytest.raises(WeightsError, match="more than the JSON file names"):
        tfjs_files(tmp_path, bytes(100))
    with pytest.raises(WeightsError, match="'uint8'"):
        tfjs_files(tmp_path, kind="uint8")
    (tmp_path / "m.json").write_text("[]")
    with pytest.raises(WeightsError, match=r"m\.json is not a TensorFlow\.js graph model"):
        read_tfjs(tmp_path / "m.json", tmp_path / "m.bin", outputs=("y",))


def test_offsets_that_leave_a_flatbuffer_are_refused(tmp_path):
    for block in (b"", struct.pack("<I", 1000), struct.pack("<Ii", 4, -(2**31))):
        with pytest.raises(WeightsError, match="leads out of the file"):
            Table.root(block)
    path = tmp_path / "x.tflite"
    path.write_bytes(b"not a model")
    with pytest.raises(WeightsError, match="is not a TFLite model"):
        read_tflite(path)


def test_a_message_that_ends_too_early_is_refused(tmp_path):
    assert fields(memoryview(b"\x08\x96\x01\x12\x02ab")) == {1: [150], 2: [b"ab"]}
    for block in (b"\x12\x7f", b"\x08\xff", b"\x0b", b"\x08" + b"\xff" * 11):
        with pytest.raises(WeightsError):
            fields(memoryview(block))
    (tmp_path / "g.pb").write_bytes(b"")
    with pytest.raises(WeightsError, match="no operations"):
        read_frozen(tmp_path / "g.pb", outputs=("y",), shapes={})


def _inputs():
    spec = importlib.util.spec_from_file_location("inputs", STORED / "inputs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["faceres", "emotion", "face-mesh", "selfie-multiclass"])
def test_a_network_agrees_with_its_own_runtime(weights, name):
    agrees(weights(name), name)


@pytest.mark.parametrize("name", ["gear", "facenet"])
def test_a_large_download_agrees_where_it_was_fetched_before(name):
    from likewise.weights import where

    try:
        path = where(name)
    except WeightsError:
        pytest.skip(f"{name} lies in a large archive: likewise weights fetch {name}")
    agrees(path, name)


def agrees(path, name):
    with np.load(STORED / "reference.npz") as stored:
        wanted = {key.split("/")[1]: stored[key] for key in stored.files if key.startswith(f"{name}/")}
    got = run(path, _inputs().noise(name))
    for output, values in wanted.items():
        mine = got[output][:, ::16, ::16] if output == "classes" else got[output].reshape(values.shape)
        np.testing.assert_allclose(mine, values, atol=2e-6 * max(1, np.abs(values).max()) + 2e-5)
