"""Looks at what came out of a pickle before anybody walks it: known types only, not too deep, no circle, no blow-up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from likewise.errors import UnsafeFileError
from likewise.weights.pickle_values import Dtype, Record, Reference, Storage

MOST_DEEP = 150  # the deepest real checkpoints have some forty levels; a reader may recurse
_GROWTH = 8
_SLACK = 64 << 20
_LEAF = 32  # bytes that a small value is counted as


def check_tree(root: Any, *, most_bytes: int) -> None:
    """Refuse a value that would grow far beyond ``most_bytes`` (the file's size) when everything shared is written out.

    Sizes are added up once per object, from the leaves, so the check itself is quick on any tree.
    """
    limit = _SLACK + _GROWTH * most_bytes
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
                raise UnsafeFileError(f"a file grows to at most {limit:,} bytes when it is read", got="more")
            above.discard(id(value))
            stack.pop()
        elif id(child) not in sizes:
            if id(child) in above:
                raise UnsafeFileError("a value does not hold itself", got="a circle")
            if len(stack) >= MOST_DEEP:
                raise UnsafeFileError(f"values are nested at most {MOST_DEEP} deep", got="deeper")
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
    raise UnsafeFileError("a checkpoint holds plain values, arrays and records", got=type(value).__name__)


def _key_size(key: Any) -> int:
    if isinstance(key, tuple):
        return sum(map(_key_size, key))
    return _LEAF + (len(key) if isinstance(key, str | bytes) else 0)
