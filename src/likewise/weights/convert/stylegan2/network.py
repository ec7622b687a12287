"""The form in which StyleGAN2 generators are kept: a config, and tensors whose names and shapes follow from it.

Whatever a checkpoint was made with, its gains for equalized learning rates are multiplied into the weights, so that
one plain network (``likewise.models.generators.stylegan2``) draws them all. ``save`` refuses a tensor too many
or too few.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import WeightFileError, WeightsError, nearest, some
from likewise.weights.finding import Finding
from likewise.weights.formats.describe import brief_names, describe

Array = npt.NDArray[Any]
NETWORK = "stylegan2"
ARCHITECTURES = ("skip", "resnet", "orig")


@dataclass(frozen=True, kw_only=True)
class Config:
    """What a StyleGAN2 generator looks like."""

    resolution: int
    channels: tuple[int, ...]
    """Of the features at 4, 8, 16 ... px."""
    z_dim: int = 512
    w_dim: int = 512
    labels: int = 0
    """Classes of a conditional generator; 0 for none."""
    label_dim: int = 0
    """Numbers that a label is embedded in."""
    mapping: tuple[int, ...] = (512,) * 8
    """The width of each step of the mapping; the last is ``w_dim``."""
    architecture: str = "skip"
    """How RGB comes about: ``skip`` sums an image of each size, ``resnet`` adds features, ``orig`` does neither."""
    noise: bool = True
    clamp: float | None = None
    """Features are cut off beyond this; generators that were trained in half precision need it."""

    def __post_init__(self) -> None:
        sizes = int(math.log2(self.resolution)) - 1 if self.resolution >= 4 else 0
        if self.resolution != 2 ** (sizes + 1) or sizes != len(self.channels):
            got = f"{self.resolution} and {len(self.channels)}"
            raise WeightsError(
                f"Resolution and channel counts do not agree: {got}",
                fix="A resolution is 4, 8, 16 ... with one channel count for each size up to it.",
            )
        if self.architecture not in ARCHITECTURES:
            raise WeightsError(
                f"Unknown architecture {describe(self.architecture)}", fix=f"Known: {some(ARCHITECTURES)}."
            )
        if not self.mapping or self.mapping[-1] != self.w_dim or bool(self.labels) != bool(self.label_dim):
            raise WeightFileError(
                f"The mapping {describe(self.mapping)} does not end at w_dim, or its label embedding does not fit"
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the features: 4, 8, 16 ... up to the resolution."""
        return tuple(4 * 2**i for i in range(len(self.channels)))

    @property
    def rows(self) -> int:
        """Rows of a latent: one for each convolution, one for the last RGB."""
        return 2 * len(self.channels)

    def to_json(self) -> str:
        """Write it into a file's metadata."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Config:
        """Read it from a file's metadata; an unknown key is an error."""
        try:
            given = json.loads(text)
            unknown = [key for key in given if key not in {field.name for field in fields(cls)}]
            if unknown:
                raise WeightFileError(f"Unknown keys in the StyleGAN2 config: {brief_names(unknown)}")
            return cls(**{key: tuple(value) if isinstance(value, list) else value for key, value in given.items()})  # type: ignore[arg-type]
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise WeightFileError(f"The StyleGAN2 config of the file is not valid JSON: {str(error)[:120]}") from error


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Name every tensor of a generator with its shape."""
    found: dict[str, tuple[int, ...]] = {"mean_w": (config.w_dim,), "const": (config.channels[0], 4, 4)}
    if config.labels:
        found |= {"embed.weight": (config.label_dim, config.labels), "embed.bias": (config.label_dim,)}
    widths = (config.z_dim + config.label_dim, *config.mapping)
    for i, (below, here) in enumerate(pairwise(widths)):
        found |= {f"mapping.{i}.weight": (here, below), f"mapping.{i}.bias": (here,)}
    for i, size in enumerate(config.sizes):
        below, here = config.channels[max(i - 1, 0)], config.channels[i]
        if i:
            found |= _conv(f"blocks.{i}.conv0", below, here, size, config)
        found |= _conv(f"blocks.{i}.conv1", here, here, size, config)
        if config.architecture == "skip" or size == config.resolution:
            found |= _modulated(f"blocks.{i}.rgb", here, 3, 1, config)
        if i and config.architecture == "resnet":
            found[f"blocks.{i}.skip"] = (here, below, 1, 1)
    return found


def _conv(name: str, below: int, here: int, size: int, config: Config) -> dict[str, tuple[int, ...]]:
    noise: dict[str, tuple[int, ...]] = {f"{name}.noise": (size, size), f"{name}.noise_strength": ()}
    return _modulated(name, below, here, 3, config) | (noise if config.noise else {})


def _modulated(name: str, below: int, here: int, kernel: int, config: Config) -> dict[str, tuple[int, ...]]:
    return {
        f"{name}.style.weight": (below, config.w_dim),
        f"{name}.style.bias": (below,),
        f"{name}.weight": (here, below, kernel, kernel),
        f"{name}.bias": (here,),
    }


def save(config: Config, tensors: Mapping[str, Array], target: Path) -> None:
    """Write a generator; names and shapes must be exactly those of its config."""
    from safetensors.numpy import save_file  # noqa: PLC0415  # recognizing files needs no extra, converting them does

    wanted = shapes(config)
    missing, unknown = sorted(set(wanted) - set(tensors)), sorted(set(tensors) - set(wanted))
    if missing or unknown:
        got = f"missing {some(missing)}" if missing else f"unknown {some(unknown)}"
        raise WeightFileError(f"The StyleGAN2 checkpoint does not have exactly the tensors of its config: {got}")
    wrong = [name for name, shape in wanted.items() if tensors[name].shape != shape]
    if wrong:
        got = f"{wrong[0]}: {tensors[wrong[0]].shape} for {wanted[wrong[0]]}"
        raise WeightFileError(f"The tensors of the StyleGAN2 checkpoint do not fit together: {got}")
    plain = {name: np.array(value, np.float32, order="C") for name, value in tensors.items()}
    bad = [name for name, value in plain.items() if not np.isfinite(value).all()]
    if bad:
        raise WeightFileError(f"Weights that are not finite: {some(bad)}")
    save_file(plain, target, {"network": NETWORK, "form": "1", "config": config.to_json()})


def take(tensors: dict[str, Array], name: str) -> Array:
    """Take a tensor out of a checkpoint's dict; what is left in the end is unknown."""
    if name not in tensors:
        ending = re.split(r"[./]", name)[-1]
        near = nearest(name, [key for key in tensors if key.endswith(ending)][:50])
        raise WeightsError(f"The checkpoint has no tensor {name!r}", fix=near)
    return tensors.pop(name)


def none_left(tensors: Mapping[str, Array]) -> None:
    """Refuse a checkpoint of which something was not taken."""
    if tensors:
        raise WeightsError(
            f"{len(tensors)} unknown tensors in the checkpoint: {brief_names(tensors)}",
            fix="This StyleGAN2 configuration is not supported.",
        )


def finding(config: Config, kind: str, converter: str) -> Finding:
    """Say in one line what was recognized."""
    extras = [f"{config.labels} labels"] if config.labels else []
    words = ", ".join([f"{config.resolution} px", f"{config.rows} x {config.w_dim}", config.architecture, *extras])
    return Finding(
        role="generator",
        summary=f"StyleGAN2 generator ({kind}): {words}",
        converter=converter,
        form="weights.safetensors",
        details={"channels": str(config.channels), "mapping": str(config.mapping), "noise": str(config.noise)},
    )
