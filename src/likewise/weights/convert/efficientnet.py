"""EfficientNet-Lite's published state dictionaries to safetensors, by a strict rename table."""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import save_file

from likewise.errors import UnsafeFileError, WeightFileError
from likewise.tables.io import replacing

_UNITS = {
    "_conv_stem": "stem.0", "_bn0": "stem.1", "_conv_head": "head.0", "_bn1": "head.1", "_fc": "labels",
}  # fmt: skip
_IN_BLOCK = {
    "_expand_conv": "expand.0", "_bn0": "expand.1", "_depthwise_conv": "depthwise.0", "_bn1": "depthwise.1",
    "_project_conv": "project.0", "_bn2": "project.1",
}  # fmt: skip


def convert(members: Mapping[str, Path], target: Path) -> None:
    """Read the one state dictionary among the members as tensors only, rename it and write it."""
    ((name, path),) = members.items()
    found = re.search(r"efficientnet-lite([0-2])", name)
    if not found:
        raise WeightFileError(f"The file name {name!r} does not name an EfficientNet-Lite variant")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise UnsafeFileError(f"{path.name} holds more than tensors: {str(error).splitlines()[0][:200]}") from error
    tensors = {renamed(key): tensor.contiguous() for key, tensor in state.items()}
    with replacing(target) as temporary:
        save_file(tensors, temporary, metadata={"network": f"efficientnet-lite{found[1]}"})


def renamed(name: str) -> str:
    """Return our name of a published tensor; one that is not in the table is an error."""
    parts = name.split(".")
    if parts[0] == "_blocks" and len(parts) == 4 and parts[1].isdigit() and parts[2] in _IN_BLOCK:
        return f"blocks.{parts[1]}.{_IN_BLOCK[parts[2]]}.{parts[3]}"
    if len(parts) == 2 and parts[0] in _UNITS:
        return f"{_UNITS[parts[0]]}.{parts[1]}"
    raise WeightFileError(f"Unknown tensor {name[:80]!r} in an EfficientNet-Lite checkpoint")
