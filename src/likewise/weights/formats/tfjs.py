"""Read TensorFlow.js graph models: a JSON file with the steps and a binary file with the numbers.

The JSON names every constant's type and shape in the order in which they lie in the binary file. Half-precision numbers
are widened. Nothing in either file is executed; what is not understood is refused.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import WeightFileError, WeightsError, some
from likewise.weights.formats.describe import describe
from likewise.weights.formats.graph import Graph, Step, with_activation

_KINDS = {"float32": "<f4", "int32": "<i4", "float16": "<f2", "bool": "?"}
_ACTIVATIONS = {"Relu", "Relu6", "Sigmoid", "Tanh", "Prelu"}


def read_tfjs(topology: Path, numbers: Path, *, outputs: tuple[str, ...]) -> Graph:
    """Return the graph of a model whose binary part is one file."""
    try:
        plain = json.loads(topology.read_text(encoding="utf-8"))
        entries = [entry for group in plain["weightsManifest"] for entry in group["weights"]]
        nodes = plain["modelTopology"]["node"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise WeightFileError(f"{topology.name} is not a TensorFlow.js graph model: {type(error).__name__}") from error
    inputs = {node["name"]: _shape(node) for node in nodes if node["op"] == "Placeholder"}
    steps = [step for node in nodes if node["op"] not in ("Const", "Placeholder") for step in _steps(node)]
    return Graph(inputs, outputs, _constants(entries, numbers.read_bytes()), steps)


def _constants(entries: list[dict[str, Any]], raw: bytes) -> dict[str, npt.NDArray[Any]]:
    found: dict[str, npt.NDArray[Any]] = {}
    start = 0
    for entry in entries:
        stored = entry.get("quantization", {}).get("dtype", entry["dtype"])
        if stored not in _KINDS:
            raise WeightsError(
                f"Unsupported type {describe(stored)} of {describe(entry['name'])}",
                fix=f"Known: {some(sorted(_KINDS))}.",
            )
        count = int(np.prod(entry["shape"], dtype=np.int64))
        kind = np.dtype(_KINDS[stored])
        if start + count * kind.itemsize > len(raw):
            raise WeightFileError(f"The binary file has {len(raw):,} bytes, fewer than the JSON file names")
        values = np.frombuffer(raw, kind, count, start).reshape(entry["shape"])
        found[entry["name"]] = values.astype(_KINDS[entry["dtype"]])
        start += count * kind.itemsize
    if start != len(raw):
        raise WeightFileError(f"The binary file has {len(raw) - start:,} bytes more than the JSON file names")
    return found


def _shape(node: Mapping[str, Any]) -> tuple[int, ...]:
    sizes = node["attr"]["shape"]["shape"]["dim"]
    return tuple(int(size.get("size", -1)) for size in sizes)


def _steps(node: Mapping[str, Any]) -> list[Step]:
    """Return a node's steps: one, or the parts of what was fused."""
    op, name = node["op"], node["name"]
    inputs = tuple(given.removesuffix(":0") for given in node.get("input", []) if not given.startswith("^"))
    options = _options(node.get("attr", {}))
    if not op.startswith("_Fused"):
        return [Step(op, name, inputs, options)]
    plain = {"_FusedConv2D": "Conv2D", "_FusedMatMul": "MatMul"}.get(op)
    fused = options.get("fused_ops", [])
    if plain is None or fused[:1] != ["BiasAdd"] or not set(fused[1:]) <= _ACTIVATIONS:
        raise WeightFileError(f"{describe(name)} fuses {describe(op)} with {describe(fused)}, which is not supported")
    steps = [Step(plain, f"{name}/product", inputs[:2], options), Step("BiasAdd", name, (f"{name}/product", inputs[2]))]
    for activation in fused[1:]:
        with_activation(steps, activation, inputs[3:])  # a Prelu's slopes come after the bias
    return steps


def _options(attributes: Mapping[str, Any]) -> dict[str, Any]:
    options = {key: _value(value) for key, value in attributes.items()}
    for key in ("strides", "dilations", "ksize"):
        if key in options:
            options[key] = tuple(options[key][1:3])  # [n, H, W, C]
    return options


def _value(value: Mapping[str, Any]) -> Any:
    (kind, content) = next(iter(value.items()))
    if kind == "s":
        return base64.b64decode(content).decode()
    if kind == "i":
        return int(content)
    if kind == "list":
        texts = [base64.b64decode(text).decode() for text in content.get("s", [])]
        return texts or [int(number) for number in content.get("i", [])]
    return content
