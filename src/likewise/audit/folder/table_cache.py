"""A cache of tables: each file is read and validated once per run, and again only when its bytes changed."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, Self, TypeVar


class Readable(Protocol):
    """A table that is read from a file or folder."""

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read and validate it."""


T = TypeVar("T", bound=Readable)
_Stamp = tuple[tuple[str, int, int, int], ...]


class TableCache:
    """The tables that a run has read, by their type and path.

    Tables are immutable, so that sharing one is safe. A file that was replaced is read again.
    """

    def __init__(self) -> None:
        self._held: dict[tuple[type, Path], tuple[_Stamp, object]] = {}

    def read(self, kind: type[T], path: Path) -> T:
        """Return the table in this file; it is read when it is not known, or has changed."""
        name, stamp = (kind, path.absolute()), _stamp(path)
        held = self._held.get(name)
        if held is None or held[0] != stamp:
            held = self._held[name] = (stamp, kind.read(path))
        table = held[1]
        assert isinstance(table, kind)
        return table


def _stamp(path: Path) -> _Stamp:
    """Return what changes when a file is replaced; of a folder, of every file in it."""
    files = sorted(part for part in path.rglob("*") if part.is_file()) if path.is_dir() else [path]
    stats = [(part.name, part.stat()) for part in files if part.is_file()]
    return tuple((name, stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in stats)
