"""Rewritten graphs say what the given ones say, and are left alone where the rewriting would not be the same."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from likewise.models.recognizers.onnx import session
from likewise.models.recognizers.onnx_optimize import faster

RNG = np.random.default_rng(3)
SLOPES = RNG.uniform(-1.5, 1.5, (5, 1, 1)).astype(np.float32)


def model(path, nodes, constants, *, opset=18, outputs=("y",)):
    held = [numpy_helper.from_array(np.asarray(array, np.float32), name) for name, array in constants.items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 5, 8, 8])
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    made = helper.make_model(
        helper.make_graph(nodes, "g", [x], ends, held), opset_imports=[helper.make_opsetid("", opset)], ir_version=8
    )
    onnx.save(made, path)
    return path


def kinds(raw):
    return [node.op_type for node in onnx.load_from_string(raw).graph.node]


def answers(given):
    opened = onnxruntime.InferenceSession(given, providers=["CPUExecutionProvider"])
    return opened.run(None, {"x": np.random.default_rng(0).normal(size=(3, 5, 8, 8)).astype(np.float32) * 5})


@pytest.mark.parametrize("shape", [(5, 1, 1), (1, 5, 1, 1)])
def test_a_slope_a_channel_gives_the_same_numbers(tmp_path, shape):
    path = model(tmp_path / "m.onnx", [helper.make_node("PRelu", ["x", "s"], ["y"])], {"s": SLOPES.reshape(shape)})
    made = faster(path)
    assert "PRelu" not in kinds(made)
    np.testing.assert_array_equal(answers(made)[0], answers(str(path))[0])
    np.testing.assert_array_equal(
        session(str(path)).run(None, {"x": np.full((1, 5, 8, 8), -2, np.float32)})[0][0, :, 0, 0], -2 * SLOPES.ravel()
    )


@pytest.mark.parametrize("order", [("Min", "Max"), ("Max", "Min")])
def test_a_cut_at_both_ends_becomes_one_step(tmp_path, order):
    constants = {"Min": [6.0], "Max": 0.0}
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node(order[0], ["a", order[0]], ["b"]),
        helper.make_node(order[1], ["b", order[1]], ["y"]),
    ]
    path = model(tmp_path / "m.onnx", nodes, constants)
    made = faster(path)
    assert kinds(made) == ["Clip"]
    np.testing.assert_array_equal(answers(made)[0], answers(str(path))[0])


def cut(low, high, **options):
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Min", ["a", "high"], ["b"]),
        helper.make_node("Max", ["b", "low"], ["y"]),
    ]
    return nodes, {"low": low, "high": high}, options


LEFT_ALONE = {
    "a slope a pixel": ([helper.make_node("PRelu", ["x", "s"], ["y"])], {"s": np.ones((5, 8, 8))}, {}),
    "one slope": ([helper.make_node("PRelu", ["x", "s"], ["y"])], {"s": np.ones((1,))}, {}),
    "a slope a column": ([helper.make_node("PRelu", ["x", "s"], ["y"])], {"s": np.ones((1, 1, 8))}, {}),
    "a cut above zero": cut(1.0, 6.0),
    "a cut below zero": cut(0.0, -1.0),
    "bounds that differ": cut(np.zeros((5, 1, 1)), 6.0),
    "an old opset": cut(0.0, 6.0, opset=10),
    "a result that is asked for": cut(0.0, 6.0, outputs=("y", "a")),
    "nothing of the kind": ([helper.make_node("Relu", ["x"], ["y"])], {}, {}),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_would_not_be_the_same_is_left_alone(tmp_path, name):
    nodes, constants, options = LEFT_ALONE[name]
    assert faster(model(tmp_path / "m.onnx", nodes, constants, **options)) is None


def test_a_file_that_is_no_model_and_numbers_in_other_files_are_left_to_the_runtime(tmp_path):
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    assert faster(tmp_path / "bad.onnx") is None
    path = model(tmp_path / "m.onnx", [helper.make_node("PRelu", ["x", "s"], ["y"])], {"s": SLOPES})
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="beside.bin", size_threshold=0)
    assert faster(path) is None
    assert len(answers(str(path))[0]) == 3
