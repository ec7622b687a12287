"""The torch networks as ONNX graphs: onnxruntime computes them about twice as fast on a CPU.

It joins each convolution with what follows and keeps the channels in blocks; torch does neither without a compiler.
Gradients still go through torch. The graph takes crops ``[n, size, size, 3]`` of 0 to 255 as they are cut, so scaling
happens in it, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import nn

from likewise import __version__
from likewise.models.preprocessing import Preprocessing
from likewise.models.recognizers.mobilefacenet import MobileFaceNet, Residual
from likewise.models.recognizers.openface import Inception, OpenFace, Pair
from likewise.runtime.optional import require

_OPSET, _IR = 18, 9


def as_onnx(network: nn.Module, preprocessing: Preprocessing) -> bytes:
    """Return the network with its preprocessing's scaling as an ONNX model: ``crops`` to ``embedding``."""
    writer = _Writer()
    x = writer.scaled("crops", preprocessing)
    embedding = _WRITERS[type(network)](writer, network, x)
    return writer.model(embedding, preprocessing.size)


class _Writer:
    """Collects nodes and constants; each method adds a step and returns the name of its result."""

    def __init__(self) -> None:
        self.onnx = require("onnx", "onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def step(self, kind: str, inputs: Sequence[str], **options: Any) -> str:
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **options))
        return name

    def keep(self, array: npt.ArrayLike) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.array(array, order="C"), name))
        return name

    def scaled(self, crops: str, preprocessing: Preprocessing) -> str:
        """Take off the mean, divide by the scale, order the colors, and put the channels first."""
        if preprocessing.color == "BGR":
            crops = self.step("Gather", [crops, self.keep(np.array([2, 1, 0]))], axis=3)
        centered = self.step("Sub", [crops, self.keep(np.array(preprocessing.mean, np.float32))])
        scaled = self.step("Div", [centered, self.keep(np.array(preprocessing.scale, np.float32))])
        return self.step("Transpose", [scaled], perm=(0, 3, 1, 2))

    def conv(self, x: str, module: nn.Conv2d, most: float | None = None, *, bend: bool = True) -> str:
        """Convolve; then cut at 0, and at ``most`` if it is given."""
        assert module.bias is not None and not isinstance(module.padding, str)
        pads, weights = (*module.padding, *module.padding), [module.weight.numpy(), module.bias.numpy()]
        y = self.step(
            "Conv", [x, *map(self.keep, weights)], group=module.groups, strides=module.stride, pads=pads
        )  # fmt: skip
        if not bend:
            return y
        if most is None:
            return self.step("Relu", [y])
        return self.step("Clip", [y, self.keep(np.float32(0)), self.keep(np.float32(most))])

    def pool(self, kind: str, x: str, kernel: int, stride: int, pad: int = 0, **options: Any) -> str:
        return self.step(kind, [x], kernel_shape=(kernel,) * 2, strides=(stride,) * 2, pads=(pad,) * 4, **options)

    def model(self, output: str, size: int) -> bytes:
        make, single = self.onnx.helper, self.onnx.TensorProto.FLOAT
        self.nodes.append(make.make_node("Identity", [output], ["embedding"]))
        crops = make.make_tensor_value_info("crops", single, ["n", size, size, 3])
        embedding = make.make_tensor_value_info("embedding", single, ["n", 128])
        graph = make.make_graph(self.nodes, "recognizer", [crops], [embedding], self.constants)
        opset = [make.make_opsetid("", _OPSET)]
        made = make.make_model(
            graph, opset_imports=opset, ir_version=_IR, producer_name="likewise", producer_version=__version__
        )
        return bytes(made.SerializeToString())


def _mobilefacenet(to: _Writer, net: MobileFaceNet, x: str) -> str:
    x = to.conv(to.conv(to.conv(x, net.stem, 6), net.depth), net.point)
    for block in net.blocks:
        assert isinstance(block, Residual)
        y = to.conv(to.conv(to.conv(x, block.expand, 6), block.depth, 6), block.project, bend=False)
        x = to.step("Add", [x, y]) if block.adds else y
    x = to.conv(to.conv(x, net.wide, 6), net.pool, bend=False)
    return to.step("Flatten", [to.conv(x, net.out, bend=False)])


def _openface(to: _Writer, net: OpenFace, x: str) -> str:
    x = _across(to, to.pool("MaxPool", to.conv(x, net.first), 3, 2, 1), 64)
    x = to.conv(to.conv(x, net.second), net.third)
    x, side = to.pool("MaxPool", _across(to, x, 192), 3, 2, 1), 12
    for block in net.blocks:
        assert isinstance(block, Inception)
        x, side = _inception(to, block, x, side)
    flat = to.step("Flatten", [to.pool("AveragePool", x, 3, 3)])
    return to.step("Gemm", [flat, to.keep(net.out.weight.numpy()), to.keep(net.out.bias.numpy())], transB=1)


def _inception(to: _Writer, block: Inception, x: str, side: int) -> tuple[str, int]:
    """Write the branches; return their result and its side in pixels."""

    def pair(module: Pair) -> str:
        return to.conv(to.conv(x, module.narrow), module.wide)

    after = side // block.stride
    parts = [pair(module) for module in (block.three, block.five) if module is not None]
    small, inner = _pooled(to, block, x, side)
    before = (after - inner) // 2
    pads = np.array([0, 0, before, before, 0, 0, after - inner - before, after - inner - before])
    parts.append(to.step("Pad", [small, to.keep(pads)]))
    if block.one is not None:
        parts.append(to.conv(x, block.one))
    return to.step("Concat", parts, axis=1), after


def _pooled(to: _Writer, block: Inception, x: str, side: int) -> tuple[str, int]:
    """Pool by the largest, or by the root of summed squares; return the result and its side."""
    if block.kind == "max":
        small, inner = to.pool("MaxPool", x, 3, 2), (side - 3) // 2 + 1
    else:  # the mean of squares is what the runtime knows in blocks of channels
        squares = to.pool("AveragePool", to.step("Mul", [x, x]), 3, 3)
        small, inner = to.step("Sqrt", [to.step("Mul", [squares, to.keep(np.float32(9))])]), (side - 3) // 3 + 1
    return (small if block.pool is None else to.conv(small, block.pool)), inner


def _across(to: _Writer, x: str, channels: int) -> str:
    """Divide by (1 + 1e-4 times the mean square of five neighboring channels) to the power of 3/4.

    The sum over neighbors is a convolution of one pixel, the power two roots: the runtime's own step takes a
    logarithm of every number instead.
    """
    near = np.abs(np.subtract.outer(np.arange(channels), np.arange(channels))) <= 2
    kernel = to.keep((near * (1e-4 / 5)).astype(np.float32)[:, :, None, None])
    sums = to.step("Conv", [to.step("Mul", [x, x]), kernel, to.keep(np.ones(channels, np.float32))])
    power = to.step("Sqrt", [to.step("Mul", [sums, to.step("Sqrt", [sums])])])
    return to.step("Div", [x, power])


_WRITERS: dict[type[nn.Module], Any] = {MobileFaceNet: _mobilefacenet, OpenFace: _openface}
