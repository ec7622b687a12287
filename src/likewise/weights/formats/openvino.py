"""Reads an OpenVINO export (IR version 10) with numpy and an XML parser: the constants, by name and by who uses them.

An export is two files: an XML graph, and a ``.bin`` in which each constant lies at an offset. Nothing of it is run.
Training code's names survive for some constants; the others (folded ones) are only known by the operation they feed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from likewise.errors import WeightFileError, WeightsError
from likewise.weights.formats.describe import describe

Array = npt.NDArray[np.float32]
_TYPES = {"f32": "<f4", "f16": "<f2"}
_MOST_NUMBERS = 2**30


@dataclass(frozen=True)
class Export:
    """The floating-point constants of an export."""

    constants: dict[str, Array]
    feeds: dict[str, tuple[str, ...]]
    """The constants that go straight into an operation, by the operation's name."""

    def feeding(self, operation: str) -> str:
        """Name the one constant that feeds an operation."""
        names = self.feeds.get(operation, ())
        if len(names) != 1:
            raise WeightsError(f"The operation {operation!r} has {len(names)} constant inputs, not one", fix=_OTHER)
        return names[0]


_OTHER = "This is the export of another network, or another version of it."


def read_export(graph: Path, data: Path) -> Export:
    """Read the constants of an export and what they feed."""
    root = _parse(graph)
    blob = data.read_bytes()
    layers = {layer.get("id", ""): layer for layer in root.iterfind("layers/layer")}
    names = {key: layer.get("name", "") for key, layer in layers.items()}
    constants = {names[key]: _constant(layer, blob) for key, layer in layers.items() if _is_float(layer)}
    feeds: dict[str, list[str]] = {}
    for edge in root.iterfind("edges/edge"):
        source, target = (names.get(edge.get(end, ""), "") for end in ("from-layer", "to-layer"))
        if source in constants:
            feeds.setdefault(target, []).append(source)
    return Export(constants, {target: tuple(sources) for target, sources in feeds.items()})


def _parse(path: Path) -> ElementTree.Element:
    """Parse XML that declares nothing of its own: a document type could name files or swell without end."""
    try:
        text = path.read_bytes().decode("utf-8")
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise WeightFileError(f"{path.name} declares a document type or entity, which an export does not need")
        root = ElementTree.fromstring(text)  # noqa: S314  # no declaration is left that could be expanded
    except (UnicodeDecodeError, ElementTree.ParseError) as error:
        raise WeightFileError(f"{path.name} is not valid XML: {error}") from error
    if root.tag != "net" or root.get("version") != "10":
        raise WeightFileError(
            f"The export is <{root.tag[:40]}> of version {str(root.get('version'))[:40]}, not <net> of version 10"
        )
    return root


def _is_float(layer: ElementTree.Element) -> bool:
    data = layer.find("data")
    return layer.get("type") == "Const" and data is not None and data.get("element_type") in _TYPES


def _constant(layer: ElementTree.Element, blob: bytes) -> Array:
    data, name = layer.find("data"), layer.get("name")
    assert data is not None
    kind = np.dtype(_TYPES[data.get("element_type", "")])
    try:
        shape = tuple(int(n) for n in data.get("shape", "").split(",") if n.strip())
        offset, size = int(data.get("offset", "")), int(data.get("size", ""))
    except ValueError as error:
        raise WeightFileError(
            f"The constant {describe(name)} lacks a valid shape, offset or size: {str(error)[:80]}"
        ) from error
    count = int(np.prod(shape, dtype=object))
    if min((*shape, 1)) < 1 or count > _MOST_NUMBERS or count * kind.itemsize != size:
        raise WeightFileError(f"The constant {describe(name)} has the shape {describe(shape)} in {size} bytes")
    if offset < 0 or offset + size > len(blob):
        got = f"{name!r} at {offset}, {size} bytes of {len(blob)}"
        raise WeightsError(f"The constant {got} is outside the data file", fix="The file is truncated; get it again.")
    return np.frombuffer(blob, kind, count, offset).reshape(shape).astype(np.float32)
