"""Component kinds and their contracts: generator, editor, recognizer, classifier, perceptual distance and crowd.

A component is a class (or function) that is registered under a kind and a name: by ``register`` for this session, or
by an entry point in the group ``likewise.<kind>`` of any installed package. Its keyword arguments are its options; a
misspelled option is an error.

Components exchange images in two forms. *Pictures* are uint8 ``[n, H, W, 3]``, RGB: file contents and input of raters.
*Signals* are float32 ``[n, 3, H, W]`` in [-1, 1]: output of generators and input of perceptual distances.
"""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from likewise.errors import LikewiseError, PluginError, nearest, some
from likewise.tables import Ratings, Trials

Pictures = npt.NDArray[np.uint8]
Signals = npt.NDArray[np.float32]
Array = npt.NDArray[np.float32]
Look = Callable[[list[str]], Pictures]
"""Returns the pictures of these images: how a component that needs pixels gets them."""


class Component(Protocol):
    """What every component declares; both are recorded in the sidecar of every artifact it contributed to."""

    name: str
    license: str


class Generator(Component, Protocol):
    """Synthesizes an image from a latent of ``rows`` x ``dim`` numbers (W+)."""

    rows: int
    dim: int
    resolution: int

    def mean_w(self) -> Array:
        """The mean latent, ``[dim]``."""

    def sample_w(self, n: int, seed: int) -> Array:
        """Sample ``[n, dim]`` latents; the same seed gives the same latents."""

    def synthesize(self, w: Array) -> Signals:
        """Synthesize signals ``[n, 3, resolution, resolution]`` from ``w [n, rows, dim]``; smooth in ``w``."""


class Editor(Component, Protocol):
    """Changes one attribute of a picture and keeps everything else."""

    attribute: str

    def edit(self, pictures: Pictures, level: float) -> Pictures:
        """Return pictures edited to strength ``level``: -1 reference, +1 focal level; beyond is extrapolation."""


class Recognizer(Component, Protocol):
    """Measures the distance between two faces."""

    family: str
    threshold: float

    def embed(self, pictures: Pictures) -> Array:
        """Return embeddings ``[n, d]``; a row of NaN where no face was detected."""

    def distance(self, a: Array, b: Array) -> Array:
        """Return the distances ``[n]`` of embeddings row by row; NaN where either embedding is NaN."""


class Classifier(Component, Protocol):
    """Assigns labels with a confidence."""

    threshold: float

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return the confidence ``[n]`` of each label; a label is present where it reaches ``threshold``."""


class Perceptual(Component, Protocol):
    """Measures the perceptual distance between two images."""

    def features(self, signals: Signals) -> Array:
        """Return features ``[n, d]``; unless the component defines otherwise, the distance is their mean square."""

    def distance(self, a: Signals, b: Signals) -> Array:
        """Return the distances ``[n]`` of signals row by row."""


class Crowd(Component, Protocol):
    """People's responses to trials: from a file, a study, or simulated raters."""

    def answers(self, trials: Trials, look: Look, seed: int) -> Ratings:
        """Return the responses to these trials."""


KINDS: dict[str, type] = {
    "generator": Generator,
    "editor": Editor,
    "recognizer": Recognizer,
    "classifier": Classifier,
    "perceptual": Perceptual,
    "crowd": Crowd,
}
"""The contract of each component kind."""
_OLD_GROUPS = {"recognizer": "likewise.recogniser"}
"""Entry-point groups by their former British spelling; read for one release."""
_OLD_MEMBERS = {"licence": "license", "synthesise": "synthesize"}
_REGISTERED: dict[tuple[str, str], Callable[..., Any]] = {}


def register(kind: str, name: str, factory: Callable[..., Any]) -> None:
    """Register a component for this session.

    Parameters
    ----------
    kind
        ``generator``, ``editor``, ``recognizer``, ``classifier``, ``perceptual`` or ``crowd``.
    name
        The name by which plans and calls refer to it; replaces a component of the same name.
    factory
        A class or function; its keyword arguments are the component's options.

    Examples
    --------
    >>> class Constant:
    ...     name, license, threshold = "constant", "MIT", 0.5
    ...
    ...     def score(self, pictures):
    ...         return {"Person": np.ones(len(pictures), np.float32)}
    >>> register("classifier", "constant", Constant)
    >>> create("classifier", "constant").name
    'constant'
    """
    _check_kind(kind)
    _REGISTERED[kind, name] = factory


def components(kind: str) -> dict[str, Callable[[], Callable[..., Any]]]:
    """Return the components of a kind by name, each with a function that loads its factory."""
    _check_kind(kind)
    points: list[EntryPoint] = [*_old_points(kind), *entry_points(group=f"likewise.{kind}")]
    found: dict[str, Callable[[], Callable[..., Any]]] = {point.name: point.load for point in points}
    for (home, name), factory in _REGISTERED.items():
        if home == kind:
            found[name] = lambda factory=factory: factory  # type: ignore[misc]
    return dict(sorted(found.items()))


def _old_points(kind: str) -> list[EntryPoint]:
    """Return entry points under a former group name; our own stale ones (an old installation) are ignored."""
    group = _OLD_GROUPS.get(kind)
    points = [point for point in entry_points(group=group) if not point.value.startswith("likewise.")] if group else []
    if points:
        text = f"Entry point group {group!r} is now 'likewise.{kind}' (used by {some(p.name for p in points)})"
        warnings.warn(text, DeprecationWarning, stacklevel=3)
    return points


def create(kind: str, name: str, options: Mapping[str, Any] | None = None) -> Any:
    """Create a component with these options and check the contract of its kind.

    Raises
    ------
    PluginError
        The kind, the name or an option is unknown; the component cannot be loaded or breaks its contract.
    """
    known = components(kind)
    if name not in known:
        fix = nearest(name, known) or f"Available: {some(known, 12)}."
        raise PluginError(f"Unknown {kind} {name[:80]!r}", fix=fix)
    try:
        factory = known[name]()
    except Exception as error:  # a third-party module may fail in any way on import
        raise PluginError(
            f"Cannot load the {kind} {name!r}: {type(error).__name__}: {error}",
            fix="Install what it imports; likewise --debug shows the traceback.",
        ) from error
    _check_options(kind, name, factory, options or {})
    component = _built(kind, name, factory, options or {})
    _read_old_spelling(kind, name, component)
    _check_contract(kind, name, component)
    return component


def _built(kind: str, name: str, factory: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    try:
        return factory(**options)
    except LikewiseError:
        raise
    except Exception as error:
        raise PluginError(
            f"Cannot create the {kind} {name!r}: {type(error).__name__}: {error}",
            fix="Check its options in the plan; likewise --debug shows the traceback.",
        ) from error


def _read_old_spelling(kind: str, name: str, component: object) -> None:
    """Set renamed members on a component that was written for an older version; removed in the next release."""
    for old, new in _OLD_MEMBERS.items():
        if hasattr(component, old) and not hasattr(component, new):
            warnings.warn(
                f"The {kind} {name!r} defines {old!r}, which is now {new!r}", DeprecationWarning, stacklevel=3
            )
            with contextlib.suppress(AttributeError):  # a frozen component stays as it is and fails its contract
                object.__setattr__(component, new, getattr(component, old))


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        fix = nearest(kind, KINDS) or f"Choose one of {some(KINDS, 8)}."
        raise PluginError(f"Unknown component kind {kind[:80]!r}", fix=fix)


def _check_options(kind: str, name: str, factory: Callable[..., Any], options: Mapping[str, Any]) -> None:
    parameters = inspect.signature(factory).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return  # it takes any option and checks them itself
    known = [parameter.name for parameter in parameters]
    for option in options:
        if option not in known:
            fix = nearest(option, known) or (f"Its options are {some(known, 8)}." if known else "It has no options.")
            raise PluginError(f"The {kind} {name!r} has no option {option[:80]!r}", fix=fix)


def _check_contract(kind: str, name: str, component: object) -> None:
    contract = KINDS[kind]
    members = {key for base in contract.__mro__ for key in getattr(base, "__annotations__", {})}
    members |= {key for key, value in vars(contract).items() if callable(value) and not key.startswith("_")}
    missing = sorted(member for member in members if not hasattr(component, member))
    if missing:
        fix = f"A {kind} must define {some(sorted(members), 12)}."
        raise PluginError(f"The {kind} {name!r} lacks {some(missing, 8)}", fix=fix)


def to_signals(pictures: Pictures) -> Signals:
    """Convert pictures (bytes, channels last) to signals (floats, channels first).

    >>> to_signals(np.zeros((1, 2, 2, 3), np.uint8)).shape
    (1, 3, 2, 2)
    """
    scaled = pictures.astype(np.float32) / np.float32(127.5) - np.float32(1)
    return np.ascontiguousarray(np.moveaxis(scaled, -1, 1))


def to_pictures(signals: Signals) -> Pictures:
    """Convert signals to pictures, rounding to the nearest byte."""
    scaled = np.clip(np.rint((np.moveaxis(signals, 1, -1) + 1) * 127.5), 0, 255)
    return np.ascontiguousarray(scaled.astype(np.uint8))
