"""ONNX models that were exported for one image (of one size) are freed to take any number of images (of any size)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from likewise.errors import WeightFileError


def convert(members: Mapping[str, Path], target: Path) -> None:
    """Free the batch of every input and output, and of the reshapes that spell it out."""
    _write(_freed(members, ("n",)), target)


def convert_any_size(members: Mapping[str, Path], target: Path) -> None:
    """Free the height and width of the input, too, for a fully convolutional network."""
    model = _freed(members, ("n", "", "height", "width"))
    for value in model.graph.output:  # how many places there are depends on the size
        for number in range(1, len(value.type.tensor_type.shape.dim) - 1):
            value.type.tensor_type.shape.dim[number].dim_param = f"{value.name}_{number}"
    _write(model, target)


def _freed(members: Mapping[str, Path], axes: tuple[str, ...]) -> Any:
    """Return the model with the named axes of its inputs free; its weights are no inputs, as older exports say."""
    import onnx  # noqa: PLC0415  # of the extra that conversions need

    (source,) = members.values()
    try:
        model = onnx.load(str(source), load_external_data=False)
        onnx.checker.check_model(model)
    except Exception as error:  # protobuf and the checker each have errors of their own
        raise WeightFileError(
            f"{source.name} is not a valid ONNX model: {type(error).__name__}: {str(error)[:200]}"
        ) from error
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    for value in model.graph.input:
        for number, name in enumerate(axes):
            if name:
                value.type.tensor_type.shape.dim[number].dim_param = name
    for value in model.graph.output:
        value.type.tensor_type.shape.dim[0].dim_param = "n"
    _free_reshapes(onnx, model)
    return model


def _free_reshapes(onnx: Any, model: Any) -> None:
    import numpy as np  # noqa: PLC0415

    shapes = {node.input[1] for node in model.graph.node if node.op_type == "Reshape"}
    for constant in model.graph.initializer:
        if constant.name in shapes:
            sides = np.array(onnx.numpy_helper.to_array(constant))
            sides[0] = 0 if sides[0] == 1 else sides[0]  # 0 stands for: as in the input
            constant.CopyFrom(onnx.numpy_helper.from_array(sides, constant.name))


def _write(model: Any, target: Path) -> None:
    """Write the model without the notes of its export, which name files of another machine."""
    for node in model.graph.node:
        node.doc_string = ""
    target.write_bytes(model.SerializeToString())
