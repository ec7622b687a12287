"""The strict reader of every TOML file that likewise reads: plans, studies, model cards, service descriptions.

A file is parsed, then validated against a frozen dataclass (or pydantic model) by pydantic. Types are strict: text is
never read as a number, ``true`` is never read as 1. Unknown keys are errors. Every problem names the file, the line and
the closest known name. All problems of a file are reported at once.
"""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from likewise.errors import LikewiseError, PlanError, nearest, some
from likewise.runtime.toml_lines import Path as Place
from likewise.runtime.toml_lines import line_of, lines_of

T = TypeVar("T")
_MOST = 12  # problems that one message lists
_DEEPEST = 50  # levels of tables and lists
_KINDS = {
    "string_type": "text", "int_type": "a whole number", "int_from_float": "a whole number", "float_type": "a number",
    "bool_type": "true or false", "tuple_type": "a list", "list_type": "a list", "dict_type": "a table",
    "dataclass_type": "a table", "model_type": "a table", "mapping_type": "a table",
}  # fmt: skip
_UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")
_MISSING = ("missing", "missing_argument", "missing_keyword_only_argument")


@dataclass(frozen=True)
class Source:
    """A parsed TOML file: its values and the lines of its keys."""

    name: str
    """What messages call it, e.g. ``audit.toml``."""
    plain: dict[str, Any]
    lines: dict[Place, int]

    def place(self, where: Place) -> str:
        """Return ``audit.toml, line 12``; without a line where the key cannot be found."""
        number = line_of(self.lines, where)
        return f"{self.name}, line {number}" if number else self.name


def _deeper(value: object, levels: int) -> bool:
    """Return whether tables and lists are nested in more than so many levels."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels < 0 or any(_deeper(each, levels - 1) for each in inner)


def parse_toml(text: str, name: str, *, error: type[LikewiseError] = PlanError) -> Source:
    """Parse TOML text; ``name`` is what messages call it."""
    try:
        plain = tomllib.loads(text)
        if _deeper(plain, _DEEPEST):
            raise error(f"{name} is nested too deeply")
        return Source(name, plain, lines_of(text))
    except tomllib.TOMLDecodeError as broken:
        raise error(f"{name} is not valid TOML: {broken}") from broken
    except RecursionError as broken:
        raise error(f"{name} is nested too deeply") from broken


def read_toml(path: Path, *, error: type[LikewiseError] = PlanError) -> Source:
    """Read and parse a TOML file."""
    try:
        return parse_toml(path.read_text(encoding="utf-8"), path.name, error=error)
    except FileNotFoundError:
        raise error(f"File not found: {path}") from None
    except UnicodeDecodeError as broken:
        raise error(f"{path.name} is not UTF-8 text: {broken}") from broken
    except OSError as broken:
        raise error(f"Cannot read {path}: {broken.strerror or broken}") from broken


def validate(
    kind: type[T],
    source: Source,
    *,
    plain: Mapping[str, Any] | None = None,
    where: Place = (),
    error: type[LikewiseError] = PlanError,
) -> T:
    r"""Validate values against a dataclass or model, and report every problem at once.

    ``plain`` is the part of the source that is meant (by default all of it), ``where`` its place in the source.

    >>> from dataclasses import dataclass, replace
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Card:
    ...     name: str
    ...     size: int = 112
    >>> validate(Card, parse_toml('name = "sface"', "card.toml"))
    Card(name='sface', size=112)
    >>> validate(Card, parse_toml('name = "sface"\nsise = 96', "card.toml"))
    Traceback (most recent call last):
    likewise.errors.PlanError: Unknown key 'sise' (card.toml, line 2). Did you mean 'size'?
    """
    values = source.plain if plain is None else plain
    try:
        # JSON mode is strict about types, yet takes a list for a tuple and 1 for 1.0, which is what TOML needs.
        text = json.dumps({"root": values}, default=str)
        return typing.cast(T, _strict(typing.cast(Any, kind)).model_validate_json(text, strict=True).root)  # type: ignore[attr-defined]
    except ValidationError as broken:
        found = [_located(values, entry) for entry in broken.errors()]
        problems = [_problem(kind, source, finding, where) for finding in _one_per_union(found)]
        raise error(_message(list(dict.fromkeys(problems)), source)) from broken


@dataclass(frozen=True)
class _Finding:
    """What pydantic found at one place of the file."""

    entry: Mapping[str, Any]
    loc: Place
    """Path of the key; pydantic's names of union members are removed."""
    union: Place | None = None
    """Path of the union that the finding is about, if any."""
    member: str = ""
    """The member of that union."""
    wanted: str = ""
    """The type that was expected, where the type is wrong."""


def _located(values: Any, entry: Mapping[str, Any]) -> _Finding:
    """Follow pydantic's path through the values: a part that leads nowhere names the member of a union."""
    loc: Place = ()
    union: Place | None = None
    member, parts, current = "", entry["loc"][1:], values
    for k, part in enumerate(parts):
        inside = isinstance(current, Mapping) and part in current
        if inside or (isinstance(current, list | tuple) and isinstance(part, int) and part < len(current)):
            loc, current = (*loc, part), current[part]
        elif entry["type"] in _MISSING and k == len(parts) - 1:
            loc = (*loc, part)
        elif union is None:
            union, member = loc, str(part)
    return _Finding(entry, loc, union, member, _KINDS.get(entry["type"], ""))


def _one_per_union(found: list[_Finding]) -> list[_Finding]:
    """Report a union once: of its member that fits best, or with all the types that it takes."""
    kept: list[_Finding] = []
    for place in dict.fromkeys(finding.union for finding in found):
        here = [finding for finding in found if finding.union == place]
        names = dict.fromkeys(finding.member for finding in here)
        members: dict[str, list[_Finding]] = {name: [f for f in here if f.member == name] for name in names}
        if place is None or len(members) == 1:
            kept += here
        elif all(finding.loc == place and finding.wanted for finding in here):
            kept.append(replace(here[0], wanted=" or ".join(dict.fromkeys(finding.wanted for finding in here))))
        else:
            owns: list[list[_Finding]] = list(members.values())
            owns.sort(key=lambda own: (any(f.loc == place for f in own), len(own)))
            kept += owns[0]
    return kept


@cache
def _strict(kind: Any) -> type[BaseModel]:
    """Return a model around a type: dataclasses in it take over that unknown keys are forbidden."""
    return create_model("Strict", __config__=ConfigDict(extra="forbid"), root=(kind, ...))


def _message(problems: list[str], source: Source) -> str:
    if len(problems) == 1:
        return problems[0]
    shown = "\n  ".join(problems[:_MOST])
    more = f"\n  and {len(problems) - _MOST} more" if len(problems) > _MOST else ""
    return f"{len(problems)} problems in {source.name}:\n  {shown}{more}"


def _problem(kind: type, source: Source, finding: _Finding, where: Place) -> str:
    entry, loc = finding.entry, tuple(_shown(part) for part in finding.loc)
    place = source.place((*where, *loc))
    key, section = (str(loc[-1])[:80] if loc else ""), _section((*where, *loc[:-1]))
    if entry["type"] in _UNKNOWN:
        known = _keys_at(kind, loc[:-1])
        fix = nearest(key, known) or (f"Known keys: {some(known, 20)}." if known else "")
        return f"Unknown key {key!r}{section} ({place}). {fix}".rstrip()
    if entry["type"] in _MISSING:
        return f"Missing key {key!r}{section} ({place})."
    if isinstance(cause := entry.get("ctx", {}).get("error"), Exception):
        return f"{_section((*where, *loc)).removeprefix(' in ') or 'Invalid values'} ({place}): {cause}"
    name, value = ".".join(map(str, (*where, *loc))), repr(entry["input"])[:80]
    if entry["type"] == "literal_error":
        choices = re.findall(r"'([^']*)'", entry["ctx"]["expected"])
        fix = nearest(str(entry["input"]), choices) or f"Choose one of {some(choices, 20)}."
        return f"{name} is {value} ({place}). {fix}"
    wanted = finding.wanted or entry["msg"][0].lower() + entry["msg"][1:]
    wanted = wanted.removeprefix("input should be ")
    return f"{name} must be {wanted}, not {value} ({place})."


def _shown(part: str | int) -> str | int:
    """Return a key as the file has it: a keyword of Python has an underscore in the dataclass only."""
    return part.rstrip("_") if isinstance(part, str) else part


def _section(where: Place) -> str:
    names = [str(part) for part in where if not isinstance(part, int)]
    if not names:
        return ""
    repeated = any(isinstance(part, int) for part in where)
    return f" in [[{'.'.join(names)}]]" if repeated else f" in [{'.'.join(names)}]"


def _keys_at(kind: Any, where: Place) -> list[str]:
    """Return the keys that a nested section knows, for suggestions."""
    kinds = _members(kind)
    for part in where:
        kinds = [member for kind in kinds for member in _members(_child(kind, part))]
    return list(dict.fromkeys(key for kind in kinds for key in _keys(kind)))


def _keys(kind: Any) -> list[str]:
    if dataclasses.is_dataclass(kind):
        return [str(_shown(entry.name)) for entry in dataclasses.fields(kind) if entry.init]
    return list(getattr(kind, "model_fields", {}))


def _child(kind: Any, part: str | int) -> Any:
    """Return the type of an item, of a mapping's value or of a field."""
    arguments = typing.get_args(kind)
    if arguments:
        return arguments[0] if isinstance(part, int) else arguments[-1]
    return typing.get_type_hints(kind).get(str(part)) if _keys(kind) else None


def _members(kind: Any) -> list[Any]:
    """Return the members of a union, also of a nested one, without None; of another type the type itself."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return [member for option in typing.get_args(kind) for member in _members(option)]
    return [] if kind is None or kind is type(None) else [kind]
