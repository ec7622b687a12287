"""The Inception of 2015, kept as TorchScript: its tensors are read as data, and its code is never opened.

The file has the form of ``torch.save`` (see ``pickles.torch_file``). Every convolution is a record with the tensors
``weight``, ``beta``, ``mean`` and ``var``; the normalization (epsilon 0.001, no scale) is folded into the convolution.
Whatever else the file holds besides these tensors and small settings is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import WeightFileError
from likewise.weights.convert.fold_batchnorm import Tensors, folded, write
from likewise.weights.formats.describe import brief_names, describe
from likewise.weights.formats.pickles.checkpoint import forget, read_checkpoint
from likewise.weights.formats.pickles.values import Record

EPSILON = 1e-3
CONVOLUTIONS = 94
_PARTS = ("weight", "beta", "mean", "var")


def convert(members: Mapping[str, Path], target: Path) -> None:
    """Write the folded convolutions under their dotted names."""
    (path,) = members.values()
    try:
        made: Tensors = {}
        for name, parts in _convolutions(read_checkpoint(path).value, ""):
            weight, beta, mean, variance = (np.asarray(parts[part], dtype=np.float64) for part in _PARTS)
            made[f"{name}.weight"], made[f"{name}.bias"] = folded(
                weight, 0.0, np.ones_like(beta), beta, mean, variance, epsilon=EPSILON
            )
    finally:
        forget()
    if len(made) != 2 * CONVOLUTIONS:
        raise WeightFileError(
            f"{path.name} has {len(made) // 2} convolutions; the Inception of 2015 has {CONVOLUTIONS}"
        )
    write(target, made, "inception-2015")


def _convolutions(module: Any, above: str) -> Iterator[tuple[str, dict[str, npt.NDArray[Any]]]]:
    """Yield the tensors of every convolution by the dotted name of its module."""
    if not isinstance(module, Record) or not module.name.startswith("__torch__."):
        raise WeightFileError(f"The file holds {describe(module)} where a TorchScript module is expected")
    state = module.state if isinstance(module.state, dict) else {}
    tensors = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    if tensors:
        if set(tensors) != set(_PARTS):
            raise WeightFileError(
                f"The module {above!r} has the tensors {brief_names(tensors)}, not {brief_names(_PARTS)}"
            )
        yield above.removeprefix("net.layers."), tensors
    for name, value in state.items():
        if isinstance(value, Record) and value.name.startswith("__torch__."):
            yield from _convolutions(value, f"{above}.{name}".removeprefix("."))
