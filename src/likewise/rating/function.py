"""The classifier component ``function``: a Python function that the plan names, from an installed module."""

from __future__ import annotations

import re

import numpy as np

from likewise.errors import PluginError, SpecError
from likewise.rating.models import imported, labeled_scores
from likewise.runtime.registry import Array, Pictures

_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


class Function:
    """A classifier that is a function: ``function(pictures [n, H, W, 3] uint8) -> {label: confidences [n]}``.

    Naming it runs the module's code, so only a plan names it; the audit folder is not searched for modules.
    """

    license = "your own"

    def __init__(self, function: str, threshold: float = 0.5, name: str = "") -> None:
        if not _PATH.fullmatch(function):
            raise SpecError(
                f"function is {function[:80]!r}", fix="Write 'module:function', e.g. 'my_package.tagger:tag'."
            )
        if not 0 < threshold <= 1:
            raise SpecError(f"threshold is {threshold}", fix="Give a confidence above 0 and up to 1.")
        self.name, self.threshold = name or function, float(np.float32(threshold))
        self._call = imported(function)
        if not callable(self._call):
            raise PluginError(
                f"{function} is a {type(self._call).__name__}, not a function",
                fix="Name a function or a class with a method of this task.",
            )

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return the confidences ``[n]`` of each label."""
        return labeled_scores(self._call(pictures), len(pictures), self.name)
