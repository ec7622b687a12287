"""MobileFaceNet's torch state dict, to safetensors with our names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from likewise.weights.convert.fold_batchnorm import Donor, Tensors, fold, torch_tensors, write

_BLOCKS = 15
_RENAMED = {
    "stem": ("conv1.0", "conv1.1"),
    "depth": ("dw_conv.depthwise", "dw_conv.bn1"),
    "point": ("dw_conv.pointwise", "dw_conv.bn2"),
    **{
        f"blocks.{k}.{ours}": (f"features.{k}.conv.{theirs}", f"features.{k}.conv.{norm}")
        for k in range(_BLOCKS)
        for ours, theirs, norm in (("expand", "0.0", "0.1"), ("depth", "1.0", "1.1"), ("project", "2", "3"))
    },
    "wide": ("conv2.0", "conv2.1"),
    "pool": ("gdconv.depthwise", "gdconv.bn"),
    "out": ("conv3", "bn"),
}


def convert(members: Mapping[str, Path], target: Path) -> None:
    """Rename every tensor and fold the normalizations."""
    (source,) = members.values()
    donor = Donor(torch_tensors(source), source.name)
    donor.drop("num_batches_tracked")
    made: Tensors = {}
    for ours, (convolution, norm) in _RENAMED.items():
        made[f"{ours}.weight"], made[f"{ours}.bias"] = fold(donor, convolution, norm)
    donor.done()
    write(target, made, "mobilefacenet")
