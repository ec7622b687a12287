"""Read TFLite models (float32, one subgraph) by the published schema's field numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import WeightFileError, WeightsError
from likewise.weights.formats.describe import describe
from likewise.weights.formats.flatbuffers import Table
from likewise.weights.formats.graph import Graph, Step, with_activation

_KINDS = {0: "<f4", 1: "<f2", 2: "<i4", 4: "<i8"}
_PADDING = {0: "SAME", 1: "VALID"}
_ACTIVATIONS = {0: "", 1: "Relu", 3: "Relu6", 4: "Tanh"}


def read_tflite(path: Path) -> Graph:
    """Return the graph of a model."""
    block = path.read_bytes()
    if block[4:8] != b"TFL3":
        raise WeightFileError(f"{path.name} is not a TFLite model: it begins with {block[:8]!r}")
    model = Table.root(block)
    subgraphs = model.tables(2)
    if len(subgraphs) != 1:
        raise WeightFileError(f"{path.name} has {len(subgraphs)} subgraphs, not one")
    return _Reader(model, subgraphs[0]).graph()


class _Reader:
    """Goes through the operators of a subgraph; tensors are named by number."""

    def __init__(self, model: Table, subgraph: Table) -> None:
        self.codes = [max(code.number(0, "b"), code.number(3, "i")) for code in model.tables(1)]
        self.buffers = model.tables(4)
        self.subgraph = subgraph
        self.tensors = subgraph.tables(0)
        self.constants = {f"t{k}": array for k in range(len(self.tensors)) if (array := self._constant(k)) is not None}
        self.steps: list[Step] = []

    def graph(self) -> Graph:
        """Return the whole graph."""
        for operator in self.subgraph.tables(3):
            self._read(operator)
        inputs = {f"t{k}": tuple(map(int, self.tensors[k].array(0, "<i4"))) for k in self.subgraph.array(1, "<i4")}
        outputs = tuple(f"t{k}" for k in self.subgraph.array(2, "<i4"))
        return Graph(inputs, outputs, self.constants, self.steps)

    def _constant(self, number: int) -> npt.NDArray[Any] | None:
        tensor = self.tensors[number]
        place = tensor.number(2, "I")
        raw = self.buffers[place].array(0, "u1") if place < len(self.buffers) else np.empty(0, "u1")
        if not len(raw):
            return None
        kind = tensor.number(1, "b")
        if kind not in _KINDS:
            raise WeightFileError(f"Unsupported type {kind} of a TFLite tensor (quantized?)")
        shape = tuple(map(int, tensor.array(0, "<i4")))
        values = np.frombuffer(raw.tobytes(), _KINDS[kind])
        if values.size != int(np.prod(shape, dtype=np.int64)):
            raise WeightFileError(f"A constant has {values.size:,} numbers for the shape {describe(shape)}")
        return values.reshape(shape)

    def _read(self, operator: Table) -> None:
        code = self.codes[operator.number(0, "I")]
        if code not in _OPERATORS:
            raise WeightsError(f"Unknown TFLite operator {code}", fix=f"Known: {sorted(_OPERATORS)}.")
        inputs = [f"t{k}" for k in operator.array(1, "<i4") if k >= 0]
        (output,) = operator.array(2, "<i4")
        options = operator.table(4) or Table(b"\x04\x00\x04\x00\x04\x00\x00\x00", 4)  # a table without fields
        activation = _OPERATORS[code](self, f"t{output}", inputs, options)
        if activation not in _ACTIVATIONS:
            raise WeightFileError(f"Unknown activation {activation} of a TFLite operator")
        if activation:
            with_activation(self.steps, _ACTIVATIONS[activation])

    def kernel(self, name: str, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> str:
        """Name a kernel in TensorFlow's layout."""
        if name not in self.constants:
            raise WeightFileError(f"The kernel {name!r} is computed, not a constant")
        self.constants.setdefault(f"{name}/kernel", change(self.constants[name]))
        return f"{name}/kernel"


def _biased(reader: _Reader, step: Step, biases: list[str]) -> None:
    """Add a step whose result gets a bias, if there is one."""
    if not biases:
        reader.steps.append(step)
        return
    reader.steps.append(Step(step.op, f"{step.name}/product", step.inputs, step.options))
    reader.steps.append(Step("BiasAdd", step.name, (f"{step.name}/product", biases[0])))


def _convolution(reader: _Reader, name: str, inputs: list[str], given: Table) -> int:
    kernel = reader.kernel(inputs[1], lambda k: k.transpose(1, 2, 3, 0))  # [out, H, W, in]
    options = {**_windowed(given), "dilations": (given.number(5, "i", 1), given.number(4, "i", 1))}
    _biased(reader, Step("Conv2D", name, (inputs[0], kernel), options), inputs[2:])
    return int(given.number(3, "b"))


def _depthwise(reader: _Reader, name: str, inputs: list[str], given: Table) -> int:
    times = max(1, given.number(3, "i"))
    kernel = reader.kernel(inputs[1], lambda k: k.reshape(*k.shape[1:3], -1, times))  # [1, H, W, in x multiplier]
    options = {**_windowed(given), "dilations": (given.number(6, "i", 1), given.number(5, "i", 1))}
    _biased(reader, Step("DepthwiseConv2dNative", name, (inputs[0], kernel), options), inputs[2:])
    return int(given.number(4, "b"))


def _upward(reader: _Reader, name: str, inputs: list[str], given: Table) -> int:
    kernel = reader.kernel(inputs[1], lambda k: k.transpose(1, 2, 3, 0))  # [out, H, W, in]; input 0 is the shape
    _biased(reader, Step("Conv2DTranspose", name, (inputs[2], kernel), _windowed(given)), inputs[3:])
    return int(given.number(3, "b"))


def _windowed(given: Table) -> dict[str, Any]:
    return {"padding": _PADDING[given.number(0, "b")], "strides": (given.number(2, "i"), given.number(1, "i"))}


def _plain(op: str) -> Callable[[_Reader, str, list[str], Table], int]:
    def read(reader: _Reader, name: str, inputs: list[str], given: Table) -> int:
        reader.steps.append(Step(op, name, tuple(inputs)))
        return int(given.number(0, "b")) if op in ("Add", "Mul", "Sub") else 0

    return read


def _reduction(op: str) -> Callable[[_Reader, str, list[str], Table], int]:
    def read(reader: _Reader, name: str, inputs: list[str], given: Table) -> int:
        reader.steps.append(Step(op, name, tuple(inputs), {"keep_dims": bool(given.number(0, "b"))}))
        return 0

    return read


def _resizing(op: str, align: int, half: int) -> Callable[[_Reader, str, list[str], Table], int]:
    def read(reader: _Reader, name: str, inputs: list[str], given: Table) -> int:
        options = {"align_corners": given.number(align, "b"), "half_pixel_centers": given.number(half, "b")}
        reader.steps.append(Step(op, name, tuple(inputs), options))
        return 0

    return read


_OPERATORS: dict[int, Callable[[_Reader, str, list[str], Table], int]] = {
    0: _plain("Add"), 3: _convolution, 4: _depthwise, 14: _plain("Sigmoid"), 18: _plain("Mul"), 19: _plain("Relu"),
    21: _plain("Relu6"), 22: _plain("Reshape"), 23: _resizing("ResizeBilinear", 2, 3), 25: _plain("Softmax"),
    39: _plain("Transpose"), 40: _reduction("Mean"), 41: _plain("Sub"), 67: _upward, 74: _reduction("Sum"),
    97: _resizing("ResizeNearestNeighbor", 0, 1),
}  # fmt: skip
