"""ONNX: a graph in one file. It is checked whole, and a graph that points at other files is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from likewise.errors import WeightFileError, WeightsError, some
from likewise.weights.finding import Finding

_MOST = 2 << 30  # the format's own limit for one file


def recognize(path: Path) -> Finding | None:
    """Read the graph; a file that is no ONNX gives None, one that is a broken ONNX is an error."""
    with path.open("rb") as handle:
        start = handle.read(2)
    # The first field is the version of the format, a small number; pickles, zips and headers begin otherwise.
    if start[:1] != b"\x08" or not 1 <= start[1] <= 30 or path.stat().st_size > _MOST:
        return None
    onnx = _library()
    try:
        model = onnx.load_model(path, load_external_data=False)
    except Exception:  # the library's parser has errors of its own kinds
        return None
    if not model.graph.node:
        return None
    _check(onnx, model, path)
    graph = model.graph
    weights = {tensor.name for tensor in graph.initializer}
    inputs = [_shown(value) for value in graph.input if value.name not in weights]
    outputs = [_shown(value) for value in graph.output]
    opset = max((entry.version for entry in model.opset_import if entry.domain in {"", "ai.onnx"}), default=0)
    return Finding(
        role="network",
        summary=f"ONNX, opset {opset}, {len(graph.node)} nodes, {len(weights)} tensors",
        converter="passthrough",
        form="model.onnx",
        details={"inputs": "; ".join(inputs), "outputs": "; ".join(outputs)},
    )


def _library() -> Any:
    try:
        import onnx  # noqa: PLC0415
    except ModuleNotFoundError:
        raise WeightsError(
            "Reading this file needs the package onnx, which is not installed", fix="pip install 'likewise[onnx]'"
        ) from None
    return onnx


def _check(onnx: Any, model: Any, path: Path) -> None:
    tensors = [*model.graph.initializer, *(held.t for node in model.graph.node for held in node.attribute)]
    outside = [tensor.name for tensor in tensors if tensor.data_location == onnx.TensorProto.EXTERNAL]
    if outside:
        fix = "Save it as one file: onnx.save(model, path, save_as_external_data=False)."
        raise WeightsError(f"Tensors of {path.name} are in other files: {some(outside, 3)}", fix=fix)
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        raise WeightFileError(f"{path.name} is not a valid ONNX graph: {str(error).splitlines()[0][:200]}") from error


def _shown(value: Any) -> str:
    sizes = [str(size.dim_param or size.dim_value or "?") for size in value.type.tensor_type.shape.dim]
    return f"{_printable(value.name)} [{_printable(', '.join(sizes))}]"


def _printable(text: str) -> str:
    """Escape control characters, which a terminal would obey, and cut long names."""
    return text[:60] if text.isprintable() else repr(text[:60])
