"""RetinaFace's torch state dict (MobileNet 0.25), to safetensors with our names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from likewise.weights.convert.fold_batchnorm import Donor, Tensors, fold, torch_tensors, write

_STAGES = ((1, 6), (2, 6), (3, 2))
_SSH = {"three": "conv3X3", "narrow": "conv5X5_1", "five": "conv5X5_2", "more": "conv7X7_2", "seven": "conv7x7_3"}
_HEADS = {"scores": "ClassHead", "boxes": "BboxHead", "points": "LandmarkHead"}


def _folded_names() -> dict[str, tuple[str, str]]:
    names = {"stem": ("body.stage1.0.0", "body.stage1.0.1")}
    for stage, layers in _STAGES:
        for layer in range(stage == 1, layers):
            theirs, ours = f"body.stage{stage}.{layer}", f"stages.{stage - 1}.{layer - (stage == 1)}"
            names[f"{ours}.depth"] = (f"{theirs}.0", f"{theirs}.1")
            names[f"{ours}.point"] = (f"{theirs}.3", f"{theirs}.4")
    for k in (1, 2, 3):
        names[f"sideways.{k - 1}"] = (f"fpn.output{k}.0", f"fpn.output{k}.1")
        for ours, theirs in _SSH.items():
            names[f"contexts.{k - 1}.{ours}"] = (f"ssh{k}.{theirs}.0", f"ssh{k}.{theirs}.1")
    return names | {f"merges.{k - 1}": (f"fpn.merge{k}.0", f"fpn.merge{k}.1") for k in (1, 2)}


def convert(members: Mapping[str, Path], target: Path) -> None:
    """Rename every tensor and fold the normalizations."""
    (source,) = members.values()
    donor = Donor({name.removeprefix("module."): value for name, value in torch_tensors(source).items()}, source.name)
    donor.drop("num_batches_tracked")
    made: Tensors = {}
    for ours, (convolution, norm) in _folded_names().items():
        made[f"{ours}.weight"], made[f"{ours}.bias"] = fold(donor, convolution, norm)
    for ours, theirs in _HEADS.items():
        for k in range(3):
            for part in ("weight", "bias"):
                made[f"{ours}.{k}.{part}"] = donor.take(f"{theirs}.{k}.conv1x1.{part}")
    donor.done()
    write(target, made, "retinaface")
