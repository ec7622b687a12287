"""A network as foreign formats describe it: named steps between named arrays, in TensorFlow's words.

The readers (tfjs, tflite, frozen) make a Graph; ``onnx_graph`` writes it as ONNX. Steps keep TensorFlow's conventions:
pictures are ``[n, H, W, C]``, kernels ``[H, W, in, out]``, depthwise kernels ``[H, W, in, multiplier]``. What a
format fuses (a convolution with its bias and its activation) comes as separate steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import WeightFileError, some


@dataclass(frozen=True)
class Step:
    """One operation; its result goes by its own name."""

    op: str
    name: str
    inputs: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Graph:
    """Inputs with their shapes (the first axis is the batch), constants, steps, and the names of the outputs."""

    inputs: Mapping[str, tuple[int, ...]]
    outputs: tuple[str, ...]
    constants: Mapping[str, npt.NDArray[Any]]
    steps: Sequence[Step]

    def ordered(self) -> list[Step]:
        """Return the steps that the outputs need, each after those it rests on."""
        by_name = {step.name: step for step in self.steps}
        done = set(self.inputs) | set(self.constants)
        order: list[Step] = []
        waiting = list(reversed(self.outputs))
        open_: set[str] = set()
        while waiting:
            name = waiting[-1]
            if name in done:
                waiting.pop()
                continue
            if name not in by_name:
                raise WeightFileError(f"{name!r} is an input of a step, but no step, constant or input of the graph")
            missing = [before for before in by_name[name].inputs if before not in done]
            if missing and name in open_:
                raise WeightFileError(f"The graph has a cycle through {some([name, *missing])}")
            open_.add(name)
            if missing:
                waiting += missing
            else:
                order.append(by_name[waiting.pop()])
                done.add(name)
        return order

    def constant(self, name: str, step: Step) -> npt.NDArray[Any]:
        """Return a constant that a step cannot do without."""
        if name not in self.constants:
            raise WeightFileError(f"{step.op} {step.name!r} needs a constant, but {name!r} is computed")
        return np.asarray(self.constants[name])


def with_activation(steps: list[Step], activation: str, extra: tuple[str, ...] = ()) -> None:
    """Give the last step's result to an activation, which takes over the last step's name."""
    last = steps.pop()
    before = f"{last.name}/before_activation"
    steps.append(Step(last.op, before, last.inputs, last.options))
    steps.append(Step(activation, last.name, (before, *extra)))
