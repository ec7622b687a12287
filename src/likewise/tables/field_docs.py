"""The texts under the fields of a dataclass as the section "Parameters" of its docstring, which ``help()`` shows."""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import MISSING, Field, fields
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T", bound=type[Any])
_WIDTH = 110


def documented(cls: T) -> T:
    """Add a numpydoc section "Parameters" to the docstring of a dataclass, with the choices of every ``Literal``.

    Examples
    --------
    >>> from likewise.tables import MatchSpec
    >>> print(inspect.getdoc(MatchSpec).partition("method : ")[2].partition(chr(10))[0])
    {'nearest', 'optimal', 'cardinality'}, default 'nearest'
    """
    if not cls.__doc__:  # python -OO
        return cls
    texts, hints = field_texts(cls), get_type_hints(cls)
    lines = ["Parameters", "----------"]
    for entry in fields(cls):
        if entry.init:
            lines.append(f"{entry.name} : {_type(hints[entry.name], str(entry.type))}{_default(entry)}")
            lines += textwrap.wrap(texts.get(entry.name, ""), _WIDTH, initial_indent="    ", subsequent_indent="    ")
    head, title, rest = inspect.cleandoc(cls.__doc__).partition("Examples\n--------")
    cls.__doc__ = "\n".join([head.rstrip(), "", *lines, "", title + rest]).rstrip() + "\n"
    return cls


def field_texts(cls: type[Any]) -> dict[str, str]:
    """Return the text under each field of a class and of its bases; nothing where there is no source."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        try:
            body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
        except (OSError, TypeError, SyntaxError):
            continue
        assert isinstance(body, ast.ClassDef)
        for entry, after in zip(body.body, body.body[1:], strict=False):
            if isinstance(entry, ast.AnnAssign) and isinstance(entry.target, ast.Name) and isinstance(after, ast.Expr):
                found[entry.target.id] = " ".join(str(ast.literal_eval(after.value)).split())
    return found


def _type(hint: Any, written: str) -> str:
    if get_origin(hint) is Literal:
        return "{" + ", ".join(map(repr, get_args(hint))) + "}"
    return written.strip("'\"")


def _default(entry: Field[Any]) -> str:
    return "" if entry.default is MISSING else f", default {entry.default!r}"
