"""Opens a pickled checkpoint of any form once; every reader then looks at the same value.

All names in the file become inert records. A reader says which of them belong to its layout (``only``); the others
are refused. The last file is kept until ``forget``, because several readers look at one file, and a file of two
million steps takes seconds to read.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from likewise.errors import UnsafeFileError
from likewise.weights.formats.guard import guarded
from likewise.weights.formats.pickles.torch_file import MAGIC, load_pickle, load_torch

_Key = tuple[str, int, int]
_last: tuple[_Key, Checkpoint | UnsafeFileError] | None = None


@dataclass(frozen=True)
class Checkpoint:
    """What a pickle holds, and the names it mentions beyond those of arrays and tensors."""

    value: Any
    names: frozenset[str]
    form: Literal["torch", "pickle"]

    def only(self, *allowed: str) -> bool:
        """Whether the file mentions no other names than these."""
        return self.names <= set(allowed)

    def refuse(self, *allowed: str) -> UnsafeFileError:
        """Return the error for a name that does not belong to the layout."""
        other = min(self.names - set(allowed), default="")
        fix = "Nothing of it was run. If its source is not trusted, do not open it elsewhere either."
        return UnsafeFileError(f"The pickle refers to {other[:120]!r}, which is no part of such a checkpoint", fix=fix)


def is_torch(path: Path) -> bool:
    """Whether a file begins like one of ``torch.save``, in its zip form or its older one."""
    with path.open("rb") as handle:
        return zipfile.is_zipfile(path) or MAGIC in handle.read(16)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint as data.

    Raises
    ------
    UnsafeFileError
        It is no pickle and no file of ``torch.save``, or it asks for more than data.
    """
    global _last  # noqa: PLW0603  # one file at a time; see the module's text
    stat = path.stat()
    key = (str(path.resolve()), stat.st_size, stat.st_mtime_ns)
    if _last is None or _last[0] != key:
        _last = None  # frees the former file before this one is read
        _last = (key, _outcome(path))
    if isinstance(_last[1], UnsafeFileError):
        raise _last[1]
    return _last[1]


def read_layout(path: Path, name: str, allowed: Sequence[str], *, mark: str) -> Any:
    """Return what a plain pickle of one layout holds; None where the file is of another.

    Parameters
    ----------
    path
        The file.
    name, allowed
        The name that every file of the layout mentions, and all names that it may mention.
    mark
        Text that only files of the layout contain, where the pickle itself is refused.

    Raises
    ------
    UnsafeFileError
        The file is of the layout, and holds what it should not.
    """
    with path.open("rb") as handle:
        if handle.read(1) != b"\x80":
            return None
    try:
        opened = read_checkpoint(path)
    except UnsafeFileError:
        if mark.encode() in path.read_bytes():
            raise
        return None
    if opened.only(*allowed):
        return opened.value
    if name in opened.names:
        raise opened.refuse(*allowed)
    return None


def forget() -> None:
    """Free the file that was read last."""
    global _last  # noqa: PLW0603
    _last = None


def _outcome(path: Path) -> Checkpoint | UnsafeFileError:
    names: set[str] = set()
    torch = is_torch(path)
    try:
        with guarded(path.name):
            value = (load_torch if torch else load_pickle)(path, records=("*",), names=names)
    except UnsafeFileError as error:
        return error
    return Checkpoint(value, frozenset(names), "torch" if torch else "pickle")
