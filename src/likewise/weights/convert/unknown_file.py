"""A file that nobody recognised: say what is in it, so that its owner can tell what to do."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from likewise.errors import UnsafeFileError, some
from likewise.weights.pickle_values import Record
from likewise.weights.torch_file import load_pickle, load_torch

_ANYTHING = ("*",)  # every name becomes a record, which does nothing
_SIGNATURES = {
    b"\x89HDF": "an HDF5 file (Keras?)", b"GGUF": "a GGUF file", b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip archive", b"<?xm": "an XML file", b"\x93NUM": "a numpy file",
}  # fmt: skip


def keys_of(path: Path) -> str:
    """Describe a file: the keys of a checkpoint, or how its bytes begin."""
    try:
        held = load_torch(path, records=_ANYTHING) if _is_torch(path) else load_pickle(path, records=_ANYTHING)
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
    below = [f"{key}.{inner}" for key, value in held.items() if isinstance(value, dict) for inner in value]
    return f"the keys {some(held, 8)}" + (f", among them {some(below, 8)}" if below else "")


def _is_torch(path: Path) -> bool:
    return zipfile.is_zipfile(path) or b"\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19" in _start(path, 16)


def _start(path: Path, count: int = 4) -> bytes:
    with path.open("rb") as handle:
        return handle.read(count)
