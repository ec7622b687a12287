"""Read frozen TensorFlow graphs (``.pb``): steps and constants in one protocol buffer. Nothing in it is executed."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import WeightFileError
from likewise.weights.formats.describe import describe
from likewise.weights.formats.graph import Graph, Step
from likewise.weights.formats.protobuf import block, fields, number, packed, text

_KINDS = {1: "<f4", 3: "<i4", 9: "<i8", 19: "<f2"}
_TYPED = {1: 5, 3: 7, 9: 10}  # where a tensor keeps its numbers when they are not raw bytes


def read_frozen(path: Path, *, outputs: tuple[str, ...], shapes: Mapping[str, tuple[int, ...]]) -> Graph:
    """Return the graph of a frozen model; ``shapes`` are those of its inputs, which the file need not know."""
    constants: dict[str, npt.NDArray[Any]] = {}
    steps: list[Step] = []
    for node in fields(memoryview(path.read_bytes())).get(1, []):
        if isinstance(node, int):
            raise WeightFileError(f"{path.name} is not a frozen TensorFlow graph: it holds messages of another kind")
        message = fields(node)
        op, name = text(message, 2), text(message, 1)
        options = _options(message)
        if op == "Const":
            constants[name] = _tensor(options["value"])
        elif op != "Placeholder":
            steps.append(Step(op, name, _inputs(message), options))
    if not steps:
        raise WeightFileError(f"{path.name} is not a frozen TensorFlow graph: it has no operations")
    return Graph(shapes, outputs, constants, steps)


def _inputs(message: dict[int, list[int | memoryview]]) -> tuple[str, ...]:
    names = [str(name, "utf-8") for name in message.get(3, []) if not isinstance(name, int)]
    return tuple(name.removesuffix(":0") for name in names if not name.startswith("^"))


def _options(message: dict[int, list[int | memoryview]]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for entry in message.get(5, []):
        if not isinstance(entry, int):
            pair = fields(entry)
            options[text(pair, 1)] = _value(fields(block(pair, 2)))
    for key in ("strides", "dilations", "ksize"):
        if key in options:
            options[key] = tuple(options[key][1:3])  # [n, H, W, C]
    if options.get("data_format", "NHWC") != "NHWC":
        raise WeightFileError(
            f"Unsupported data format {describe(options['data_format'])}; channels must come last (NHWC)"
        )
    return options


def _value(message: dict[int, list[int | memoryview]]) -> Any:
    """Return an option: text, a whole number, a float, a truth, a list of whole numbers, or a tensor's message."""
    if 2 in message:
        return text(message, 2)
    if 3 in message:
        return number(message, 3)
    if 4 in message:
        return struct.unpack("<f", block(message, 4))[0]
    if 5 in message:
        return bool(number(message, 5))
    if 8 in message:
        return fields(block(message, 8))
    return _whole_numbers(fields(block(message, 1)).get(3, [])) if 1 in message else None


def _whole_numbers(values: list[int | memoryview]) -> list[int]:
    return [one for value in values for one in ([value] if isinstance(value, int) else packed(value))]


def _tensor(message: dict[int, list[int | memoryview]]) -> npt.NDArray[Any]:
    kind = number(message, 1)
    if kind not in _KINDS:
        raise WeightFileError(f"Unsupported type {kind} of a constant")
    sizes = [number(fields(size), 1) for size in fields(block(message, 2)).get(2, []) if not isinstance(size, int)]
    raw = block(message, 4)
    count = int(np.prod(sizes, dtype=np.int64))
    values = np.frombuffer(raw, _KINDS[kind]) if len(raw) else _typed(message, kind)
    if len(values) == 1:
        values = np.broadcast_to(values, (count,))  # one number stands for all
    if len(values) != count:
        raise WeightFileError(f"A constant has {len(values):,} numbers for the shape {describe(sizes)}")
    return values.reshape(sizes)


def _typed(message: dict[int, list[int | memoryview]], kind: int) -> npt.NDArray[Any]:
    values = message.get(_TYPED.get(kind, 0), [])
    if kind == 1:
        return np.frombuffer(b"".join(bytes(value) for value in values if not isinstance(value, int)), "<f4")
    return np.array(_whole_numbers(values), dtype=_KINDS[kind])
