"""Batch normalization folded into the convolution before it: the same function with half the tensors and steps.

A network that is only run (never trained) needs no statistics of its own: gamma (W x + b - mean) / sigma + beta is
again a convolution. The folding is done once, in double precision.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import WeightFileError, WeightsError, some

Tensors = dict[str, npt.NDArray[Any]]
PARTS = ("weight", "bias", "running_mean", "running_var")


class Donor:
    """Tensors of a checkpoint that are taken one by one; what is left in the end is an error."""

    def __init__(self, tensors: Mapping[str, npt.NDArray[Any]], source: str) -> None:
        self._left, self._source = dict(tensors), source

    def take(self, name: str) -> npt.NDArray[np.float64]:
        """Return a tensor, which is then gone."""
        if name not in self._left:
            raise WeightsError(f"{self._source} has no tensor {name!r}", fix="Check that it is the right file.")
        return np.asarray(self._left.pop(name), dtype=np.float64)

    def optional(self, name: str) -> npt.NDArray[np.float64] | float:
        """Return a tensor, or 0 where there is none."""
        return self.take(name) if name in self._left else 0.0

    def drop(self, ending: str) -> None:
        """Leave out tensors that nothing depends on."""
        self._left = {name: value for name, value in self._left.items() if not name.endswith(ending)}

    def done(self) -> None:
        """Refuse a file with tensors that the network has no use for."""
        if self._left:
            raise WeightFileError(
                f"{self._source} has tensors that the network does not use: {some(sorted(self._left))}"
            )


def fold(donor: Donor, convolution: str, norm: str, *, epsilon: float = 1e-5) -> tuple[Any, Any]:
    """Take a convolution ``[out, in, h, w]`` and the normalization after it; return its new weight and bias."""
    weight, bias = donor.take(f"{convolution}.weight"), donor.optional(f"{convolution}.bias")
    gamma, beta, mean, variance = (donor.take(f"{norm}.{part}") for part in PARTS)
    return folded(weight, bias, gamma, beta, mean, variance, epsilon=epsilon)


def folded(
    weight: Any, bias: Any, gamma: Any, beta: Any, mean: Any, variance: Any, *, epsilon: float
) -> tuple[Any, Any]:
    """Return weight and bias of a convolution that also normalizes."""
    factor = gamma / np.sqrt(variance + epsilon)
    return weight * factor[:, None, None, None], (bias - mean) * factor + beta


def torch_tensors(path: Path) -> Tensors:
    """Read a torch state dict as arrays; a file that holds anything but tensors is refused unread."""
    import torch  # noqa: PLC0415  # heavy, and only needed for this format

    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        return {name: tensor.numpy() for name, tensor in state.items()}
    except Exception as error:  # torch has many ways to say that this is no such file
        got = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
        raise WeightFileError(f"{path.name} is not a torch file of tensors only: {got}") from error


def write(target: Path, tensors: Mapping[str, npt.NDArray[Any]], network: str) -> None:
    """Write the tensors of a network as safetensors, which says whose they are."""
    from safetensors.numpy import save_file  # noqa: PLC0415  # of the extra that conversions need

    plain = {name: np.ascontiguousarray(value, dtype=np.float32) for name, value in tensors.items()}
    save_file(plain, target, metadata={"network": network})
