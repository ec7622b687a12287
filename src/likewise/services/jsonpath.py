"""A small part of JSONPath, enough to say where in a response the labels are: ``$.a.b[0].c[*].d``."""

from __future__ import annotations

import re
from typing import Any

from likewise.errors import SpecError

_STEP = re.compile(r"\.(?P<name>[^.\[\]*'\"]+)|\[(?P<index>\d+)\]|\['(?P<quoted>[^']+)'\]|(?P<all>\[\*\]|\.\*)")


def parse(path: str) -> list[str | int | None]:
    """Return the steps of a path: a name, an index, or None for all.

    >>> parse("$.tags[*].word")
    ['tags', None, 'word']
    """
    steps: list[str | int | None] = []
    place = 1
    while path[:1] == "$" and place < len(path):
        found = _STEP.match(path, place)
        if found is None:
            break
        name = found["name"] or found["quoted"]
        steps.append(name if name else None if found["all"] else int(found["index"]))
        place = found.end()
    if path[:1] != "$" or place < len(path):
        fix = "A path starts with $ and has the steps .name, ['name'], [0] and [*], e.g. $.outputs[0].labels[*].name"
        raise SpecError(f"Cannot read the path {path[:80]!r}", fix=fix)
    return steps


def follow(path: str, answer: Any) -> list[Any]:
    """Return everything that the path leads to; a step that leads nowhere is a KeyError.

    >>> follow("$.tags[*].word", {"tags": [{"word": "hat"}, {"word": "tie"}]})
    ['hat', 'tie']
    """
    found = [answer]
    for step in parse(path):
        found = [below for value in found for below in _below(value, step)]
    return found


def _below(value: Any, step: str | int | None) -> list[Any]:
    if step is None and isinstance(value, dict | list):
        return list(value.values()) if isinstance(value, dict) else value
    if isinstance(value, dict) and isinstance(step, str) and step in value:
        return [value[step]]
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return [value[step]]
    raise KeyError(step)
