"""ONNX: a graph in one file. It is checked whole, and a graph that points at other files is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from likewise.errors import WeightsError, some
from likewise.weights.finding import Finding

_MOST = 2 << 30  # the format's own limit for one file


def recognise(path: Path) -> Finding | None:
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
        converter="likewise.weights.convert.copied:convert",
        form="model.onnx",
        details={"inputs": "; ".join(inputs), "outputs": "; ".join(outputs)},
    )


def _library() -> Any:
    try:
        import onnx  # noqa: PLC0415
    except ModuleNotFoundError:
        fix = "Install it: pip install 'likewise[onnx]'"
        raise WeightsError("the library onnx reads this file", got="no such library", fix=fix) from None
    return onnx


def _check(onnx: Any, model: Any, path: Path) -> None:
    tensors = [*model.graph.initializer, *(held.t for node in model.graph.node for held in node.attribute)]
    outside = [tensor.name for tensor in tensors if tensor.data_location == onnx.TensorProto.EXTERNAL]
    if outside:
        fix = "Save it as one file: onnx.save(model, path, save_as_external_data=False)."
        raise WeightsError("a network lies in one file", got=f"{some(outside, 3)} in files beside {path.name}", fix=fix)
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        raise WeightsError(f"{path.name} is a valid ONNX graph", got=str(error).splitlines()[0][:200]) from error


def _shown(value: Any) -> str:
    sizes = [str(size.dim_param or size.dim_value or "?") for size in value.type.tensor_type.shape.dim]
    return f"{value.name} [{', '.join(sizes)}]"
