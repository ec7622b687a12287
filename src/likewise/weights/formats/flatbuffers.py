"""Read FlatBuffers, the container of TFLite: tables of numbered fields at offsets, in one block of bytes.

Every offset is checked against the block, so a damaged or hostile file ends in an error and never in a wrong read.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from likewise.errors import WeightFileError


class Table:
    """One table: its fields are read by number; a field that is absent has its default."""

    def __init__(self, block: bytes, place: int) -> None:
        self._block, self._place = block, place
        self._fields = place - self._at("i", place)
        self._length = self._at("H", self._fields)

    @classmethod
    def root(cls, block: bytes) -> Table:
        """Return the outermost table."""
        return cls(block, _unpack(block, "I", 0))

    def number(self, field: int, kind: str, default: float = 0) -> Any:
        """Return a number of a ``struct`` kind."""
        offset = self._offset(field)
        return self._at(kind, self._place + offset) if offset else default

    def table(self, field: int) -> Table | None:
        """Return a table within this one."""
        place = self._target(field)
        return None if place is None else Table(self._block, place)

    def tables(self, field: int) -> list[Table]:
        """Return a list of tables."""
        place = self._target(field)
        if place is None:
            return []
        starts = range(place + 4, place + 4 + 4 * self._count(place, 4), 4)
        return [Table(self._block, start + self._at("I", start)) for start in starts]

    def array(self, field: int, kind: str) -> npt.NDArray[Any]:
        """Return a list of numbers of a numpy kind; empty when it is absent."""
        place = self._target(field)
        if place is None:
            return np.empty(0, np.dtype(kind))
        return np.frombuffer(self._block, kind, self._count(place, np.dtype(kind).itemsize), place + 4)

    def text(self, field: int) -> str:
        """Return a text; empty when it is absent."""
        return self.array(field, "u1").tobytes().decode("utf-8", errors="replace")

    def _offset(self, field: int) -> int:
        place = 4 + 2 * field
        return int(self._at("H", self._fields + place)) if place < self._length else 0

    def _target(self, field: int) -> int | None:
        offset = self._offset(field)
        if not offset:
            return None
        place = self._place + offset
        return place + int(self._at("I", place))

    def _count(self, place: int, size: int) -> int:
        count = int(self._at("I", place))
        if place + 4 + count * size > len(self._block):
            raise WeightFileError(f"A list of {count:,} entries at byte {place:,} ends beyond the file")
        return count

    def _at(self, kind: str, place: int) -> Any:
        return _unpack(self._block, kind, place)


def _unpack(block: bytes, kind: str, place: int) -> Any:
    if not 0 <= place <= len(block) - struct.calcsize(kind):
        raise WeightFileError(f"An offset leads out of the file: byte {place:,} of {len(block):,}")
    return struct.unpack_from(f"<{kind}", block, place)[0]
