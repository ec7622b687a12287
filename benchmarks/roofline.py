"""How near a network comes to what the machine can do: its arithmetic against that of one large product of matrices.

A convolution or a product of matrices with so many multiply-adds cannot take less time than a product of two large
matrices with as many, which is what libraries are tuned for. Both are counted in CPU seconds of one thread, so that
another process's load changes little. Whatever else a network does (cuts, sums, poolings) counts as no arithmetic.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime  # type: ignore[import-untyped]
import torch
from torch import Tensor, nn

from likewise.models.recognizers.torch import NETWORKS
from likewise.weights import where

SIDE, TRIES = 768, 8


def peak() -> float:
    """Return the operations that one thread does in a CPU second: the best product of matrices of either library."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    a, b = torch.rand(SIDE, SIDE), torch.rand(SIDE, SIDE)
    ways: tuple[Callable[[], object], ...] = (partial(torch.mm, a, b), _product(a.numpy(), b.numpy()))
    best = min(_seconds(way) for way in ways for _ in range(TRIES))
    torch.set_num_threads(threads)
    return 2 * SIDE**3 / best


def _product(a: npt.NDArray[np.float32], b: npt.NDArray[np.float32]) -> Callable[[], object]:
    make, single = onnx.helper, onnx.TensorProto.FLOAT
    ends = [make.make_tensor_value_info(name, single, [SIDE, SIDE]) for name in ("a", "y")]
    step, held = make.make_node("MatMul", ["a", "b"], ["y"]), onnx.numpy_helper.from_array(b, "b")
    graph = make.make_graph([step], "product", ends[:1], ends[1:], [held])
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 18)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    opened = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: opened.run(None, {"a": a})


def _seconds(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start


def operations(name: str, size: int) -> float:
    """Return the operations of one crop of a recognizer's network: two for each multiply-add."""
    return 2.0 * (_of_module(NETWORKS[name](), size) if name in NETWORKS else _of_graph(where(name)))


def _of_module(network: nn.Module, size: int) -> int:
    """Count what the convolutions and linear layers of a torch network do with one crop."""
    counted: list[int] = []

    def count(module: nn.Module, _: object, out: Tensor) -> None:
        weight: Tensor = module.weight  # type: ignore[assignment]
        counted.append(out[0].numel() * weight[0].numel())

    for module in network.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            module.register_forward_hook(count)
    with torch.inference_mode():
        network.eval()(torch.zeros(1, 3, size, size))
    return sum(counted)


def _of_graph(path: Path) -> int:
    """Count the same in an ONNX file."""
    model = onnx.shape_inference.infer_shapes(onnx.load_model(path))
    weights = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    shapes = {value.name: _dims(value) for value in (*model.graph.value_info, *model.graph.output)}
    return sum(_of_node(node, weights, shapes) for node in model.graph.node)


def _of_node(node: Any, weights: dict[str, tuple[int, ...]], shapes: dict[str, tuple[int, ...]]) -> int:
    if node.op_type not in {"Conv", "Gemm", "MatMul"} or node.input[1] not in weights:
        return 0
    kernel, out = weights[node.input[1]], int(np.prod(shapes[node.output[0]][1:]))
    if node.op_type == "Conv":
        return out * int(np.prod(kernel[1:]))
    turned = any(entry.name == "transB" and entry.i for entry in node.attribute)
    return out * (kernel[1] if turned else kernel[0])


def _dims(value: Any) -> tuple[int, ...]:
    return tuple(dim.dim_value for dim in value.type.tensor_type.shape.dim)
