"""A reader of the plain part of HDF5 that Keras weight files are written in: groups and contiguous arrays of numbers.

The file format, version 1 structures (superblock 0, B-trees, symbol table nodes, object headers), is published by The
HDF Group. Only what holds numbers is read; links, filters, chunks and user-defined types are refused by name. Every
offset is checked against the file, and depth and count are bounded, so a hostile file can neither run nor stall.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import WeightsError

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_DATASPACE, _DATATYPE, _LAYOUT, _FILTER, _CONTINUED, _GROUP = 1, 3, 8, 11, 16, 17
_DEEPEST, _MOST = 16, 100_000


def read_datasets(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return every array of a file by its path of group names."""
    reader = _Reader(path.read_bytes(), path.name)
    return dict(reader.walk(reader.root(), "", 0))


class _Reader:
    """Reads structures at offsets of a file that is held in memory."""

    def __init__(self, data: bytes, name: str) -> None:
        self._data, self._name, self._steps = data, name, 0

    def root(self) -> int:
        """Return where the root group's object header lies."""
        version, sizes = self._bytes(8, 1)[0], self._bytes(13, 2)
        if self._bytes(0, 8) != _SIGNATURE or version != 0 or sizes != b"\x08\x08":
            raise self._wrong("an HDF5 file of the version that Keras writes", f"superblock {version}")
        return self._number(24 + 32 + 8)  # the second number of the root's symbol table entry

    def walk(self, header: int, place: str, depth: int) -> Iterator[tuple[str, npt.NDArray[Any]]]:
        """Yield the arrays below an object."""
        self._count()
        if depth > _DEEPEST:
            raise self._wrong(f"groups at most {_DEEPEST} deep", place)
        messages = dict(self._messages(header))
        if _GROUP in messages:
            tree, heap = (self._number(messages[_GROUP] + 8 * k) for k in (0, 1))
            names = self._number(heap + 24)  # where the local heap keeps its bytes
            for name, child in self._entries(tree, names):
                yield from self.walk(child, f"{place}/{name}".removeprefix("/"), depth + 1)
        else:
            yield place, self._array(messages, place)

    def _messages(self, header: int) -> Iterator[tuple[int, int]]:
        """Yield kind and place of the messages of an object header."""
        if self._bytes(header, 1)[0] != 1:
            raise self._wrong("object headers of version 1", f"{self._bytes(header, 1)[0]}")
        blocks = [(header + 16, self._whole(header + 8, 4))]
        while blocks:
            start, length = blocks.pop(0)
            end = start + length
            while start + 8 <= end:
                self._count()
                kind, size = self._whole(start, 2), self._whole(start + 2, 2)
                if kind == _CONTINUED:
                    blocks.append((self._number(start + 8), self._number(start + 16)))
                elif kind == _FILTER:
                    raise self._wrong("arrays without filters", "a compressed one")
                yield kind, start + 8
                start += 8 + size

    def _entries(self, tree: int, names: int) -> Iterator[tuple[str, int]]:
        """Yield name and object header of a group's members, through its B-tree."""
        self._count()
        if self._bytes(tree, 4) == b"SNOD":
            for k in range(self._whole(tree + 6, 2)):
                entry = tree + 8 + 40 * k
                yield self._name_at(names + self._number(entry)), self._number(entry + 8)
            return
        if self._bytes(tree, 5) != b"TREE\x00":
            raise self._wrong("groups as B-trees", repr(self._bytes(tree, 5)))
        for k in range(self._whole(tree + 6, 2)):
            yield from self._entries(self._number(tree + 24 + 8 + 16 * k), names)

    def _array(self, messages: dict[int, int], place: str) -> npt.NDArray[Any]:
        if not {_DATASPACE, _DATATYPE, _LAYOUT} <= set(messages):
            raise self._wrong("groups and arrays only", f"something else at {place!r}")
        space, layout = messages[_DATASPACE], messages[_LAYOUT]
        if self._bytes(layout, 2) != b"\x03\x01":
            raise self._wrong("contiguous arrays", f"another layout at {place!r}")
        shape = tuple(self._number(space + 8 + 8 * k) for k in range(self._bytes(space + 1, 1)[0]))
        start, length = self._number(layout + 2), self._number(layout + 10)
        kind = self._kind(messages[_DATATYPE], place)
        count = 1
        for side in shape:  # in whole numbers of any size: a product that wraps around must not pass
            count *= side
        if length != count * kind.itemsize:
            raise self._wrong(f"{count} numbers at {place!r}", f"{length} bytes")
        return np.frombuffer(self._bytes(start, length), dtype=kind).reshape(shape)

    def _kind(self, start: int, place: str) -> np.dtype[Any]:
        """Return the type of an array: IEEE floats or whole numbers, little end first."""
        head, size = self._bytes(start, 4), self._whole(start + 4, 4)
        letter = {0: "i" if head[1] & 8 else "u", 1: "f"}.get(head[0] & 15, "")
        if not letter or head[1] & 1 or size not in (1, 2, 4, 8):
            raise self._wrong("numbers, little end first", f"another type at {place!r}")
        return np.dtype(f"<{letter}{size}")

    def _name_at(self, start: int) -> str:
        end = self._data.find(b"\0", start, start + 1024)
        if not 0 <= start <= end:
            raise self._wrong("names that end", f"none at byte {start}")
        return self._data[start:end].decode("utf-8", errors="replace")

    def _bytes(self, start: int, length: int) -> bytes:
        if start < 0 or start + length > len(self._data):
            raise self._wrong("structures within the file", f"byte {start + length} of {len(self._data)}")
        return self._data[start : start + length]

    def _whole(self, start: int, size: int) -> int:
        return int.from_bytes(self._bytes(start, size), "little")

    def _number(self, start: int) -> int:
        number: int = struct.unpack("<Q", self._bytes(start, 8))[0]
        return number

    def _count(self) -> None:
        self._steps += 1
        if self._steps > _MOST:
            raise self._wrong(f"at most {_MOST:,} structures", "more; perhaps one that leads back to itself")

    def _wrong(self, rule: str, got: str) -> WeightsError:
        return WeightsError(f"{self._name} has {rule}", got=got)
