"""Makes StyleGAN2 checkpoints of random weights in the byte structures of the real ones.

``raw`` draws the tensors in the convention of NVIDIA's PyTorch code (gains apart, kernels out x in x h x w); the makers
store them the way each code base does. The classes here only exist so that pickles name what real pickles name.
"""

from __future__ import annotations

import argparse
import math
import pickle
import sys
import types
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch

FIR = np.outer([1, 3, 3, 1], [1, 3, 3, 1]) / 64


@dataclass(frozen=True)
class Shape:
    """A small generator."""

    channels: tuple[int, ...] = (12, 10, 8)
    z_dim: int = 16
    w_dim: int = 16
    mapping: tuple[int, ...] = (16, 16)
    labels: int = 0
    architecture: str = "skip"
    noise: bool = True
    clamp: float | None = None

    @property
    def sizes(self):
        return [4 * 2**i for i in range(len(self.channels))]


def raw(shape: Shape, seed: int) -> dict[str, np.ndarray]:
    """Draw the tensors of a generator, by the names of NVIDIA's PyTorch code."""
    rng = np.random.default_rng(seed)
    made: dict[str, np.ndarray] = {}

    def add(name, *size, scale=1.0, around=0.0):
        made[name] = (around + scale * rng.normal(size=size)).astype(np.float32)

    if shape.labels:
        add("mapping.embed.weight", shape.w_dim, shape.labels)
        add("mapping.embed.bias", shape.w_dim, scale=0.1)
    widths = (shape.z_dim + (shape.w_dim if shape.labels else 0), *shape.mapping)
    for i, (below, here) in enumerate(pairwise(widths)):
        add(f"mapping.fc{i}.weight", here, below, scale=100)
        add(f"mapping.fc{i}.bias", here, scale=10)
    add("mapping.w_avg", shape.w_dim, scale=0.3)
    add("synthesis.b4.const", shape.channels[0], 4, 4)
    for i, size in enumerate(shape.sizes):
        below, here, at = shape.channels[max(i - 1, 0)], shape.channels[i], f"synthesis.b{size}"
        parts = ([("conv0", below, 3)] if i else []) + [("conv1", here, 3)]
        if shape.architecture == "skip" or i == len(shape.sizes) - 1:
            parts.append(("torgb", here, 1))
        for part, channels, kernel in parts:
            add(f"{at}.{part}.affine.weight", channels, shape.w_dim)
            add(f"{at}.{part}.affine.bias", channels, scale=0.2, around=1)
            add(f"{at}.{part}.weight", 3 if kernel == 1 else here, channels, kernel, kernel)
            add(f"{at}.{part}.bias", 3 if kernel == 1 else here, scale=0.3)
            if kernel == 3 and shape.noise:
                add(f"{at}.{part}.noise_const", size, size)
                add(f"{at}.{part}.noise_strength", scale=0.2)
        if i and shape.architecture == "resnet":
            add(f"{at}.skip.weight", here, below, 1, 1)
    return made


@contextmanager
def modules(**named):
    """Let modules of these names be importable while a pickle is written."""
    fresh = {}
    for name, members in named.items():
        path = name.replace("__", ".")
        module = types.ModuleType(path)
        for member in members:
            member.__module__ = path
            setattr(module, member.__name__, member)
        for n in range(1, path.count(".") + 2):
            fresh.setdefault(".".join(path.split(".")[:n]), types.ModuleType(path))
        fresh[path] = module
    old = {name: sys.modules.get(name) for name in fresh}
    sys.modules.update(fresh)
    try:
        yield
    finally:
        for name, module in old.items():
            sys.modules.pop(name) if module is None else sys.modules.update({name: module})


def _reconstruct_persistent_obj(meta):
    raise AssertionError("the file's own code must not run")


class EasyDict(dict):
    pass


class Network:
    """TensorFlow's: its state is all that is pickled."""

    def __init__(self, **state):
        self.state = state

    def __getstate__(self):
        return self.state


class _Persistent:
    def __init__(self, kind, state):
        self.kind, self.state = kind, state

    def __reduce__(self):
        source = "import os\nraise SystemError('ran the source of a pickle')\n"
        meta = {"type": "class", "version": 6, "module_src": source, "class_name": self.kind, "state": self.state}
        return _reconstruct_persistent_obj, (meta,), None


_KINDS = {
    "mapping": "MappingNetwork", "synthesis": "SynthesisNetwork", "embed": "FullyConnectedLayer",
    "affine": "FullyConnectedLayer", "conv0": "SynthesisLayer", "conv1": "SynthesisLayer", "torgb": "ToRGBLayer",
    "skip": "Conv2dLayer",
}  # fmt: skip
_BUFFERS = {"noise_const", "w_avg", "resample_filter"}


def nvidia(path, shape: Shape, tensors, *, protocol=4, change=None):
    """Write a pickle like those of stylegan2-ada-pytorch."""
    tree: dict = {}
    filtered = dict(tensors)
    for name in tensors:
        if name.endswith(("conv0.bias", "conv1.bias")):
            filtered[name.replace("bias", "resample_filter")] = FIR.astype(np.float32)
            filtered[name.rsplit(".", 2)[0] + ".resample_filter"] = FIR.astype(np.float32)
    for name, value in filtered.items():
        *above, last = name.split(".")
        node = tree
        for part in above:
            node = node.setdefault(part, {})
        node[last] = torch.from_numpy(np.array(value))
    extra = {"img_resolution": shape.sizes[-1], "img_channels": 3, "z_dim": shape.z_dim, "w_dim": shape.w_dim}
    made = _module("Generator", tree, shape, extra | {"c_dim": shape.labels})
    held = {"G": made, "D": None, "G_ema": made, "training_set_kwargs": EasyDict(path="x.zip"), "augment_pipe": None}
    if change:
        change(held)
    with modules(torch_utils__persistence=[_reconstruct_persistent_obj], dnnlib__util=[EasyDict]):
        path.write_bytes(pickle.dumps(held, protocol=protocol))


def _module(kind, tree, shape, extra):
    state = {"training": False, "_parameters": OrderedDict(), "_buffers": OrderedDict(), "_modules": OrderedDict()}
    state |= {"_non_persistent_buffers_set": set(), "_backward_hooks": OrderedDict(), **extra}
    for name, value in tree.items():
        if isinstance(value, dict):
            state["_modules"][name] = _module(_kind(name), value, shape, _attributes(name, value, shape))
        elif name in _BUFFERS:
            state["_buffers"][name] = value
        else:
            state["_parameters"][name] = torch.nn.Parameter(value)
    return _Persistent(kind, state)


def _kind(name):
    return _KINDS.get(name) or ("SynthesisBlock" if name[0] == "b" else "FullyConnectedLayer")


def _attributes(name, tree, shape):
    if name == "mapping":
        return {"num_layers": len(shape.mapping), "_init_kwargs": EasyDict(num_ws=2 * len(shape.channels))}
    if name.startswith("fc") or name in {"embed", "affine"}:
        lr = 0.01 if name.startswith("fc") else 1
        gain = np.float64(lr / np.sqrt(tree["weight"].shape[1]))
        return {"activation": "lrelu" if name.startswith("fc") else "linear", "weight_gain": gain, "bias_gain": lr}
    if name in {"conv0", "conv1"}:
        return {"activation": "lrelu", "use_noise": shape.noise, "conv_clamp": shape.clamp}
    return {"architecture": shape.architecture} if name[0] == "b" else {}


def tensorflow(path, shape: Shape, tensors, *, protocol=3, change=None, **kwargs):
    """Write a tuple (G, D, Gs) like those of the TensorFlow code."""
    top, mapping, synthesis = [("lod", np.float32(0)), ("dlatent_avg", tensors["mapping.w_avg"])], [], []
    for name, value in tensors.items():
        parts = name.split(".")
        if parts[0] == "mapping" and len(parts) == 3:
            layer = "LabelEmbed" if parts[1] == "embed" else f"Dense{parts[1][2:]}"
            mapping.append((f"{layer}/{parts[2]}", value.T))
        elif parts[0] == "synthesis":
            synthesis.append(_variable(name, value, shape))
    options = {"resolution": shape.sizes[-1], "num_channels": 3, "label_size": shape.labels, "fmap_max": 512, **kwargs}
    options |= {"architecture": shape.architecture} | ({"conv_clamp": shape.clamp} if shape.clamp else {})
    code = {"build_module_src": "raise SystemError('ran')", "build_func_name": "G_main", "version": 4}
    inner = [
        Network(name=n, static_kwargs={}, components={}, variables=v, **code)
        for n, v in (("m", mapping), ("s", synthesis))
    ]
    components = dict(zip(("mapping", "synthesis"), inner, strict=True))
    generator = Network(name="Gs", static_kwargs=options, components=components, variables=top, **code)
    empty = Network(name="D", static_kwargs={}, components={}, variables=[], **code)
    held = (generator, empty, generator)
    if change:
        change(generator.state)
    with modules(dnnlib__tflib__network=[Network], dnnlib__util=[EasyDict]):
        path.write_bytes(pickle.dumps(held, protocol=protocol))


def _variable(name, value, shape):
    _, block, *rest = name.split(".")
    size = int(block[1:])
    layer = {"conv0": "Conv0_up", "conv1": "Conv1" if size > 4 else "Conv", "torgb": "ToRGB", "skip": "Skip"}.get(
        rest[0]
    )
    if rest[0] == "const":
        return f"{size}x{size}/Const/const", value[None]
    if rest[-1] == "noise_const":
        number = 0 if size == 4 else int(math.log2(size)) * 2 - (5 if rest[0] == "conv0" else 4)
        return f"noise{number}", value[None, None]
    at = f"{size}x{size}/{layer}"
    if layer == "ToRGB" and shape.architecture == "orig":
        at = "ToRGB_lod0"
    if rest[1] == "affine":
        return (f"{at}/mod_weight", value.T) if rest[2] == "weight" else (f"{at}/mod_bias", value - 1)
    if rest[1] == "weight":
        kernel = value.transpose(2, 3, 1, 0)
        return f"{at}/weight", kernel[::-1, ::-1] if layer in {"Conv0_up", "Skip"} else kernel
    return f"{at}/{rest[1]}", value


def rosinality(path, shape: Shape, tensors, *, change=None, mean=True):  # noqa: PLR0912
    """Write a .pt like those of the PyTorch re-implementation."""
    made = OrderedDict()
    kernel = (FIR * 4).astype(np.float32)
    for name, value in tensors.items():
        parts = name.split(".")
        if parts[0] == "mapping":
            if parts[1] != "w_avg":
                made[f"style.{int(parts[1][2:]) + 1}.{parts[2]}"] = value
            continue
        i = shape.sizes.index(int(parts[1][1:]))
        number = {"conv0": 2 * i - 2, "conv1": 2 * i - 1}.get(parts[2], 0)
        conv = f"convs.{number}" if i else "conv1"
        rgb = f"to_rgbs.{i - 1}" if i else "to_rgb1"
        at = rgb if parts[2] == "torgb" else conv
        if parts[2] == "const":
            made["input.input"] = value[None]
        elif parts[3] == "affine":
            made[f"{at}.conv.modulation.{parts[4]}"] = value
        elif parts[3] == "weight":
            made[f"{at}.conv.weight"] = value[None]
            if i and parts[2] in {"conv0", "torgb"}:
                made[f"{at}.conv.blur.kernel" if parts[2] == "conv0" else f"{at}.upsample.kernel"] = kernel
        elif parts[3] == "bias":
            made.update({f"{at}.bias": value[None, :, None, None]} if at == rgb else {f"{at}.activate.bias": value})
        elif parts[3] == "noise_strength":
            made[f"{at}.noise.weight"] = value[None]
        else:
            made[f"noises.noise_{number + 1 if i else 0}"] = value[None, None]
    if not shape.noise:
        for name in [n for n in made if n.endswith("activate.bias")]:
            made[name.replace("activate.bias", "noise.weight")] = np.ones(1, np.float32)
    state = OrderedDict((name, torch.from_numpy(np.array(value))) for name, value in made.items())
    held = {"g": state, "g_ema": state, "args": argparse.Namespace(size=shape.sizes[-1]), "g_optim": {"state": {}}}
    if mean:
        held["latent_avg"] = torch.from_numpy(tensors["mapping.w_avg"])
    if change:
        change(state)
    torch.save(held, path)
