"""MobileStyleGAN's export becomes one safetensors file with the names of ``likewise.models.generators.mobilestylegan``.

The table below says where each tensor comes from: a constant's own name where the export kept it, else the operation
that the constant feeds. A constant that no line takes is an error: a changed export cannot slip through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

from likewise.errors import WeightFileError, some
from likewise.weights.formats.openvino import Export, read_export

Array = npt.NDArray[np.float32]
LAYERS = 7
"""Above the first 4 px: 8, 16 ... 512 px; the wavelet at the end makes 1024."""
METADATA = {"network": "mobilestylegan", "form": "1"}
_MEAN_OF = 10_000  # latents behind mean_w; its standard error is a hundredth of the spread of W


def convert(members: Mapping[str, Path], target: Path) -> None:
    """Write the mapping and the synthesis network of an export, and the mean latent, to ``target``."""
    paths = {Path(name).name: path for name, path in members.items()}
    mapping = _taken(read_export(paths["MappingNetwork.xml"], paths["MappingNetwork.bin"]), _mapping)
    synthesis = _taken(read_export(paths["SynthesisNetwork.xml"], paths["SynthesisNetwork.bin"]), _synthesis)
    tensors = mapping | synthesis
    tensors["mean_w"] = _mean_w(mapping)
    save_file({name: np.ascontiguousarray(value) for name, value in tensors.items()}, target, METADATA)


class _Taker:
    """Takes constants out of an export and remembers which."""

    def __init__(self, export: Export) -> None:
        self.export, self.taken = export, set[str]()

    def by_name(self, name: str) -> Array:
        if name not in self.export.constants:
            raise WeightFileError(f"The export has no constant {name!r}")
        self.taken.add(name)
        return self.export.constants[name]

    def by_use(self, operation: str) -> Array:
        return self.by_name(self.export.feeding(operation))

    def expect(self, operation: str, values: npt.ArrayLike) -> None:
        """Take a constant that the network's code has built in, and make sure that it is this one."""
        got = self.by_use(operation)
        if not np.allclose(got, np.asarray(values, np.float32), rtol=1e-6, atol=0):
            raise WeightFileError(f"The constant of {operation!r} has unknown values: {got.ravel()[:4]}")

    def rest(self) -> list[str]:
        return sorted(set(self.export.constants) - self.taken)


def _taken(export: Export, table: Callable[[_Taker], Iterator[tuple[str, Array]]]) -> dict[str, Array]:
    taker = _Taker(export)
    tensors = dict(table(taker))
    if taker.rest():
        raise WeightFileError(f"Unknown constants in the export: {some(taker.rest())}")
    return tensors


def _mapping(take: _Taker) -> Iterator[tuple[str, Array]]:
    for operation, value in (("Pow_0", 2), ("Add_3", 1e-8), ("Sqrt_4/pow_", 0.5), ("Div_6/reciprocal_", -1)):
        take.expect(operation, value)
    take.expect("Div_6", 1)
    for i in range(8):
        yield f"mapping.{i}.weight", take.by_use(f"MatMul_{8 + 11 * i}")
        yield f"mapping.{i}.bias", take.by_use(f"Reshape_{14 + 11 * i}")
        take.expect(f"LeakyRelu_{16 + 11 * i}", 0.2)
        take.expect(f"Mul_{18 + 11 * i}" if i < 7 else "style", np.sqrt(2))


def _synthesis(take: _Taker) -> Iterator[tuple[str, Array]]:
    yield "input", take.by_name("m.input.input")[0]
    yield "conv1.weight", take.by_use("Conv_21")
    yield from _styled(take, "conv1", scale="Mul_19", noise="Add_40", relu="LeakyRelu_42")
    for layer in range(LAYERS):
        at, name = 100 * layer, f"layers.{layer}"
        yield from _style(take, f"{name}.up", f"m.{name}.up.modulation", 1.0)
        _expect_haar(take, 68 + at)
        for conv, first in (("conv1", 85), ("conv2", 118)):
            yield f"{name}.{conv}.depthwise", take.by_name(f"m.{name}.{conv}.conv.weight_dw")[:, 0]
            yield f"{name}.{conv}.pointwise", take.by_use(f"Conv_{first + 3 + at}")[:, :, 0, 0]
            numbers = {"scale": f"Mul_{first + at}", "noise": f"Add_{first + 22 + at}"}
            yield from _styled(take, f"{name}.{conv}", relu=f"LeakyRelu_{first + 24 + at}", **numbers)
    last = f"m.layers.{LAYERS - 1}.to_img"
    scale = float(take.by_use("Mul_751").item())
    yield from _style(take, "to_img.style", f"{last}.conv.modulation", scale)
    yield "to_img.weight", take.by_name(f"{last}.conv.weight")[:, :, 0, 0]
    yield "to_img.bias", take.by_name(f"{last}.bias").ravel()
    _expect_haar(take, 775)


def _styled(take: _Taker, name: str, *, scale: str, noise: str, relu: str) -> Iterator[tuple[str, Array]]:
    yield from _style(take, f"{name}.style", f"m.{name}.conv.modulation", float(take.by_use(scale).item()))
    yield f"{name}.noise", take.by_use(noise)[0]
    yield f"{name}.bias", take.by_name(f"m.{name}.bias").ravel()
    take.expect(relu, 0.2)


def _style(take: _Taker, name: str, source: str, scale: float) -> Iterator[tuple[str, Array]]:
    """The export multiplies a style by a constant afterwards; here the constant is inside the weights."""
    yield f"{name}.weight", take.by_name(f"{source}.weight") * np.float32(scale)
    yield f"{name}.bias", take.by_name(f"{source}.bias").ravel() * np.float32(scale)


def _expect_haar(take: _Taker, first: int) -> None:
    """Six transposed convolutions undo the wavelet: low and high pass down the columns, then along the rows."""
    half = np.sqrt(0.5)
    for number, high in ((0, False), (1, True), (3, False), (4, True), (6, False), (7, True)):
        filters = [half, -half] if high else [half, half]
        shape = (2, 1) if number < 6 else (1, 2)
        take.expect(f"ConvTranspose_{first + number}", np.reshape(filters, shape))


def _mean_w(mapping: Mapping[str, Array]) -> Array:
    z = np.random.default_rng(0).standard_normal((_MEAN_OF, 512))
    x = z / np.sqrt(np.square(z).mean(axis=1, keepdims=True) + 1e-8)
    for i in range(8):
        x = x @ mapping[f"mapping.{i}.weight"].T + mapping[f"mapping.{i}.bias"]
        x = np.where(x > 0, x, 0.2 * x) * np.sqrt(2)
    return np.asarray(x.mean(axis=0), np.float32)
