"""The slots: what a generator, an editor, a recogniser, a classifier, a perceptual distance and a crowd must do.

An occupant is a class (or function) that is registered under a slot and a name: by ``register`` in the session,
or by an entry point in the group ``likewise.<slot>`` of any installed package. Its keyword arguments are its
options; a misspelt option is an error.

Two forms of image cross the slots. *Pictures* are uint8 ``[n, H, W, 3]``, RGB: what files hold and raters see.
*Signals* are float32 ``[n, 3, H, W]`` in [-1, 1]: what generators make and perceptual distances compare.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from likewise.errors import LikewiseError, PluginError, nearest, some
from likewise.tables import Pairs, Ratings

Pictures = npt.NDArray[np.uint8]
Signals = npt.NDArray[np.float32]
Array = npt.NDArray[np.float32]
Look = Callable[[list[str]], Pictures]
"""Shows the pictures of these images: how an occupant that needs pixels gets them."""


class Occupant(Protocol):
    """What all occupants say of themselves; both end up in the sidecar of every artefact they had a part in."""

    name: str
    licence: str


class Generator(Occupant, Protocol):
    """Draws an image from a latent of ``rows`` x ``dim`` numbers (W+)."""

    rows: int
    dim: int
    resolution: int

    def mean_w(self) -> Array:
        """The mean latent, ``[dim]``."""

    def sample_w(self, n: int, seed: int) -> Array:
        """Draw ``[n, dim]`` latents; the same seed gives the same latents."""

    def synthesise(self, w: Array) -> Signals:
        """Draw the signals ``[n, 3, resolution, resolution]`` of ``w [n, rows, dim]``; smooth in ``w``."""


class Editor(Occupant, Protocol):
    """Moves one attribute of a picture and leaves everything else."""

    attribute: str

    def edit(self, pictures: Pictures, level: float) -> Pictures:
        """Return pictures whose attribute stands at ``level``: -1 reference, +1 focal, beyond is extrapolation."""


class Recogniser(Occupant, Protocol):
    """Says how far apart two faces are."""

    family: str
    threshold: float

    def embed(self, pictures: Pictures) -> Array:
        """Return ``[n, d]``; a row of NaN means that no face was found, which is an answer."""

    def distance(self, a: Array, b: Array) -> Array:
        """Return the distances ``[n]`` of embeddings row by row; NaN where one of them is."""


class Classifier(Occupant, Protocol):
    """Gives labels with a confidence."""

    threshold: float

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return for each label the confidence ``[n]``; it is present where that reaches ``threshold``."""


class Perceptual(Occupant, Protocol):
    """Says how different two images look."""

    def features(self, signals: Signals) -> Array:
        """Return ``[n, d]`` features; the distance is their mean squared difference, or as the occupant says."""

    def distance(self, a: Signals, b: Signals) -> Array:
        """Return the distances ``[n]`` of signals row by row."""


class Crowd(Occupant, Protocol):
    """People who were asked about trials: a file of their answers, or simulated raters."""

    def answers(self, trials: Pairs, look: Look, seed: int) -> Ratings:
        """Return what was answered about these trials."""


SLOTS: dict[str, type] = {
    "generator": Generator,
    "editor": Editor,
    "recogniser": Recogniser,
    "classifier": Classifier,
    "perceptual": Perceptual,
    "crowd": Crowd,
}
_REGISTERED: dict[tuple[str, str], Callable[..., Any]] = {}


def register(slot: str, name: str, factory: Callable[..., Any]) -> None:
    """Put an occupant into a slot for this session."""
    _check_slot(slot)
    _REGISTERED[slot, name] = factory


def occupants(slot: str) -> dict[str, Callable[[], Callable[..., Any]]]:
    """Name the occupants of a slot, each with a function that loads its factory."""
    _check_slot(slot)
    found: dict[str, Callable[[], Callable[..., Any]]] = {
        point.name: point.load for point in entry_points(group=f"likewise.{slot}")
    }
    for (home, name), factory in _REGISTERED.items():
        if home == slot:
            found[name] = lambda factory=factory: factory  # type: ignore[misc]
    return dict(sorted(found.items()))


def create(slot: str, name: str, options: Mapping[str, Any] | None = None) -> Any:
    """Make the occupant of this name with these options, and hold it to the slot's contract."""
    known = occupants(slot)
    if name not in known:
        fix = nearest(name, known) or f"There is {some(known, 8)}."
        raise PluginError(f"the slot {slot!r} has an occupant {name!r}", got="none of that name", fix=fix)
    try:
        factory = known[name]()
    except Exception as error:  # a stranger's module may fail in any way on import
        raise PluginError(f"the {slot} {name!r} can be loaded", got=f"{type(error).__name__}: {error}") from error
    _check_options(slot, name, factory, options or {})
    occupant = _built(slot, name, factory, options or {})
    _check_contract(slot, name, occupant)
    return occupant


def _built(slot: str, name: str, factory: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    try:
        return factory(**options)
    except LikewiseError:
        raise
    except Exception as error:
        raise PluginError(f"the {slot} {name!r} can be made", got=f"{type(error).__name__}: {error}") from error


def _check_slot(slot: str) -> None:
    if slot not in SLOTS:
        raise PluginError(f"a slot is one of {some(SLOTS, 8)}", got=repr(slot), fix=nearest(slot, SLOTS))


def _check_options(slot: str, name: str, factory: Callable[..., Any], options: Mapping[str, Any]) -> None:
    known = [p.name for p in inspect.signature(factory).parameters.values() if p.kind is not p.VAR_KEYWORD]
    for option in options:
        if option not in known:
            fix = nearest(option, known) or (f"Its options are {some(known, 8)}." if known else "It has no options.")
            raise PluginError(f"the {slot} {name!r} has no option {option!r}", fix=fix)


def _check_contract(slot: str, name: str, occupant: object) -> None:
    contract = SLOTS[slot]
    members = {key for base in contract.__mro__ for key in getattr(base, "__annotations__", {})}
    members |= {key for key, value in vars(contract).items() if callable(value) and not key.startswith("_")}
    missing = sorted(member for member in members if not hasattr(occupant, member))
    if missing:
        raise PluginError(f"the {slot} {name!r} keeps its contract", got=f"no {some(missing, 8)}")


def to_signals(pictures: Pictures) -> Signals:
    """Turn pictures (bytes, channels last) into signals (floats, channels first)."""
    scaled = pictures.astype(np.float32) / np.float32(127.5) - np.float32(1)
    return np.ascontiguousarray(np.moveaxis(scaled, -1, 1))


def to_pictures(signals: Signals) -> Pictures:
    """Turn signals into pictures, rounding to the nearest byte."""
    scaled = np.clip(np.rint((np.moveaxis(signals, 1, -1) + 1) * 127.5), 0, 255)
    return np.ascontiguousarray(scaled.astype(np.uint8))
