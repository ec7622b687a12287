"""Write steps of an ONNX graph that the runtime is slow at as steps that it is fast at. The numbers stay the same.

The runtime keeps pictures in blocks of channels between convolutions, and leaves that order for a step that it does not
know there. Two such steps follow nearly every convolution of common networks of faces:

- ``PRelu`` with a slope a channel is relu(x) - slope * relu(-x): a convolution of one pixel a channel does the product,
  in the blocks' own order.
- ``Relu``, ``Max`` and ``Min`` that together cut at 0 and 6 are one ``Clip``, which becomes part of the convolution.

``benchmarks/networks.py embedding`` measures what it gains.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from likewise.runtime.optional import require

_MOST = 1 << 30  # a larger model is opened as it is: it would lie in memory twice


def faster(path: Path) -> bytes | None:
    """Return the model with such steps rewritten; None when there is nothing to gain."""
    onnx = require("onnx", "onnx")
    if path.stat().st_size > _MOST:
        return None
    try:
        model = onnx.load_model(path, load_external_data=False)
    except Exception:  # not a model: the runtime says so in better words
        return None
    if _outside(onnx, model) or not _Rewriting(onnx, model).changed():
        return None
    return bytes(model.SerializeToString())


def _outside(onnx: Any, model: Any) -> bool:
    """Say whether numbers lie in other files, which only the runtime finds."""
    return any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in model.graph.initializer)


class _Rewriting:
    """Goes through a graph once."""

    def __init__(self, onnx: Any, model: Any) -> None:
        self.onnx, self.graph = onnx, model.graph
        self.opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=0)
        self.constants = {tensor.name: tensor for tensor in self.graph.initializer}
        self.readers: dict[str, list[Any]] = {}
        for node in self.graph.node:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)
        self.outputs = {value.name for value in self.graph.output}
        self.gone: set[str] = set()
        """Results that no step makes any more."""

    def changed(self) -> bool:
        """Rewrite what can be, and say whether anything was."""
        before = list(self.graph.node)
        after = [new for node in before if node.output[0] not in self.gone for new in self._replaced(node)]
        if all(old is new for old, new in zip(before, after, strict=False)):
            return False
        del self.graph.node[:]
        self.graph.node.extend(after)
        return True

    def _replaced(self, node: Any) -> list[Any]:
        if node.op_type == "PRelu":
            return self._slopes(node)
        return self._cut(node) if node.op_type == "Relu" else [node]

    def _slopes(self, node: Any) -> list[Any]:
        """Return a PRelu as Relus and products, where it has a slope for each channel of a picture."""
        slopes = self._numbers(node.input[1])
        if slopes is None or slopes.ndim < 3 or slopes.shape[-2:] != (1, 1) or slopes.size != slopes.shape[-3]:
            return [node]
        (x, _), (y,) = node.input, node.output
        kernels = slopes.reshape(-1, 1, 1, 1)
        minus, weights = self._keep(-np.ones_like(kernels), f"{y}/minus"), self._keep(-kernels, f"{y}/slopes")
        make, group = self.onnx.helper.make_node, len(kernels)
        return [
            make("Relu", [x], [f"{y}/above"]),
            make("Conv", [x, minus], [f"{y}/turned"], group=group),
            make("Relu", [f"{y}/turned"], [f"{y}/below"]),
            make("Conv", [f"{y}/below", weights], [f"{y}/weighed"], group=group),
            make("Add", [f"{y}/above", f"{y}/weighed"], [y]),
        ]

    def _cut(self, relu: Any) -> list[Any]:
        """Return a Relu and the Max and Min behind it as one Clip from 0."""
        first = self._only_reader(relu)
        second = self._only_reader(first)
        if second is None or {first.op_type, second.op_type} != {"Max", "Min"} or self.opset < 11:
            return [relu]
        bounds = {node.op_type: self._bound(node) for node in (first, second)}
        low, high = bounds["Max"], bounds["Min"]
        if low is None or high is None or low > 0 or high < 0:
            return [relu]
        (y,) = second.output
        self.gone |= {first.output[0], y}
        ends = [self._keep(np.array(end, np.float32), f"{y}/{name}") for name, end in (("low", 0), ("high", high))]
        return [self.onnx.helper.make_node("Clip", [relu.input[0], *ends], [y])]

    def _only_reader(self, node: Any) -> Any:
        """Return the one step that reads a step's result, when no other step does."""
        if node is None or node.output[0] in self.outputs:
            return None
        readers = self.readers.get(node.output[0], [])
        return readers[0] if len(readers) == 1 else None

    def _bound(self, node: Any) -> float | None:
        """Return the one number that a Max or Min compares with."""
        numbers = [self._numbers(name) for name in node.input]
        known = [found for found in numbers if found is not None and found.size == 1]
        return float(known[0].ravel()[0]) if len(numbers) == 2 and len(known) == 1 else None

    def _numbers(self, name: str) -> Any:
        return self.onnx.numpy_helper.to_array(self.constants[name]) if name in self.constants else None

    def _keep(self, array: Any, name: str) -> str:
        self.graph.initializer.append(self.onnx.numpy_helper.from_array(array.astype(np.float32), name))
        return name
