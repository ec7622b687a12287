"""NVIDIA's PyTorch pickles of StyleGAN2 (stylegan2-ada-pytorch, and stylegan3's stylegan2 configs).

Such a file carries the source code of its own classes and asks to run it on opening. Here it is read as data: each
object is a record with the state that its module had, and the tensors are picked out of the states. The code is never
looked at. The generator taken is ``G_ema``, the average over training that the authors draw with.
"""

from __future__ import annotations

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

_PERSISTENT = "torch_utils.persistence._reconstruct_persistent_obj"
_RECORDS = (_PERSISTENT, "dnnlib.util.EasyDict")
_FIR = np.outer([1, 3, 3, 1], [1, 3, 3, 1]) / 64


def recognize(path: Path) -> Finding | None:
    """Say what generator a pickle holds; None if it is another kind of file."""
    opened = _opened(path)
    if opened is None:
        return None
    return finding(_config(opened), "NVIDIA, PyTorch", "stylegan2-nvidia")


def convert(members: Mapping[str, Path], target: Path) -> None:
    """Write the averaged generator of a pickle to ``target``."""
    (path,) = members.values()
    generator = _opened(path)
    if generator is None:
        raise WeightFileError(f"{path.name} is not a pickle of NVIDIA's with G_ema")
    config, tensors = _config(generator), dict(_tensors(generator))
    _drop_filters(tensors)
    made = dict(_renamed(config, tensors, generator))
    none_left(tensors)
    save(config, made, target)


def _opened(path: Path) -> dict[str, Any] | None:
    """Return the state of G_ema; None if the file has another structure."""
    held = read_layout(path, _PERSISTENT, _RECORDS, mark=_PERSISTENT.rpartition(".")[2])
    if not isinstance(held, dict) or "G_ema" not in held:
        return None
    return _state(held["G_ema"], "Generator")


def _state(held: Any, kind: str) -> dict[str, Any]:
    """Return the state of a record of one of these classes."""
    meta = held.args[0] if isinstance(held, Record) and held.name == _PERSISTENT and held.args else None
    named = meta.get("class_name") if isinstance(meta, dict) else None
    state = meta.get("state") if isinstance(meta, dict) else None
    if named != kind or not isinstance(state, dict):
        raise WeightFileError(
            f"The pickle holds {describe(named) if named else type(held).__name__} where a {kind} is expected"
        )
    return state


def _modules(state: Mapping[str, Any]) -> dict[str, Any]:
    found = state.get("_modules")
    return found if isinstance(found, dict) else {}


def _child(state: Mapping[str, Any], name: str, kind: str) -> dict[str, Any]:
    modules = _modules(state)
    if name not in modules:
        fix = "It may be a StyleGAN3, which is another network."
        raise WeightsError(f"The {kind} {name!r} is missing (modules: {brief_names(modules)})", fix=fix)
    return _state(modules[name], kind)


def _config(generator: Mapping[str, Any]) -> Config:
    mapping = _child(generator, "mapping", "MappingNetwork")
    synthesis = _child(generator, "synthesis", "SynthesisNetwork")
    resolution = int(_attribute(generator, "img_resolution"))
    _expect("img_channels", int(_attribute(generator, "img_channels")), 3)
    sizes = [2**i for i in range(2, max(resolution, 4).bit_length())]
    blocks = [_child(synthesis, f"b{size}", "SynthesisBlock") for size in sizes]
    convs = [_child(block, "conv1", "SynthesisLayer") for block in blocks]
    steps = [_child(mapping, f"fc{i}", "FullyConnectedLayer") for i in range(int(_attribute(mapping, "num_layers")))]
    for layer in (*convs, *steps):
        _expect("activation", _attribute(layer, "activation"), "lrelu")
    embed = _child(mapping, "embed", "FullyConnectedLayer") if "embed" in _modules(mapping) else None
    clamp = _attribute(convs[-1], "conv_clamp")
    return Config(
        resolution=resolution,
        channels=tuple(len(_array(conv, "bias")) for conv in convs),
        z_dim=int(_attribute(generator, "z_dim")),
        w_dim=int(_attribute(generator, "w_dim")),
        labels=int(_attribute(generator, "c_dim")),
        label_dim=len(_array(embed, "bias")) if embed else 0,
        mapping=tuple(len(_array(step, "bias")) for step in steps),
        architecture=str(_attribute(blocks[-1], "architecture")),
        noise=bool(_attribute(convs[0], "use_noise")),
        clamp=None if clamp is None else float(clamp),
    )


def _attribute(state: Mapping[str, Any], name: str) -> Any:
    if name not in state:
        raise WeightFileError(
            f"A part of the generator lacks {name} (attributes: {brief_names(k for k in state if k[:1] != '_')})"
        )
    return state[name]


def _expect(name: str, got: Any, wanted: Any) -> None:
    if got != wanted:
        raise WeightsError(
            f"{name} is {describe(got)}, not {wanted!r}", fix="This StyleGAN2 configuration is not supported."
        )


def _array(state: Mapping[str, Any], name: str) -> Array:
    for home in ("_parameters", "_buffers"):
        held = state.get(home)
        if isinstance(held, dict) and isinstance(held.get(name), np.ndarray):
            found: Array = held[name]
            return found
    raise WeightFileError(f"A part of the generator has no tensor {name!r}")


def _tensors(state: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Array]]:
    """Walk the modules and yield every tensor by its dotted name."""
    for home in ("_parameters", "_buffers"):
        for name, value in (state.get(home) or {}).items():
            if value is not None:
                yield f"{above}{name}", value
    for name, module in _modules(state).items():
        meta = module.args[0] if isinstance(module, Record) and module.args else {}
        inner = meta.get("state") if isinstance(meta, dict) else None
        if not isinstance(inner, dict):
            raise WeightFileError(f"The module {above}{describe(name)} is a {type(module).__name__} without a state")
        yield from _tensors(inner, f"{above}{name}.")


def _drop_filters(tensors: dict[str, Array]) -> None:
    """The low-pass filter is built in; a checkpoint with another one is not drawn rightly and so refused."""
    for name in [name for name in tensors if name.endswith("resample_filter")]:
        if tensors[name].shape != (4, 4) or not np.allclose(tensors.pop(name), _FIR, atol=1e-6):
            raise WeightsError(
                f"The low-pass filter {name!r} is not 1 3 3 1", fix="This StyleGAN2 configuration is not supported."
            )


def _renamed(config: Config, tensors: dict[str, Array], generator: Mapping[str, Any]) -> Iterator[tuple[str, Array]]:
    """Take every tensor out under its new name, with its gain multiplied in."""
    mapping = _child(generator, "mapping", "MappingNetwork")
    yield "mean_w", take(tensors, "mapping.w_avg")
    yield "const", take(tensors, "synthesis.b4.const")
    steps = [(f"mapping.{i}", f"fc{i}") for i in range(len(config.mapping))]
    for name, source in steps + ([("embed", "embed")] if config.labels else []):
        gains = _child(mapping, source, "FullyConnectedLayer")
        yield f"{name}.weight", take(tensors, f"mapping.{source}.weight") * float(_attribute(gains, "weight_gain"))
        yield f"{name}.bias", take(tensors, f"mapping.{source}.bias") * float(_attribute(gains, "bias_gain"))
    for i, size in enumerate(config.sizes):
        at = f"synthesis.b{size}"
        for conv in ("conv0", "conv1") if i else ("conv1",):
            yield from _modulated(config, tensors, f"{at}.{conv}", f"blocks.{i}.{conv}", gain=1.0)
            if config.noise:
                yield f"blocks.{i}.{conv}.noise", take(tensors, f"{at}.{conv}.noise_const")
                yield f"blocks.{i}.{conv}.noise_strength", take(tensors, f"{at}.{conv}.noise_strength")
        if config.architecture == "skip" or size == config.resolution:
            gain = config.channels[i] ** -0.5
            yield from _modulated(config, tensors, f"{at}.torgb", f"blocks.{i}.rgb", gain)
        if i and config.architecture == "resnet":
            yield f"blocks.{i}.skip", take(tensors, f"{at}.skip.weight") * config.channels[i - 1] ** -0.5


def _modulated(
    config: Config, tensors: dict[str, Array], source: str, name: str, gain: float
) -> Iterator[tuple[str, Array]]:
    yield f"{name}.style.weight", take(tensors, f"{source}.affine.weight") * config.w_dim**-0.5
    yield f"{name}.style.bias", take(tensors, f"{source}.affine.bias")
    yield f"{name}.weight", take(tensors, f"{source}.weight") * gain
    yield f"{name}.bias", take(tensors, f"{source}.bias")
