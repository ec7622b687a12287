"""NVIDIA's TensorFlow pickles of StyleGAN2: a tuple (G, D, Gs) of networks, each with variables and its source code.

The code is never looked at. The generator taken is ``Gs``, the average over training. Variables are kernels of
height x width x in x out; those of convolutions that go up a size are stored turned round.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from likewise.errors import WeightFileError, WeightsError
from likewise.weights.convert.stylegan2.network import Array, Config, finding, none_left, save, take
from likewise.weights.finding import Finding
from likewise.weights.formats.describe import brief_names, describe
from likewise.weights.formats.pickles.checkpoint import read_layout
from likewise.weights.formats.pickles.values import Record

_NETWORK = "dnnlib.tflib.network.Network"
_DRAWN_ALIKE = {  # options that say nothing about how a latent is drawn, or that the tensors say themselves
    "latent_size", "dlatent_size", "label_size", "resolution", "num_channels", "mapping_layers", "mapping_fmaps",
    "label_fmaps", "fmap_base", "fmap_decay", "fmap_min", "fmap_max", "num_fp16_res", "w_avg_beta", "dlatent_avg_beta",
    "truncation_psi", "truncation_cutoff", "truncation_psi_val", "truncation_cutoff_val", "style_mixing_prob",
    "structure", "dtype", "randomize_noise", "fused_modconv", "is_validation", "is_training", "return_dlatents",
}  # fmt: skip
_EXPECTED = {
    "nonlinearity": ("lrelu",), "mapping_nonlinearity": ("lrelu",), "normalize_latents": (True,),
    "resample_kernel": ([1, 3, 3, 1], (1, 3, 3, 1), None), "use_noise": (True,), "mapping_lrmul": None,
    "architecture": None, "conv_clamp": None,
}  # fmt: skip
"""Options that matter, with the values that are known; None where the value itself is used."""


def recognize(path: Path) -> Finding | None:
    """Say what generator a pickle holds; None if it is another kind of file."""
    network = _opened(path)
    if network is None:
        return None
    return finding(_config(network, _variables(network)), "NVIDIA, TensorFlow", "stylegan2-tensorflow")


def convert(members: Mapping[str, Path], target: Path) -> None:
    """Write the averaged generator of a pickle to ``target``."""
    (path,) = members.values()
    network = _opened(path)
    if network is None:
        raise WeightFileError(f"{path.name} is not a tuple (G, D, Gs) of NVIDIA's")
    variables = _variables(network)
    config = _config(network, variables)
    made = dict(_renamed(config, variables, float(network["static_kwargs"].get("mapping_lrmul", 0.01))))
    none_left(variables)
    save(config, made, target)


def _opened(path: Path) -> dict[str, Any] | None:
    """Return the state of Gs; None if the file has another structure."""
    held = read_layout(path, _NETWORK, (_NETWORK, "dnnlib.util.EasyDict"), mark="dnnlib.tflib.network")
    if isinstance(held, tuple) and len(held) == 3 and all(_is_network(part) for part in held):
        held = held[2]
    return _state(held) if _is_network(held) else None


def _is_network(held: Any) -> bool:
    return isinstance(held, Record) and held.name == _NETWORK


def _state(record: Record) -> dict[str, Any]:
    state = record.state
    if not isinstance(state, dict) or not {"version", "static_kwargs", "variables"} <= set(state):
        keys = brief_names(state if isinstance(state, dict) else ())
        raise WeightFileError(f"A network of the pickle lacks version, static_kwargs or variables (keys: {keys})")
    if not isinstance(state["version"], int) or state["version"] < 4:
        raise WeightsError(
            f"The network has version {describe(state['version'])}; a StyleGAN2 network has version 4 or later",
            fix="StyleGAN and ProGAN are not supported.",
        )
    return {**state, "static_kwargs": _plain(state["static_kwargs"]), "components": _plain(state.get("components", {}))}


def _plain(held: Any) -> dict[str, Any]:
    return dict(held.entries) if isinstance(held, Record) else dict(held)


def _variables(state: Mapping[str, Any], above: str = "") -> dict[str, Array]:
    """Collect the variables of a network and its components by their path."""
    found = {f"{above}{_text(name)}": np.asarray(value) for name, value in state["variables"]}
    for name, component in state["components"].items():
        if not _is_network(component):
            raise WeightFileError(f"The component {describe(name)} is a {type(component).__name__}, not a network")
        found |= _variables(_state(component), f"{above}{name}/")
    return {_renumbered(name, state, found): value for name, value in found.items() if name.split("/")[-1] != "lod"}


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise WeightFileError(f"A variable of the network is called {describe(name)}, which is no text")
    return name


def _renumbered(name: str, state: Mapping[str, Any], found: Mapping[str, Array]) -> str:
    """The original architecture counts its RGB from the largest size down; the others name the size."""
    counted = re.fullmatch(r"synthesis/ToRGB_lod(\d+)/(.*)", name)
    if not counted:
        return name
    size = max(int(m[1]) for key in found if (m := re.match(r"synthesis/(\d+)x", key))) >> int(counted[1])
    return f"synthesis/{size}x{size}/ToRGB/{counted[2]}"


def _config(state: Mapping[str, Any], variables: Mapping[str, Array]) -> Config:
    options = state["static_kwargs"]
    unknown = [key for key in options if key not in _DRAWN_ALIKE and key not in _EXPECTED]
    other = [k for k, known in _EXPECTED.items() if known and k in options and options[k] not in known]
    if unknown or other:
        got = brief_names([f"{str(key)[:40]} = {describe(options[key])}" for key in (*unknown, *other)])
        raise WeightFileError(f"Unsupported options of a StyleGAN2 network: {got}")
    sizes = sorted({int(m[1]) for name in variables if (m := re.match(r"synthesis/(\d+)x\1/", name))})
    steps = sum(bool(re.fullmatch(r"mapping/Dense\d+/weight", name)) for name in variables)
    if not sizes or not steps or "dlatent_avg" not in variables:
        raise WeightsError(
            f"Gs lacks a mapping, a synthesis or dlatent_avg (variables: {brief_names(variables)})",
            fix="It is not a StyleGAN2 generator.",
        )
    w_dim, labels = len(variables["dlatent_avg"]), _labels(variables)
    clamp = options.get("conv_clamp")
    return Config(
        resolution=sizes[-1],
        channels=tuple(len(_conv1_bias(variables, size)) for size in sizes),
        z_dim=variables["mapping/Dense0/weight"].shape[0] - labels[1],
        w_dim=w_dim,
        labels=labels[0],
        label_dim=labels[1],
        mapping=tuple(len(take(dict(variables), f"mapping/Dense{i}/bias")) for i in range(steps)),
        architecture=_architecture(options, variables, sizes[-1]),
        noise="synthesis/noise0" in variables,
        clamp=None if clamp is None else float(clamp),
    )


def _labels(variables: Mapping[str, Array]) -> tuple[int, int]:
    embed = variables.get("mapping/LabelEmbed/weight")
    return (0, 0) if embed is None else (embed.shape[0], embed.shape[1])


def _conv1_bias(variables: Mapping[str, Array], size: int) -> Array:
    return take(dict(variables), f"synthesis/{size}x{size}/{'Conv' if size == 4 else 'Conv1'}/bias")


def _architecture(options: Mapping[str, Any], variables: Mapping[str, Array], resolution: int) -> str:
    """Tell by the tensors; an option that says otherwise is an error further on, when tensors are missing."""
    if f"synthesis/{resolution}x{resolution}/Skip/weight" in variables:
        return "resnet"
    return "skip" if "synthesis/4x4/ToRGB/weight" in variables else str(options.get("architecture", "orig"))


def _renamed(config: Config, variables: dict[str, Array], lrmul: float) -> Iterator[tuple[str, Array]]:
    """Take every variable out under its new name, with its gain multiplied in."""
    yield "mean_w", take(variables, "dlatent_avg")
    yield "const", take(variables, "synthesis/4x4/Const/const")[0]
    if config.labels:
        yield "embed.weight", _dense(variables, "mapping/LabelEmbed/weight")
        yield "embed.bias", take(variables, "mapping/LabelEmbed/bias")
    for i in range(len(config.mapping)):
        yield f"mapping.{i}.weight", _dense(variables, f"mapping/Dense{i}/weight") * lrmul
        yield f"mapping.{i}.bias", take(variables, f"mapping/Dense{i}/bias") * lrmul
    count = 0
    for i, size in enumerate(config.sizes):
        at = f"synthesis/{size}x{size}"
        pairs = (("conv0", "Conv0_up"), ("conv1", "Conv1")) if i else (("conv1", "Conv"),)
        for conv, source in pairs:
            yield from _modulated(variables, f"{at}/{source}", f"blocks.{i}.{conv}", up=conv == "conv0")
            if config.noise:
                yield f"blocks.{i}.{conv}.noise", take(variables, f"synthesis/noise{count}")[0, 0]
                strength = take(variables, f"{at}/{source}/noise_strength")
                yield f"blocks.{i}.{conv}.noise_strength", np.reshape(strength, ())
            count += 1
        if config.architecture == "skip" or size == config.resolution:
            yield from _modulated(variables, f"{at}/ToRGB", f"blocks.{i}.rgb", up=False)
        if i and config.architecture == "resnet":
            yield f"blocks.{i}.skip", _kernel(variables, f"{at}/Skip/weight", up=True)


def _modulated(variables: dict[str, Array], source: str, name: str, *, up: bool) -> Iterator[tuple[str, Array]]:
    yield f"{name}.style.weight", _dense(variables, f"{source}/mod_weight")
    yield f"{name}.style.bias", take(variables, f"{source}/mod_bias") + 1
    yield f"{name}.weight", _kernel(variables, f"{source}/weight", up=up)
    yield f"{name}.bias", take(variables, f"{source}/bias")


def _dense(variables: dict[str, Array], name: str) -> Array:
    weight = take(variables, name)
    scaled: Array = weight.T * weight.shape[0] ** -0.5
    return scaled


def _kernel(variables: dict[str, Array], name: str, *, up: bool) -> Array:
    weight = take(variables, name)
    if weight.ndim != 4:
        raise WeightFileError(f"{name} has the shape {weight.shape}; a kernel has four dimensions")
    turned = weight[::-1, ::-1] if up else weight
    scaled: Array = turned.transpose(3, 2, 0, 1) * float(np.prod(weight.shape[:3])) ** -0.5
    return scaled
