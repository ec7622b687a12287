"""GEAR and FaceNet lie in large archives: their converters are held to small files of the same structure."""

from __future__ import annotations

import base64
import json

import numpy as np
import onnxruntime
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from likewise.errors import WeightsError
from likewise.weights.convert.tensorflow import convert_facenet, convert_gear

RNG = np.random.default_rng(11)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def answers(path, x):
    opened = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in opened.get_outputs()]
    return dict(zip(names, opened.run(None, {opened.get_inputs()[0].name: x}), strict=True))


# FaceNet: a frozen graph, one protocol buffer


def varint(number):
    made = b""
    while number > 127:
        made, number = made + bytes([number & 127 | 128]), number >> 7
    return made + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def option(value):
    if isinstance(value, bool):
        return field(5, int(value))
    if isinstance(value, str):
        return field(2, value)
    if isinstance(value, list):
        return field(1, field(3, b"".join(map(varint, value))))
    sizes = b"".join(field(2, field(1, size)) for size in value.shape)
    kind = 1 if value.dtype == np.float32 else 3
    return field(8, field(1, kind) + field(2, sizes) + field(4, value.tobytes()))


def node(op, name, *inputs, **options):
    made = field(1, name) + field(2, op) + b"".join(field(3, given) for given in inputs)
    return field(1, made + b"".join(field(5, field(1, key) + field(2, option(v))) for key, v in options.items()))


def facenet(path, kernel, bias, matrix, *, last="embeddings"):
    """A convolution, a pool, a branch, a matrix, and a length of one: the kinds of steps of the real one."""
    ones, two = [1, 1, 1, 1], [1, 2, 2, 1]
    path.write_bytes(
        node("Placeholder", "input")
        + b"".join(
            node("Const", name, value=value)
            for name, value in {
                "kernel": kernel, "bias": bias, "matrix": matrix, "axis": np.array(3, np.int32),
                "flat": np.array([-1, len(matrix)], np.int32), "across": np.array([1], np.int32),
                "least": np.array(1e-10, np.float32),
            }.items()
        )
        + node("Conv2D", "conv", "input", "kernel", strides=[1, 2, 2, 1], padding="SAME", dilations=ones)
        + node("BiasAdd", "biased", "conv", "bias")
        + node("Relu", "bent", "biased")
        + node("MaxPool", "pooled", "bent", ksize=two, strides=two, padding="VALID")
        + node("ConcatV2", "both", "pooled", "pooled", "axis")
        + node("Reshape", "row", "both", "flat")
        + node("MatMul", "raw", "row", "matrix", transpose_a=False, transpose_b=False)
        + node("Square", "squared", "raw")
        + node("Sum", "power", "squared", "across", keep_dims=True)
        + node("Maximum", "some", "power", "least")
        + node("Rsqrt", "length", "some")
        + node("Mul", last, "raw", "length")
    )  # fmt: skip


def test_a_small_facenet_is_converted_with_its_whitening(tmp_path):
    kernel, bias, matrix = normal(3, 3, 3, 4), normal(4), normal(40 * 40 * 8, 6) / 100
    facenet(tmp_path / "graph_final.pb", kernel, bias, matrix)
    convert_facenet({"face_lib/graph_final.pb": tmp_path / "graph_final.pb"}, tmp_path / "m.onnx")
    x = RNG.random((2, 160, 160, 3), dtype=np.float32) * 255
    white = np.stack([(one - one.mean()) / one.std() for one in x])
    padded = F.pad(torch.from_numpy(np.moveaxis(white, -1, 1)), (0, 1, 0, 1))  # SAME, as TensorFlow does it
    maps = F.conv2d(padded, torch.from_numpy(kernel.transpose(3, 2, 0, 1)), torch.from_numpy(bias), stride=2)
    pooled = F.max_pool2d(maps.relu(), 2).numpy().transpose(0, 2, 3, 1)
    raw = np.concatenate([pooled, pooled], axis=-1).reshape(2, -1) @ matrix
    expected = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    np.testing.assert_allclose(answers(tmp_path / "m.onnx", x)["embedding"], expected, atol=2e-5)


def test_a_graph_that_is_no_facenet_is_refused(tmp_path):
    facenet(tmp_path / "g.pb", normal(3, 3, 3, 4), normal(4), normal(12800, 6), last="logits")
    with pytest.raises(WeightsError, match="'embeddings'"):
        convert_facenet({"g.pb": tmp_path / "g.pb"}, tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()


# GEAR: a TensorFlow.js graph with three heads


def text(word):
    return {"s": base64.b64encode(word.encode()).decode()}


def numbers(*values):
    return {"list": {"i": [str(value) for value in values]}}


def gear(folder, constants, *, heads=("Identity", "Identity_1", "Identity_2")):
    shape = {"shape": {"shape": {"dim": [{"size": str(size)} for size in (-1, 198, 198, 3)]}}}
    fused = {"fused_ops": {"list": {"s": [text("BiasAdd")["s"], text("Relu")["s"]]}}}
    step = {"strides": numbers(1, 9, 9, 1), "padding": text("VALID"), "dilations": numbers(1, 1, 1, 1)}
    pool = {"ksize": numbers(1, 2, 2, 1), "strides": numbers(1, 2, 2, 1), "padding": text("VALID")}
    nodes = [
        {"name": "input", "op": "Placeholder", "attr": shape},
        *({"name": name, "op": "Const"} for name in constants),
        {"name": "conv", "op": "_FusedConv2D", "input": ["input", "kernel", "bias"], "attr": {**step, **fused}},
        {"name": "pooled", "op": "MaxPool", "input": ["conv"], "attr": pool},
        {"name": "scaled", "op": "Mul", "input": ["pooled", "scale"]},
        {"name": "shifted", "op": "AddV2", "input": ["scaled", "shift"]},
        {"name": "most", "op": "Max", "input": ["shifted", "axes"], "attr": {"keep_dims": {"b": False}}},
    ]
    for number, head in enumerate(heads):
        nodes += [
            {"name": f"raw{number}", "op": "MatMul", "input": ["most", f"head{number}"], "attr": {}},
            {"name": f"chance{number}", "op": "Softmax", "input": [f"raw{number}"]},
            {"name": head, "op": "Identity", "input": [f"chance{number}"]},
        ]
    manifest = [
        {"name": name, "shape": list(value.shape), "dtype": "float32" if value.dtype == np.float32 else "int32"}
        for name, value in constants.items()
    ]
    plain = {"modelTopology": {"node": nodes}, "weightsManifest": [{"weights": manifest}]}
    (folder / "gear.json").write_text(json.dumps(plain))
    (folder / "gear.bin").write_bytes(b"".join(value.tobytes() for value in constants.values()))
    return {f"package/models/{name}": folder / name for name in ("gear.json", "gear.bin")}


@pytest.fixture
def constants():
    heads = {f"head{number}": normal(5, width) for number, width in enumerate((7, 2, 5))}
    fixed = {"kernel": normal(3, 3, 3, 5), "bias": normal(5), "scale": normal(5), "shift": normal(5)}
    return {**fixed, "axes": np.array([1, 2], np.int32), **heads}


def test_a_small_gear_is_converted_with_its_three_heads(tmp_path, constants):
    convert_gear(gear(tmp_path, constants), tmp_path / "m.onnx")
    x = RNG.random((3, 198, 198, 3), dtype=np.float32)
    maps = F.conv2d(
        torch.from_numpy(np.moveaxis(x, -1, 1)),
        torch.from_numpy(constants["kernel"].transpose(3, 2, 0, 1)),
        torch.from_numpy(constants["bias"]),
        stride=9,
    )
    pooled = F.max_pool2d(maps.relu(), 2).numpy().transpose(0, 2, 3, 1)
    most = (pooled * constants["scale"] + constants["shift"]).max(axis=(1, 2))
    got = answers(tmp_path / "m.onnx", x)
    for number, name in enumerate(("age", "gender", "race")):
        expected = torch.softmax(torch.from_numpy(most @ constants[f"head{number}"]), dim=1).numpy()
        np.testing.assert_allclose(got[name], expected, atol=2e-5)


def test_a_gear_without_one_of_its_heads_is_refused(tmp_path, constants):
    with pytest.raises(WeightsError, match="'Identity_2'"):
        convert_gear(gear(tmp_path, constants, heads=("Identity", "Identity_1", "other")), tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()
