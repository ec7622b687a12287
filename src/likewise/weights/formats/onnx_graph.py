"""Write a foreign Graph as ONNX, so that one runtime runs them all, in batches of any size.

TensorFlow keeps channels last, ONNX first. Each spatial step stands between two transpositions; the runtime cancels
them.
A step that is not in the table here is refused by name: half a network is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from likewise import __version__
from likewise.errors import WeightFileError, WeightsError, some
from likewise.tables.io import replacing
from likewise.weights.formats.describe import describe
from likewise.weights.formats.graph import Graph, Step

_OPSET, _IR = 18, 9  # ReduceMean and Resize take axes as they are needed here since opset 18
_TO_ONNX, _FROM_ONNX = (0, 3, 1, 2), (0, 2, 3, 1)
_PLAIN = {
    "Add": "Add", "AddV2": "Add", "Sub": "Sub", "Mul": "Mul", "RealDiv": "Div", "Maximum": "Max", "Minimum": "Min",
    "BiasAdd": "Add", "Relu": "Relu", "Sigmoid": "Sigmoid", "Tanh": "Tanh", "Identity": "Identity",
}  # fmt: skip
_REDUCE = {"Mean": "ReduceMean", "Sum": "ReduceSum", "Max": "ReduceMax"}


def write_onnx(graph: Graph, target: Path, *, names: tuple[str, ...] = ()) -> None:
    """Write the graph to ``target``; ``names`` gives the outputs names of our own, in their order."""
    model = onnx.shape_inference.infer_shapes(_Writer(graph).model(names or graph.outputs))
    onnx.checker.check_model(model)
    with replacing(target) as temporary:
        temporary.write_bytes(model.SerializeToString())


class _Writer:
    """Collects ONNX nodes and constants while it goes through the steps."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}
        self.first: dict[str, str] = {}
        """For a result that was transposed to channels last: its name with channels first."""

    def model(self, names: tuple[str, ...]) -> onnx.ModelProto:
        """Go through all steps and put the model together."""
        for step in self.graph.ordered():
            self.write(step)
        outputs = []
        for ours, theirs in zip(names, self.graph.outputs, strict=True):
            if ours != theirs:
                self.nodes.append(helper.make_node("Identity", [theirs], [ours]))
            outputs.append(helper.make_tensor_value_info(ours, TensorProto.FLOAT, None))
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", *shape[1:]])
            for name, shape in self.graph.inputs.items()
        ]
        made = helper.make_graph(self.nodes, "converted", inputs, outputs, list(self.initializers.values()))
        opset = [helper.make_opsetid("", _OPSET)]
        return helper.make_model(
            made, opset_imports=opset, ir_version=_IR, producer_name="likewise", producer_version=__version__
        )

    def write(self, step: Step) -> None:
        """Write one step."""
        if step.op in _PLAIN:
            self.node(_PLAIN[step.op], [self.use(name) for name in step.inputs], step.name)
        elif step.op in _REDUCE:
            axes = self.numbers(step.inputs[1], step)
            keep = int(step.options.get("keep_dims", False))
            self.node(
                _REDUCE[step.op], [step.inputs[0], self.keep(axes.ravel().astype(np.int64))], step.name, keepdims=keep
            )
        elif step.op in _STEPS:
            _STEPS[step.op](self, step)
        else:
            known = some(sorted({*_PLAIN, *_REDUCE, *_STEPS}), 40)
            raise WeightsError(
                f"The operation {step.op} of {step.name!r} cannot be written as ONNX", fix=f"Known: {known}."
            )

    def node(self, kind: str, inputs: list[str], output: str, **options: Any) -> str:
        """Add an ONNX node and return the name of its result."""
        self.nodes.append(helper.make_node(kind, inputs, [output], **options))
        return output

    def use(self, name: str) -> str:
        """Name a step's input; a constant is written when it is first used."""
        if name in self.graph.constants and name not in self.initializers:
            array = np.asarray(self.graph.constants[name])
            wide = array.astype(np.float32) if array.dtype.kind == "f" else array.astype(np.int64)
            self.initializers[name] = numpy_helper.from_array(np.ascontiguousarray(wide), name)
        return name

    def keep(self, array: npt.NDArray[Any]) -> str:
        """Write a constant of our own and return its name."""
        name = f"likewise/constant_{len(self.initializers)}"
        self.initializers[name] = numpy_helper.from_array(np.ascontiguousarray(array), name)
        return name

    def numbers(self, name: str, step: Step) -> npt.NDArray[Any]:
        """Return the numbers of a constant input."""
        return self.graph.constant(name, step)

    def channels_first(self, name: str) -> str:
        """Name a picture with its channels first; it is transposed once at most."""
        if name not in self.first:
            self.first[name] = self.node("Transpose", [self.use(name)], f"{name}/channels_first", perm=_TO_ONNX)
        return self.first[name]

    def spatial(self, kind: str, step: Step, inputs: list[str], **options: Any) -> None:
        """Add a node that works with channels first; ``inputs`` are the kernels and biases besides the picture."""
        made = self.node(kind, [self.channels_first(step.inputs[0]), *inputs], f"{step.name}/first", **options)
        self.first[step.name] = made
        self.node("Transpose", [made], step.name, perm=_FROM_ONNX)


def _padding(step: Step) -> dict[str, str]:
    kinds = {"SAME": "SAME_UPPER", "VALID": "VALID"}
    if step.options["padding"] not in kinds:
        raise WeightFileError(
            f"{step.op} {step.name!r} has the padding {describe(step.options['padding'])}, not SAME or VALID"
        )
    return {"auto_pad": kinds[step.options["padding"]]}


def _convolution(writer: _Writer, step: Step) -> None:
    kernel = writer.numbers(step.inputs[1], step)  # [H, W, in, out]
    _check_reach(step, kernel)
    weight = writer.keep(kernel.transpose(3, 2, 0, 1).astype(np.float32))
    writer.spatial(
        "Conv", step, [weight], **_padding(step), strides=step.options["strides"], dilations=_dilations(step)
    )


def _depthwise(writer: _Writer, step: Step) -> None:
    kernel = writer.numbers(step.inputs[1], step)  # [H, W, in, multiplier]
    _check_reach(step, kernel)
    height, width, channels, times = kernel.shape
    weight = writer.keep(kernel.transpose(2, 3, 0, 1).reshape(channels * times, 1, height, width).astype(np.float32))
    options = {"group": channels, "strides": step.options["strides"], "dilations": _dilations(step)}
    writer.spatial("Conv", step, [weight], **_padding(step), **options)


def _check_reach(step: Step, kernel: npt.NDArray[Any]) -> None:
    """Refuse what the runtime computes otherwise than TensorFlow: it cuts where a small kernel leaves pixels out."""
    short = [k for k, s in zip(kernel.shape[:2], step.options["strides"], strict=True) if k < s - 1]
    if short and step.options["padding"] == "SAME":
        raise WeightFileError(f"{step.name!r} has a kernel of {kernel.shape[:2]}, which is too small for its stride")


def _dilations(step: Step) -> tuple[int, int]:
    dilations: tuple[int, int] = step.options.get("dilations", (1, 1))
    return dilations


def _upward_convolution(writer: _Writer, step: Step) -> None:
    kernel = writer.numbers(step.inputs[1], step)  # [H, W, in, out]
    if tuple(kernel.shape[:2]) != tuple(step.options["strides"]):
        raise WeightFileError(f"{step.name!r} has a kernel of {kernel.shape[:2]}, which is not as large as its stride")
    weight = writer.keep(kernel.transpose(2, 3, 0, 1).astype(np.float32))
    writer.spatial("ConvTranspose", step, [weight], strides=step.options["strides"])


def _pool(kind: str) -> Callable[[_Writer, Step], None]:
    def write(writer: _Writer, step: Step) -> None:
        options = {"kernel_shape": step.options["ksize"], "strides": step.options["strides"]}
        writer.spatial(kind, step, [], **_padding(step), **options)

    return write


def _resize(mode: str) -> Callable[[_Writer, Step], None]:
    def write(writer: _Writer, step: Step) -> None:
        first = writer.channels_first(step.inputs[0])
        kept = writer.node("Shape", [first], f"{step.name}/kept", start=0, end=2)
        size = writer.keep(writer.numbers(step.inputs[1], step).ravel().astype(np.int64))
        # All four sizes: the runtime's own optimizer mixes up a resizing that names only its axes.
        sizes = writer.node("Concat", [kept, size], f"{step.name}/sizes", axis=0)
        where = "asymmetric"
        if step.options.get("align_corners"):
            where = "align_corners"
        elif step.options.get("half_pixel_centers"):
            where = "half_pixel"
        rounding = {"nearest_mode": "floor" if where == "asymmetric" else "round_prefer_ceil"}
        options = {"mode": mode, "coordinate_transformation_mode": where, **(rounding if mode == "nearest" else {})}
        writer.spatial("Resize", step, ["", "", sizes], **options)

    return write


def _reshape(writer: _Writer, step: Step) -> None:
    """Reshape any number of pictures, also where the shape was fixed for one: the batch is the outermost axis."""
    shape = writer.numbers(step.inputs[1], step).ravel().astype(np.int64)
    if not (shape < 0).any():
        shape[:1] = -1
    elif shape[0] == 1:
        shape[0] = 0  # in ONNX: as many as before
    writer.node("Reshape", [step.inputs[0], writer.keep(shape)], step.name)


def _matrix(writer: _Writer, step: Step) -> None:
    weight = writer.numbers(step.inputs[1], step).astype(np.float32)
    if step.options.get("transpose_a"):
        raise WeightFileError(f"{step.name!r} multiplies by a transposed batch, which is not supported")
    kernel = writer.keep(weight.T if step.options.get("transpose_b") else weight)
    writer.node("MatMul", [step.inputs[0], kernel], step.name)


def _softmax(writer: _Writer, step: Step) -> None:
    writer.node("Softmax", [step.inputs[0]], step.name, axis=-1)


def _clip(writer: _Writer, step: Step) -> None:
    writer.node(
        "Clip", [step.inputs[0], writer.keep(np.array(0, np.float32)), writer.keep(np.array(6, np.float32))], step.name
    )


def _concatenate(writer: _Writer, step: Step) -> None:
    axis = int(writer.numbers(step.inputs[-1], step).ravel()[0])
    writer.node("Concat", [writer.use(name) for name in step.inputs[:-1]], step.name, axis=axis)


def _transpose(writer: _Writer, step: Step) -> None:
    order = writer.numbers(step.inputs[1], step).ravel().tolist()
    writer.node("Transpose", [step.inputs[0]], step.name, perm=order)


def _pad(writer: _Writer, step: Step) -> None:
    pads = writer.numbers(step.inputs[1], step).astype(np.int64)  # [axes, 2]
    writer.node("Pad", [step.inputs[0], writer.keep(pads.T.ravel())], step.name)


def _prelu(writer: _Writer, step: Step) -> None:
    writer.node("PRelu", [writer.use(name) for name in step.inputs], step.name)


def _square(writer: _Writer, step: Step) -> None:
    writer.node("Mul", [step.inputs[0], step.inputs[0]], step.name)


def _inverse_root(writer: _Writer, step: Step) -> None:
    root = writer.node("Sqrt", [step.inputs[0]], f"{step.name}/root")
    writer.node("Reciprocal", [root], step.name)


def _batch_norm(writer: _Writer, step: Step) -> None:
    """Write a normalization by stored means and variances as one product and one sum over the last axis."""
    scale, offset, mean, variance = (writer.numbers(name, step).astype(np.float64) for name in step.inputs[1:])
    if step.options.get("is_training"):
        raise WeightFileError(f"{step.name!r} normalizes by the statistics of the batch, not by stored ones")
    slope = scale / np.sqrt(variance + step.options["epsilon"])
    product = writer.node("Mul", [step.inputs[0], writer.keep(slope.astype(np.float32))], f"{step.name}/product")
    writer.node("Add", [product, writer.keep((offset - mean * slope).astype(np.float32))], step.name)


_STEPS: dict[str, Callable[[_Writer, Step], None]] = {
    "Conv2D": _convolution, "DepthwiseConv2dNative": _depthwise, "Conv2DTranspose": _upward_convolution,
    "MaxPool": _pool("MaxPool"), "AvgPool": _pool("AveragePool"), "ResizeBilinear": _resize("linear"),
    "ResizeNearestNeighbor": _resize("nearest"), "Reshape": _reshape, "MatMul": _matrix, "Softmax": _softmax,
    "Relu6": _clip, "ConcatV2": _concatenate, "Transpose": _transpose, "Pad": _pad, "Prelu": _prelu, "Square": _square,
    "Rsqrt": _inverse_root, "FusedBatchNorm": _batch_norm,
}  # fmt: skip
