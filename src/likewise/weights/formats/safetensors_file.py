"""safetensors: a header of names, types and offsets, then bytes. The header is checked completely before use."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from likewise.errors import UnsafeFileError, WeightFileError, WeightsError
from likewise.weights.finding import Finding
from likewise.weights.formats.describe import brief_names, describe

_SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
_MOST_HEADER = 100 << 20
_LAST = 1 << 48


def recognize(path: Path) -> Finding | None:
    """Read the header; a file that begins like one but contradicts itself is an error."""
    header = _header(path)
    if header is None:
        return None
    tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
    _check_metadata(path, header.get("__metadata__", {}))
    _check(path, tensors)
    numbers = sum(math.prod(entry["shape"]) for entry in tensors.values())
    kinds = sorted({entry["dtype"] for entry in tensors.values()})
    return Finding(
        role="network",
        summary=f"safetensors, {len(tensors)} tensors, {numbers:,} numbers, {', '.join(kinds)}",
        converter="passthrough",
        form="weights.safetensors",
        details={"tensors": brief_names(tensors, 6)},
    )


def _header(path: Path) -> dict[str, Any] | None:
    with path.open("rb") as handle:
        start = handle.read(9)
        if len(start) < 9 or start[8:] != b"{":
            return None
        (length,) = struct.unpack("<Q", start[:8])
        if length > min(_MOST_HEADER, path.stat().st_size - 8):
            return None
        try:
            header = json.loads(start[8:] + handle.read(length - 1), object_pairs_hook=_once)
        except (ValueError, RecursionError):
            return None
    return header if isinstance(header, dict) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object; readers disagree about which of two equal keys counts, so doubled keys are refused."""
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        doubled = [name for name in made if names.count(name) > 1][:3] if len(names) < 10_000 else ["a name"]
        raise UnsafeFileError(f"The safetensors header has doubled keys: {brief_names(doubled)}")
    return made


def _check_metadata(path: Path, metadata: Any) -> None:
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise WeightFileError(f"The metadata of {path.name} are not texts")


def _check(path: Path, tensors: Mapping[str, Any]) -> None:
    """Check types, sizes and names, and that the bytes of the tensors follow each other to the end of the file."""
    end = 0
    for name, entry in tensors.items():
        _check_entry(path, name, entry)
    for name, entry in sorted(tensors.items(), key=lambda item: item[1]["data_offsets"]):
        first, last = entry["data_offsets"]
        if first != end or last - first != math.prod(entry["shape"]) * _SIZES[entry["dtype"]]:
            raise WeightFileError(f"The bytes of {path.name} have a gap or an overlap at {describe(name)}")
        end = last
    with path.open("rb") as handle:
        data = path.stat().st_size - 8 - struct.unpack("<Q", handle.read(8))[0]
    if not tensors:
        raise WeightFileError(f"{path.name} holds no tensors")
    if end != data:
        raise WeightsError(
            f"{path.name} has {data:,} bytes of data, not {end:,}", fix="It is truncated; copy it again."
        )


def _check_entry(path: Path, name: str, entry: Any) -> None:
    where = f"Tensor {describe(name)} of {path.name}"
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in name):
        raise UnsafeFileError(f"{where} has control characters in its name")
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise WeightFileError(f"{where} lacks dtype, shape or data_offsets, or has other keys")
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in _SIZES:
        raise WeightFileError(f"{where} has the unknown type {describe(entry['dtype'])}")
    if not _sizes(entry["shape"]) or len(entry["shape"]) > 32:
        raise UnsafeFileError(f"{where} has a shape that is not a list of natural numbers")
    if not _sizes(entry["data_offsets"]) or len(entry["data_offsets"]) != 2:
        raise UnsafeFileError(f"{where} has offsets that are not two natural numbers")


def _sizes(value: Any) -> bool:
    """Whether a value is a list of natural numbers; JSON's true and 1.0 are none, though Python counts with them."""
    return isinstance(value, list) and all(type(size) is int and 0 <= size < _LAST for size in value)
