"""Find the line of a key in a TOML file, for error messages."""

from __future__ import annotations

import re

Path = tuple[str | int, ...]
_HEADER = re.compile(r"\s*(\[\[?)\s*([\w.\-\"]+)\s*\]")
_KEY = re.compile(r"\s*([\w\-\"]+)\s*=\s*(.*)")


def lines_of(text: str) -> dict[Path, int]:
    """Return the line of every section and key: ``("training", "item", 0, "answer")``."""
    found: dict[Path, int] = {}
    section: Path = ()
    counts: dict[Path, int] = {}
    inside = ""  # the mark that ends the current multi-line value
    for number, line in enumerate(text.splitlines(), 1):
        if inside:
            inside = "" if inside in line else inside
        elif header := _HEADER.match(line):
            section = _section(header[2], header[1] == "[[", counts)
            found.setdefault(section, number)
            found.setdefault(section[:-1] if isinstance(section[-1], int) else section, number)
        elif key := _KEY.match(line):
            found.setdefault((*section, key[1].strip('"')), number)
            inside = _open(key[2])
    return found


def _section(name: str, repeated: bool, counts: dict[Path, int]) -> Path:
    path: Path = ()
    parts = name.replace('"', "").split(".")
    for k, part in enumerate(parts):
        path = (*path, part)
        if path in counts and k < len(parts) - 1:
            path = (*path, counts[path])
    if repeated:
        counts[path] = counts.get(path, -1) + 1
        return (*path, counts[path])
    return path


def _open(value: str) -> str:
    """Return the mark that ends a value which continues on the next line."""
    for mark in ('"""', "'''"):
        if value.count(mark) == 1:
            return mark
    bare = re.sub(r"\"[^\"]*\"|'[^']*'|#.*", "", value)
    return "]" if bare.count("[") > bare.count("]") else ""


def line_of(found: dict[Path, int], where: Path) -> int | None:
    """Return the line of a key, or of the nearest enclosing section."""
    while where:
        if where in found:
            return found[where]
        where = where[:-1]
    return None
