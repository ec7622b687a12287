"""An ONNX model whose batch was fixed at one when it was exported: freed, so that it takes any number of pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from likewise.errors import WeightsError


def convert(members: Mapping[str, Path], target: Path) -> None:
    """Free the batch of every input and output, and of the reshapes that spell it out; drop what it was traced from."""
    import numpy as np  # noqa: PLC0415
    import onnx  # noqa: PLC0415  # of the extra that conversions need

    (source,) = members.values()
    try:
        model = onnx.load(str(source), load_external_data=False)
        onnx.checker.check_model(model)
    except Exception as error:  # protobuf and the checker each have errors of their own
        raise WeightsError(f"{source.name} is an ONNX model", got=f"{type(error).__name__}: {error}"[:200]) from error
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "n"
    shapes = {node.input[1] for node in model.graph.node if node.op_type == "Reshape"}
    for constant in model.graph.initializer:
        if constant.name in shapes:
            sides = np.array(onnx.numpy_helper.to_array(constant))
            sides[0] = 0 if sides[0] == 1 else sides[0]  # 0 stands for: as it was
            constant.CopyFrom(onnx.numpy_helper.from_array(sides, constant.name))
    for node in model.graph.node:
        node.doc_string = ""
    target.write_bytes(model.SerializeToString())
