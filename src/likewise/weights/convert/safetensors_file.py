"""safetensors: a header of names, types and places, then bytes. It is checked whole before it is taken in."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from likewise.errors import WeightsError, some
from likewise.weights.finding import Finding

_SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
_MOST_HEADER = 100 << 20


def recognise(path: Path) -> Finding | None:
    """Read the header; a file that begins like one but contradicts itself is an error."""
    header = _header(path)
    if header is None:
        return None
    tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
    _check(path, tensors)
    numbers = sum(math.prod(entry["shape"]) for entry in tensors.values())
    kinds = sorted({entry["dtype"] for entry in tensors.values()})
    return Finding(
        role="network",
        summary=f"safetensors, {len(tensors)} tensors, {numbers:,} numbers, {', '.join(kinds)}",
        converter="likewise.weights.convert.copied:convert",
        form="weights.safetensors",
        details={"tensors": some(tensors, 6)},
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
            header = json.loads(start[8:] + handle.read(length - 1))
        except (ValueError, RecursionError):
            return None
    return header if isinstance(header, dict) else None


def _check(path: Path, tensors: Mapping[str, Any]) -> None:
    """Every tensor has a known type, the bytes of its shape, and the bytes lie end to end to the file's last."""
    end = 0
    try:
        for name, entry in sorted(tensors.items(), key=lambda item: item[1]["data_offsets"]):
            first, last = entry["data_offsets"]
            if first != end or last - first != math.prod(entry["shape"]) * _SIZES[entry["dtype"]]:
                raise WeightsError(f"{path.name} holds the bytes of its tensors", got=f"a gap or overlap at {name!r}")
            end = last
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise WeightsError(
            f"{path.name} is a whole safetensors file", got=f"{type(error).__name__}: {error}"
        ) from error
    with path.open("rb") as handle:
        data = path.stat().st_size - 8 - struct.unpack("<Q", handle.read(8))[0]
    if not tensors or end != data:
        got = f"{data:,} bytes for {end:,}" if tensors else "no tensors"
        raise WeightsError(f"{path.name} is a whole safetensors file", got=got, fix="It is cut off; copy it again.")
