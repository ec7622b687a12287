"""Tensors of a network from a safetensors file: only names that the network has, all of them, in its shapes.

A file of half precision is cast to float32: a CPU computes in float32 or not at all for many operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from likewise.errors import WeightFileError, WeightsError, some
from likewise.weights import where
from likewise.weights.licenses import license_of


def located(weights: str) -> tuple[Path, str]:
    """Return the file of a weight (a name or a path) and its license."""
    return where(weights), license_of(weights)


def read_state(path: Path, network: str) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Return the tensors (float32) and the metadata of a file that holds this network."""
    try:
        with safe_open(str(path), framework="pt") as file:
            metadata = dict(file.metadata() or {})
            _check_network(path, metadata, network)
            return {name: _as_float32(file.get_tensor(name)) for name in file.keys()}, metadata  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise WeightsError(
            f"{path.name} is not a readable safetensors file: {str(error)[:200]}",
            fix="Convert other checkpoints with: likewise weights add FILE --name NAME",
        ) from error


def _check_network(path: Path, metadata: Mapping[str, str], network: str) -> None:
    held = metadata.get("network", "")
    if held != network:
        got = f"a file of {held!r}" if held else "a file that names no network"
        raise WeightFileError(f"{path.name} does not hold the network {network!r} but {got}")


def _as_float32(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.is_floating_point() else tensor


def fill(module: nn.Module, tensors: Mapping[str, torch.Tensor], source: str) -> None:
    """Give a module its tensors; a missing name, an unknown name and a wrong shape are errors."""
    wanted = module.state_dict()
    missing, unknown = sorted(set(wanted) - set(tensors)), sorted(set(tensors) - set(wanted))
    if missing or unknown:
        parts = [f"{len(missing)} missing: {some(missing)}"] if missing else []
        parts += [f"{len(unknown)} unknown: {some(unknown)}"] if unknown else []
        raise WeightFileError(f"The tensors of {source} are not those of {type(module).__name__}: {'; '.join(parts)}")
    wrong = [name for name in wanted if wanted[name].shape != tensors[name].shape]
    if wrong:
        first = f"{wrong[0]}: {tuple(tensors[wrong[0]].shape)} for {tuple(wanted[wrong[0]].shape)}"
        raise WeightFileError(f"{len(wrong)} tensors of {source} have another shape than the network, e.g. {first}")
    module.load_state_dict(dict(tensors))
