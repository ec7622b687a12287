"""The LPIPS checkpoints (pickled numpy, kernels as height x width x in x out) become safetensors.

A checkpoint is a tree: ``{"VGG16_0": {"Conv_0": {"kernel", "bias"}, ...}, "NetLinLayer_0": {"Conv_0": ...}, ...}``.
The one key that is not a linear head says which network it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from likewise.errors import WeightFileError, some
from likewise.weights.formats.describe import brief_names
from likewise.weights.formats.pickles.unpickle import load

Array = npt.NDArray[np.float32]
_CONVS = {"VGG16_0": ("vgg16", 13), "AlexNet_0": ("alexnet", 5)}
_HEADS = 5


def convert(members: Mapping[str, Path], target: Path) -> None:
    """Write the convolutions and the linear heads of one checkpoint to ``target``."""
    (path,) = members.values()
    tree = _flat(load(path))
    found = [root for root in _CONVS if any(name.startswith(f"{root}/") for name in tree)]
    if len(found) != 1:
        raise WeightFileError(
            f"The checkpoint holds {brief_names({n.split('/')[0] for n in tree})}; "
            f"an LPIPS checkpoint holds one of {some(_CONVS)}"
        )
    network, convs = _CONVS[found[0]]
    tensors = dict(_renamed(tree, found[0], convs))
    if tree:
        raise WeightFileError(f"Unknown arrays in the LPIPS checkpoint: {brief_names(tree)}")
    save_file(tensors, target, {"network": f"lpips-{network}", "form": "1"})


def _renamed(tree: dict[str, Array], root: str, convs: int) -> Iterator[tuple[str, Array]]:
    """Take every array out of the tree under its new name."""
    for i in range(convs):
        kernel = _take(tree, f"{root}/Conv_{i}/kernel", dims=4)
        yield f"convs.{i}.weight", np.ascontiguousarray(kernel.transpose(3, 2, 0, 1))
        yield f"convs.{i}.bias", _take(tree, f"{root}/Conv_{i}/bias", dims=1)
    for i in range(_HEADS):
        yield f"heads.{i}", _take(tree, f"NetLinLayer_{i}/Conv_0/kernel", dims=4).ravel()


def _take(tree: dict[str, Array], name: str, dims: int) -> Array:
    if name not in tree or tree[name].ndim != dims:
        got = f"{tree[name].ndim} dimensions" if name in tree else "none of that name"
        raise WeightFileError(f"Array {name!r} of the LPIPS checkpoint: {got}; {dims} dimensions expected")
    return np.ascontiguousarray(tree.pop(name), np.float32)


def _flat(tree: Any, above: str = "") -> dict[str, Array]:
    if not isinstance(tree, dict):
        raise WeightFileError(
            f"The LPIPS checkpoint is not a tree of dicts with arrays: it holds a {type(tree).__name__}"
        )
    found: dict[str, Array] = {}
    for key, value in tree.items():
        name = f"{above}{key}"
        found |= {name: value} if isinstance(value, np.ndarray) else _flat(value, f"{name}/")
    return found
