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

from likewise.errors import WeightsError
from likewise.weights.convert.graph import Graph, Step, with_activation
from likewise.weights.convert.onnx_graph import write_onnx

_KINDS = {"float32": "<f4", "int32": "<i4", "float16": "<f2", "bool": "?"}
_ACTIVATIONS = {"Relu", "Relu6", "Sigmoid", "Tanh", "Prelu"}


def read_tfjs(topology: Path, numbers: Path, *, outputs: tuple[str, ...]) -> Graph:
    """Return the graph of a model whose binary part is one file."""
    try:
        plain = json.loads(topology.read_text(encoding="utf-8"))
        entries = [entry for group in plain["weightsManifest"] for entry in group["weights"]]
        nodes = plain["modelTopology"]["node"]
    except (ValueError, KeyError, TypeError) as error:
        raise WeightsError(f"{topology.name} is a TensorFlow.js graph model", got=f"{type(error).__name__}") from error
    inputs = {node["name"]: _shape(node) for node in nodes if node["op"] == "Placeholder"}
    steps = [step for node in nodes if node["op"] not in ("Const", "Placeholder") for step in _steps(node)]
    return Graph(inputs, outputs, _constants(entries, numbers.read_bytes()), steps)


def convert_faceres(members: Mapping[str, Path], target: Path) -> None:
    """FaceRes: the embedding, the probability of male, and 100 bins of age."""
    _convert(
        members, target, {"embedding": "global_pooling/Mean", "male": "gender_pred/Sigmoid", "age": "age_pred/Softmax"}
    )


def convert_gear(members: Mapping[str, Path], target: Path) -> None:
    """GEAR: seven bins of age, two of gender, five of race."""
    _convert(members, target, {"age": "Identity", "gender": "Identity_1", "race": "Identity_2"})


def convert_emotion(members: Mapping[str, Path], target: Path) -> None:
    """Seven emotions."""
    _convert(members, target, {"emotion": "Identity"})


def convert_mesh(members: Mapping[str, Path], target: Path) -> None:
    """The face mesh: 468 points in three dimensions, and whether there is a face at all."""
    _convert(members, target, {"mesh": "Identity_2", "face": "Identity_1"})


def _convert(members: Mapping[str, Path], target: Path, outputs: Mapping[str, str]) -> None:
    topology, numbers = (next(p for name, p in members.items() if name.endswith(end)) for end in (".json", ".bin"))
    write_onnx(read_tfjs(topology, numbers, outputs=tuple(outputs.values())), target, names=tuple(outputs))


def _constants(entries: list[dict[str, Any]], raw: bytes) -> dict[str, npt.NDArray[Any]]:
    found: dict[str, npt.NDArray[Any]] = {}
    start = 0
    for entry in entries:
        stored = entry.get("quantization", {}).get("dtype", entry["dtype"])
        if stored not in _KINDS:
            raise WeightsError(f"numbers are of type {sorted(_KINDS)}", got=f"{stored!r} for {entry['name']!r}")
        count = int(np.prod(entry["shape"], dtype=np.int64))
        kind = np.dtype(_KINDS[stored])
        if start + count * kind.itemsize > len(raw):
            raise WeightsError("the binary file holds every number that the JSON names", got=f"{len(raw):,} bytes")
        values = np.frombuffer(raw, kind, count, start).reshape(entry["shape"])
        found[entry["name"]] = values.astype(_KINDS[entry["dtype"]])
        start += count * kind.itemsize
    if start != len(raw):
        raise WeightsError("the binary file holds nothing else", got=f"{len(raw) - start:,} bytes more")
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
        raise WeightsError(f"{name!r} fuses a bias and an activation", got=f"{op} with {fused}")
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
