"""A file that was not recognized: describe its content, so that its owner knows what to do."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from likewise.errors import UnsafeFileError
from likewise.weights.formats.describe import brief_names, describe
from likewise.weights.formats.pickles.checkpoint import read_checkpoint
from likewise.weights.formats.pickles.values import Record

_SIGNATURES = {
    b"\x89HDF": "an HDF5 file (Keras?)", b"GGUF": "a GGUF file", b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip archive", b"<?xm": "an XML file", b"\x93NUM": "a numpy file",
}  # fmt: skip


def keys_of(path: Path) -> str:
    """Describe a file: the keys of a checkpoint, or how its bytes begin."""
    try:
        held = read_checkpoint(path).value
    except UnsafeFileError as error:
        start = _start(path)
        known = next((name for mark, name in _SIGNATURES.items() if start.startswith(mark)), None)
        if known:
            return known
        return f"a pickle that is refused: {error}" if start[:1] == b"\x80" else f"bytes that begin with {start!r}"
    return described(held)


def described(held: Any) -> str:
    """Name a value and its keys, and those one level below."""
    if isinstance(held, Record):
        held = {held.name: held.state if isinstance(held.state, dict) else held.entries}
    if not isinstance(held, dict):
        return f"a {type(held).__name__} and no keys"
    inner = ((key, name) for key, value in held.items() if isinstance(value, dict) for name in value)
    below = [f"{_plain(key)}.{_plain(name)}" for key, name in islice(inner, 1000)]
    return f"the keys {brief_names(held, 8)}" + (f", among them {brief_names(below, 8)}" if below else "")


def _plain(key: Any) -> str:
    return key[:60] if isinstance(key, str) else describe(key)


def _start(path: Path, count: int = 4) -> bytes:
    with path.open("rb") as handle:
        return handle.read(count)
