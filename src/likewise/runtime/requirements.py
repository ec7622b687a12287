"""What a component needs before it can be made: weights and optional packages, also those that its parts need.

``likewise check`` asks for this before any work, so the answer must come without the optional packages and without
the weights. A package that offers components names one function in the entry point group ``likewise.requirements``; it
takes the component's kind, name and options and returns its ``Requirements``, or None where it does not know it. A
component that is registered in the session may have an attribute ``requirements`` instead: a function of its options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any

from likewise.runtime.registry import components

Provider = Callable[[str, str, Mapping[str, Any]], "Requirements | None"]


@dataclass(frozen=True)
class Requirements:
    """Weights and packages that a component needs, directly or through its parts.

    Examples
    --------
    >>> detector = Requirements(weights=("retinaface",), packages=(("torch", "torch"),))
    >>> network = Requirements(weights=("faceplugin",), packages=(("onnxruntime", "onnx"),))
    >>> (network | detector).weights
    ('faceplugin', 'retinaface')
    """

    weights: tuple[str, ...] = ()
    """Names of the catalog, or paths."""
    packages: tuple[tuple[str, str], ...] = ()
    """Pairs of a module to import and the extra of likewise that installs it."""
    research_only: tuple[str, ...] = ()
    """Parts inside the package that are for research only, each with the reason."""

    def __or__(self, other: Requirements) -> Requirements:
        def both(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(dict.fromkeys((*a, *b)))

        return Requirements(
            both(self.weights, other.weights),
            both(self.packages, other.packages),
            both(self.research_only, other.research_only),
        )

    def missing_packages(self) -> dict[str, str]:
        """Return the packages that are not installed, each with the extra that installs it."""
        return {module: extra for module, extra in self.packages if find_spec(module) is None}


def requirements(kind: str, name: str, options: Mapping[str, Any] | None = None) -> Requirements:
    """Say what a component of this name and these options needs; nothing is imported or opened for it.

    Parameters
    ----------
    kind
        The component kind: generator, recognizer, classifier ...
    name
        The component's name, as ``likewise components`` lists it.
    options
        Its options, as in the plan.

    Returns
    -------
    Requirements
        Empty where nothing is known of the component.
    """
    given = dict(options or {})
    for provider in _providers():
        found = provider(kind, name, given)
        if found is not None:
            return found
    known = components(kind)
    own = getattr(known[name](), "requirements", None) if name in known else None
    return own(given) if callable(own) else Requirements()


@lru_cache(maxsize=1)
def _providers() -> tuple[Provider, ...]:
    return tuple(point.load() for point in entry_points(group="likewise.requirements"))
