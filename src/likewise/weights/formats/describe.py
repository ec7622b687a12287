"""Short descriptions of values from untrusted files, for messages.

``repr`` of such a value can take forever: a list that holds one list twice, which holds another twice, and so on, is
a hundred bytes in a file and 2^45 items in a message. Nothing here looks deeper than one level.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from likewise.errors import some

_LONG = 60
_MOST = 6


def describe(value: Any) -> str:
    """Describe a value in at most about a hundred characters.

    >>> describe((1, "two", [3, [4]]))
    "(1, 'two', list of 2)"
    >>> describe(b"12345")
    '5 bytes'
    """
    if isinstance(value, tuple):
        shown = ", ".join(_leaf(part) for part in value[:_MOST])
        more = f", ... {len(value)} in all" if len(value) > _MOST else ""
        return f"({shown}{more})"[:_LONG]
    return _leaf(value)


def _leaf(value: Any) -> str:
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, int):
        return repr(value) if value.bit_length() <= 64 else f"an integer of {value.bit_length()} bits"
    if isinstance(value, str):
        return repr(value[:_LONG]) + ("..." if len(value) > _LONG else "")
    if isinstance(value, bytes | bytearray):
        return f"{len(value)} bytes"
    if isinstance(value, list | tuple | dict | set | frozenset):
        return f"{type(value).__name__} of {len(value)}"
    return f"a {type(value).__name__}"


def brief_names(names: Iterable[Any], most: int = 5) -> str:
    """Quote a few names from a file, each cut to a readable length, and count the rest.

    >>> brief_names(["weight", "bias"])
    "'weight', 'bias'"
    """
    listed = list(names)
    shown = [name[:_LONG] if isinstance(name, str) else describe(name) for name in islice(listed, most)]
    return some([*shown, *([""] * (len(listed) - len(shown)))], most)
