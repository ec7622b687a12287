"""Checkpoints of the widespread re-implementation of StyleGAN2 in PyTorch: ``.pt`` with state dicts such as g_ema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from likewise.errors import UnsafeFileError, WeightFileError, WeightsError
from likewise.weights.convert.stylegan2.network import Array, Config, finding, none_left, save, take
from likewise.weights.finding import Finding
from likewise.weights.formats.describe import brief_names, describe
from likewise.weights.formats.pickles.checkpoint import read_checkpoint

_LRMUL = 0.01  # of the mapping; this code base has never had another
_FIR = np.outer([1, 3, 3, 1], [1, 3, 3, 1]) / 16  # kept with its gain of 4
_MEAN_OF = 10_000


def recognize(path: Path) -> Finding | None:
    """Say what generator a checkpoint holds; None if it is another kind of file."""
    opened = _opened(path)
    if opened is None:
        return None
    return finding(_config(opened[0]), "rosinality's form", "stylegan2-rosinality")


def convert(members: Mapping[str, Path], target: Path) -> None:
    """Write the averaged generator of a checkpoint to ``target``."""
    (path,) = members.values()
    opened = _opened(path)
    if opened is None:
        raise WeightFileError(f"{path.name} is not a checkpoint with g_ema")
    tensors, mean = opened
    config = _config(tensors)
    _drop_filters(tensors)
    made = dict(_renamed(config, tensors))
    none_left(tensors)
    made["mean_w"] = _mean_w(config, made) if mean is None else mean.reshape(-1)
    save(config, made, target)


def _opened(path: Path) -> tuple[dict[str, Array], Array | None] | None:
    """Return the tensors of the averaged generator and the mean latent, if the file keeps one."""
    try:
        opened = read_checkpoint(path)
    except UnsafeFileError:
        return None
    if opened.form != "torch" or not opened.only("argparse.Namespace"):
        return None
    held = opened.value
    tensors = held.get("g_ema", held) if isinstance(held, dict) else None
    if not isinstance(tensors, dict) or "conv1.conv.modulation.weight" not in tensors:
        return None
    return {str(name): _numbers(name, value) for name, value in tensors.items()}, held.get("latent_avg")


def _numbers(name: object, value: Any) -> Array:
    if not isinstance(value, np.ndarray):
        raise WeightFileError(f"The state dict holds more than tensors: {describe(name)} is a {type(value).__name__}")
    return value


def _config(tensors: Mapping[str, Array]) -> Config:
    steps = sorted(int(m[1]) for name in tensors if (m := re.fullmatch(r"style\.(\d+)\.weight", name)))
    ups = sum(bool(re.fullmatch(r"to_rgbs\.\d+\.bias", name)) for name in tensors)
    if steps != list(range(1, len(steps) + 1)) or not steps:
        raise WeightFileError(f"The mapping layers style.1, style.2 ... are missing (tensors: {brief_names(tensors)})")
    convs = ["conv1", *(f"convs.{2 * i + 1}" for i in range(ups))]
    return Config(
        resolution=4 * 2**ups,
        channels=tuple(len(take(dict(tensors), f"{conv}.activate.bias")) for conv in convs),
        z_dim=tensors["style.1.weight"].shape[1],
        w_dim=tensors["conv1.conv.modulation.weight"].shape[1],
        mapping=tuple(len(tensors[f"style.{i}.weight"]) for i in steps),
        noise=any(name.startswith("noises.") for name in tensors),  # else it is drawn again for each image
    )


def _drop_filters(tensors: dict[str, Array]) -> None:
    for name in [name for name in tensors if name.endswith((".blur.kernel", ".upsample.kernel"))]:
        if tensors[name].shape != (4, 4) or not np.allclose(tensors.pop(name), _FIR, atol=1e-5):
            raise WeightsError(
                f"The low-pass filter {name[:80]!r} is not 1 3 3 1",
                fix="This StyleGAN2 configuration is not supported.",
            )


def _renamed(config: Config, tensors: dict[str, Array]) -> Iterator[tuple[str, Array]]:
    """Take every tensor out under its new name, with its gain multiplied in."""
    yield "const", take(tensors, "input.input")[0]
    for i in range(len(config.mapping)):
        weight = take(tensors, f"style.{i + 1}.weight")
        yield f"mapping.{i}.weight", weight * (_LRMUL * weight.shape[1] ** -0.5)
        yield f"mapping.{i}.bias", take(tensors, f"style.{i + 1}.bias") * _LRMUL
    for i in range(len(config.channels)):
        pairs = [("conv0", 2 * i - 2), ("conv1", 2 * i - 1)] if i else [("conv1", -1)]
        for conv, number in pairs:
            source = f"convs.{number}" if i else "conv1"
            yield from _modulated(tensors, source, f"blocks.{i}.{conv}", bias=f"{source}.activate.bias")
            strength = take(tensors, f"{source}.noise.weight").reshape(())
            if config.noise:
                yield f"blocks.{i}.{conv}.noise", take(tensors, f"noises.noise_{number + 1}")[0, 0]
                yield f"blocks.{i}.{conv}.noise_strength", strength
        rgb = f"to_rgbs.{i - 1}" if i else "to_rgb1"
        yield from _modulated(tensors, rgb, f"blocks.{i}.rgb", bias=f"{rgb}.bias")


def _modulated(tensors: dict[str, Array], source: str, name: str, *, bias: str) -> Iterator[tuple[str, Array]]:
    style = take(tensors, f"{source}.conv.modulation.weight")
    yield f"{name}.style.weight", style * style.shape[1] ** -0.5
    yield f"{name}.style.bias", take(tensors, f"{source}.conv.modulation.bias")
    weight = take(tensors, f"{source}.conv.weight")[0]
    yield f"{name}.weight", weight * float(np.prod(weight.shape[1:])) ** -0.5
    yield f"{name}.bias", take(tensors, bias).reshape(-1)


def _mean_w(config: Config, made: Mapping[str, Array]) -> Array:
    """Average the latents of a fixed sample, where the file keeps no average."""
    z = np.random.default_rng(0).standard_normal((_MEAN_OF, config.z_dim))
    x = z / np.sqrt(np.square(z).mean(axis=1, keepdims=True) + 1e-8)
    for i in range(len(config.mapping)):
        x = x @ made[f"mapping.{i}.weight"].T + made[f"mapping.{i}.bias"]
        x = np.where(x > 0, x, 0.2 * x) * np.sqrt(2)
    mean: Array = x.mean(axis=0)
    return mean
