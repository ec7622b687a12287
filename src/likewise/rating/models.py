"""Models under audit, however they are given: a name, a Python object or callable, ``module:Class``, an ONNX file.

``resolve_model`` turns all of them into an object that keeps the contract of its kind (``runtime.registry``).
"""

from __future__ import annotations

import importlib
import inspect
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import InputError, PluginError, SpecError, some
from likewise.runtime.registry import Array, Pictures, create

RECOGNIZER, CLASSIFIER = KINDS = ("recognizer", "classifier")
_METHOD = {RECOGNIZER: "embed", CLASSIFIER: "score"}
_IMPORTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_PRESENT = 0.5


def resolve_model(kind: str, model: Any, options: Mapping[str, Any] | None = None) -> Any:
    """Return a recognizer or a classifier that keeps its contract.

    Parameters
    ----------
    kind : {"recognizer", "classifier"}
        What the model is used as.
    model : object, callable, str or Path
        An object with ``embed`` (and optionally ``distance``, ``threshold``) or with ``score``; a callable that takes
        pictures ``[n, H, W, 3]`` and returns embeddings ``[n, d]``, or labels (see ``FunctionClassifier``); the name
        of a component; ``"module:Class"`` or ``"module:function"``; an ONNX file with its card beside it
        (``net.onnx`` and ``net.toml``), or the card itself.
    options : mapping, optional
        Options of a component or a class; of an ONNX file without a card, the keys of the card.

    Returns
    -------
    Recognizer or Classifier

    Raises
    ------
    PluginError
        The model is unknown, cannot be loaded or has neither the methods nor a call.
    SpecError
        Options are given to an object that is made already.

    Examples
    --------
    >>> import numpy as np
    >>> mean_color = resolve_model("recognizer", lambda pictures: pictures.mean(axis=(1, 2)))
    >>> mean_color.embed(np.zeros((2, 8, 8, 3), np.uint8)).shape
    (2, 3)
    >>> resolve_model("recognizer", "world").name
    'world-recognizer'
    """
    if kind not in KINDS:
        raise SpecError(f"Unknown kind of model: {kind!r}", fix="Choose 'recognizer' or 'classifier'.")
    given = dict(options or {})
    if isinstance(model, Path) or (isinstance(model, str) and model.lower().endswith((".onnx", ".toml"))):
        return _from_file(kind, Path(model), given)
    if isinstance(model, str) and _IMPORTED.fullmatch(model):
        return _adapted(kind, imported(model), given, model)
    if isinstance(model, str):
        return create(kind, model, given)
    return _adapted(kind, model, given, "")


class FunctionRecognizer:
    """A recognizer from an object with ``embed``, or from a function of pictures; what it lacks has a default.

    The distance is the object's own, or the cosine distance. Without a threshold of its own it has NaN, and rates that
    need a threshold are then estimated at given false match rates only.
    """

    def __init__(self, model: Any, name: str = "") -> None:
        self._embed: Callable[[Pictures], Any] = model.embed if hasattr(model, "embed") else model
        self._distance = getattr(model, "distance", cosine_distance)
        self.name = str(getattr(model, "name", "") or name or _name_of(model))
        self.license = str(getattr(model, "license", "your own"))
        self.family = str(getattr(model, "family", self.name))
        self.threshold = float(getattr(model, "threshold", np.nan))

    def embed(self, pictures: Pictures) -> Array:
        """Return ``[n, d]``; a row of NaN where no face was detected."""
        return np.asarray(self._embed(pictures), dtype=np.float32)

    def distance(self, a: Array, b: Array) -> Array:
        """Return the distances ``[n]``, row by row."""
        return np.asarray(self._distance(a, b), dtype=np.float32)


class FunctionClassifier:
    """A classifier from an object with ``score``, or from a function of pictures.

    A function may return a mapping or a DataFrame of label: confidences ``[n]``; one mapping of label: confidence a
    picture; numbers ``[n]`` or ``[n, k]``; or one word a picture, which is then the only label that is present.
    """

    def __init__(self, model: Any, name: str = "") -> None:
        self._score: Callable[[Pictures], Any] = model.score if hasattr(model, "score") else model
        self.name = str(getattr(model, "name", "") or name or _name_of(model))
        self.license = str(getattr(model, "license", "your own"))
        self.threshold = float(np.float32(getattr(model, "threshold", _PRESENT)))

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return the confidence ``[n]`` of each label."""
        return labeled_scores(self._score(pictures), len(pictures), self.name)


def labeled_scores(given: Any, n: int, name: str) -> dict[str, Array]:
    """Read what a function returned about ``n`` pictures as confidences by label."""
    if hasattr(given, "items"):  # a mapping, or a DataFrame
        return {str(label): np.asarray(values, dtype=np.float32) for label, values in given.items()}
    if isinstance(given, Sequence) and len(given) == n and any(isinstance(each, Mapping) for each in given):
        return _by_picture(given, name)
    values = np.asarray(given)
    if values.ndim not in (1, 2) or len(values) != n:
        fix = "Return a dict of label: confidences, an array [n, labels], or one word a picture."
        raise PluginError(f"{name} returned {_shape_of(given)} for {n} pictures", fix=fix)
    if values.dtype.kind in "USO" and values.ndim == 1:
        words = [None if word is None else str(word) for word in values.tolist()]
        return {label: _one_hot(words, label) for label in sorted({word for word in words if word is not None})}
    if values.dtype.kind not in "fiub":
        raise PluginError(f"{name} returned values of type {values.dtype}", fix="Return numbers or words.")
    if values.ndim == 1:
        return {"score": values.astype(np.float32)}
    return {f"label {k + 1}": values[:, k].astype(np.float32) for k in range(values.shape[1])}


def _by_picture(given: Sequence[Any], name: str) -> dict[str, Array]:
    """Read one mapping of label: confidence a picture; None is no answer, a label that is left out has confidence 0."""
    if not all(each is None or isinstance(each, Mapping) for each in given):
        kinds = some(sorted({type(each).__name__ for each in given}))
        raise PluginError(
            f"{name} returned a list of {kinds}", fix="Return one dict of label: confidence a picture, or None."
        )
    labels = sorted({str(label) for each in given if each is not None for label in each})
    rows = [None if each is None else {str(label): value for label, value in each.items()} for each in given]
    return {
        label: np.array([np.nan if row is None else row.get(label, 0.0) for row in rows], dtype=np.float32)
        for label in labels
    }


def cosine_distance(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Return 1 - cos of the angle between embeddings, row by row.

    >>> cosine_distance([[1.0, 0.0]], [[0.0, 2.0]])
    array([1.], dtype=float32)
    """
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return np.asarray(1 - (first * second).sum(axis=1) / np.maximum(lengths, 1e-12), dtype=np.float32)


def _one_hot(words: list[str | None], label: str) -> Array:
    return np.array([np.nan if word is None else float(word == label) for word in words], dtype=np.float32)


def _adapted(kind: str, model: Any, options: dict[str, Any], name: str) -> Any:
    """Wrap an object, a class or a function; an object that keeps the whole contract stays as it is."""
    if inspect.isclass(model):
        try:
            model, options = model(**options), {}
        except TypeError as error:
            raise PluginError(
                f"Cannot create the {kind} {name or _name_of(model)!r}: {error}", fix="Check its options."
            ) from error
    if options:
        fix = "Give options with a component name or a class."
        raise SpecError(f"Options have no effect on the {kind} {_name_of(model)!r}: {some(options)}", fix=fix)
    method = _METHOD[kind]
    if not hasattr(model, method) and not callable(model):
        fix = f"Give an object with {method}(pictures), a function of pictures, a component name or an ONNX file."
        raise PluginError(f"A {type(model).__name__} cannot be used as a {kind}", fix=fix)
    wanted = ("name", "license", "threshold", method, *(("family", "distance") if kind == RECOGNIZER else ()))
    if all(hasattr(model, member) for member in wanted):
        return model
    return FunctionRecognizer(model, name) if kind == RECOGNIZER else FunctionClassifier(model, name)


def imported(path: str) -> Any:
    """Import ``module:attribute``. That runs the module's code: a plan or a user names it, never a data file."""
    module, _, attribute = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        fix = "Install the module, or put its folder on PYTHONPATH."
        raise PluginError(f"Cannot import {path}: {error}", fix=fix) from error
    return found


def _from_file(kind: str, path: Path, options: dict[str, Any]) -> Any:
    """Open an ONNX file by its card: the card itself, a card beside the file, or options that say the same."""
    if not path.is_file():
        raise InputError(
            f"Model file not found: {path}",
            fix="Check the path; it is relative to the working folder, in a plan to the plan.",
        )
    if path.suffix.lower() == ".toml":
        return create(kind, "onnx", {"card": str(path), **options})
    if path.suffix.lower() != ".onnx":
        fix = "Give an .onnx file, or the .toml card of one."
        raise InputError(f"{path.name} is not an ONNX file", fix=fix)
    card = path.with_suffix(".toml")
    if card.is_file():
        return create(kind, "onnx", {"card": str(card), **options})
    if not options:
        fix = "Write a card beside it (docs/models.md), or give its keys as options, e.g. preprocessing={'size': 112}."
        raise InputError(f"{path.name} does not say how its input is prepared, and {card.name} is missing", fix=fix)
    return _with_card(kind, path, options)


def _with_card(kind: str, path: Path, options: dict[str, Any]) -> Any:
    """Write the options as a card for a moment, so that they are checked like every card."""
    preprocessing = options.pop("preprocessing", {})
    labels = options.pop("labels", None)
    plain = {"name": path.stem, "license": "your own", "model": str(path.resolve()), **options}
    if kind == RECOGNIZER:
        plain = {"family": path.stem, "set_on": "your own data", **plain}
    with tempfile.TemporaryDirectory() as folder:
        if labels is not None and not isinstance(labels, str):
            Path(folder, "labels.txt").write_text("\n".join(map(str, labels)) + "\n", encoding="utf-8")
            plain["labels"] = "labels.txt"
        elif isinstance(labels, str):
            plain["labels"] = str(Path(labels).resolve())
        lines = [f"{key} = {_toml(value)}" for key, value in plain.items()]
        lines += ["[preprocessing]", *(f"{key} = {_toml(value)}" for key, value in preprocessing.items())]
        card = Path(folder, f"{path.stem}.toml")
        card.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return create(kind, "onnx", {"card": str(card)})


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _name_of(model: Any) -> str:
    return str(getattr(model, "__name__", "") or type(model).__name__)


def _shape_of(given: Any) -> str:
    return f"an array of shape {given.shape}" if hasattr(given, "shape") else f"a {type(given).__name__}"
