"""Checks what came out of a pickle before it is walked: known types only, bounded depth and size, no cycle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from likewise.errors import UnsafeFileError
from likewise.weights.formats.pickles.values import Dtype, Record, Reference, Storage

MOST_DEEP = 150  # the deepest real checkpoints have some forty levels; a reader may recurse
_GROWTH = 8
_SLACK = 64 << 20
_LEAF = 32  # bytes that a small value is counted as
_ENTRY = 64  # bytes of an entry of a collection
_SIZED = (np.ndarray, np.generic, str, bytes, bytearray, Storage)


def growth_limit(size: int) -> int:
    """Return how many bytes a file of ``size`` bytes may become when it is read."""
    return _SLACK + _GROWTH * size


def made_bytes(value: Any) -> int:
    """Return about how many bytes a value takes that a call in a pickle has made, without what it refers to."""
    if isinstance(value, dict | set | frozenset | list | tuple):
        return _LEAF + _ENTRY * len(value)
    return _own(value) if isinstance(value, _SIZED) else _LEAF


def check_tree(root: Any, limit: int) -> None:
    """Refuse a value that would take more than ``limit`` bytes when everything shared is written out.

    Sizes are added up once per object, from the leaves, so the check itself is quick on any tree.
    """
    sizes: dict[int, int] = {}
    above: set[int] = set()
    stack: list[tuple[Any, Iterator[Any]]] = [(root, _children(root))]
    above.add(id(root))
    while stack:
        value, rest = stack[-1]
        child = next(rest, _END)
        if child is _END:
            sizes[id(value)] = size = _own(value) + sum(sizes[id(part)] for part in _children(value))
            if size > limit:
                raise UnsafeFileError(f"The file grows to more than {limit:,} bytes when it is read")
            above.discard(id(value))
            stack.pop()
        elif id(child) not in sizes:
            if id(child) in above:
                raise UnsafeFileError("A value in the file contains itself")
            if len(stack) >= MOST_DEEP:
                raise UnsafeFileError(f"Values in the file are nested more than {MOST_DEEP} deep")
            above.add(id(child))
            stack.append((child, _children(child)))


_END = object()


def _children(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, Record):
        yield from (value.args, value.kwargs, value.state, value.items, value.entries)


def _own(value: Any) -> int:
    """Count the bytes that a value takes by itself; an unknown type is refused."""
    if isinstance(value, np.ndarray | np.generic):
        return _LEAF + value.nbytes
    if isinstance(value, str | bytes | bytearray):
        return _LEAF + len(value)
    if isinstance(value, Storage):
        return _LEAF + len(value.data)
    if isinstance(value, dict | set | frozenset):
        return _LEAF + sum(map(_key_size, value))
    if isinstance(value, tuple | list | Record | Reference | Dtype | int | float | type(None)):
        return _LEAF
    raise UnsafeFileError(f"The file holds a {type(value).__name__}; only plain values, arrays and records are read")


def _key_size(key: Any) -> int:
    if isinstance(key, tuple):
        return sum(map(_key_size, key))
    return _LEAF + (len(key) if isinstance(key, str | bytes) else 0)
