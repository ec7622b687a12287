"""Any Python function that takes pictures and gives labels: named by the plan itself, from an installed module."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from likewise.errors import PluginError, SpecError
from likewise.plugins import Array, Pictures


class Function:
    """A classifier that is a function: ``function(pictures [n, H, W, 3] uint8) -> {label: confidences [n]}``.

    Naming it runs the module's code, so it stands in the plan and nowhere else; the audit folder is not searched.
    """

    licence = "your own"

    def __init__(self, function: str, threshold: float = 0.5, name: str = "") -> None:
        module, _, attribute = function.partition(":")
        if not all(part.isidentifier() for part in [*module.split("."), *attribute.split(".")]):
            raise SpecError("function is 'module:function'", got=repr(function))
        if not 0 < threshold <= 1:
            raise SpecError("threshold lies above 0 and is at most 1", got=str(threshold))
        self.name, self.threshold = name or function, float(np.float32(threshold))
        self._call = _found(module, attribute)

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return what the function returns, as float32."""
        given = self._call(pictures)
        if not isinstance(given, dict) or not all(isinstance(label, str) for label in given):
            raise PluginError(f"{self.name} returns a dict of label: confidences", got=type(given).__name__)
        return {label: np.asarray(values, dtype=np.float32) for label, values in given.items()}


def _found(module: str, attribute: str) -> Callable[[Pictures], Any]:
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        fix = "Install the module, or put its folder on PYTHONPATH."
        raise PluginError(f"{module}:{attribute} can be imported", got=str(error), fix=fix) from error
    if not callable(found):
        raise PluginError(f"{module}:{attribute} is a function", got=type(found).__name__)
    function: Callable[[Pictures], Any] = found
    return function
