"""OpenFace's weights from a Keras port's h5 file, by its names, to ours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from likewise.weights.convert.fold_batchnorm import Donor, Tensors, folded, write
from likewise.weights.formats.hdf5 import read_datasets

_STEM = {"first": "1", "second": "2", "third": "3"}
_BLOCKS = ("3a", "3b", "3c", "4a", "4e", "5a", "5b")
_BRANCHES = {
    "three.narrow": ("3x3", "1"), "three.wide": ("3x3", "2"), "five.narrow": ("5x5", "1"), "five.wide": ("5x5", "2"),
    "pool": ("pool", ""), "one": ("1x1", ""),
}  # fmt: skip
_ABSENT = {("3c", "pool"), ("3c", "1x1"), ("4e", "pool"), ("4e", "1x1"), ("5a", "5x5"), ("5b", "5x5")}


def convert(members: Mapping[str, Path], target: Path) -> None:
    """Rename every tensor and fold the normalizations."""
    (source,) = members.values()
    donor = Donor(read_datasets(source), source.name)
    made: Tensors = {}
    for ours, (convolution, norm) in _names().items():
        made[f"{ours}.weight"], made[f"{ours}.bias"] = _fold(donor, convolution, norm)
    made["out.weight"], made["out.bias"] = donor.take("dense/dense/kernel:0").T, donor.take("dense/dense/bias:0")
    donor.done()
    write(target, made, "openface")


def _names() -> dict[str, tuple[str, str]]:
    names = {ours: (f"conv{number}", f"bn{number}") for ours, number in _STEM.items()}
    for k, block in enumerate(_BLOCKS):
        for ours, (theirs, number) in _BRANCHES.items():
            if (block, theirs) not in _ABSENT:
                start = f"inception_{block}_{theirs}"
                names[f"blocks.{k}.{ours}"] = (f"{start}_conv{number}", f"{start}_bn{number}")
    return names


def _fold(donor: Donor, convolution: str, norm: str) -> tuple[Any, Any]:
    kernel = donor.take(f"{convolution}/{convolution}/kernel:0")  # [h, w, in, out]
    bias = donor.take(f"{convolution}/{convolution}/bias:0")
    parts = [donor.take(f"{norm}/{norm}/{part}:0") for part in ("gamma", "beta", "moving_mean", "moving_variance")]
    return folded(np.transpose(kernel, (3, 2, 0, 1)), bias, *parts, epsilon=1e-5)
