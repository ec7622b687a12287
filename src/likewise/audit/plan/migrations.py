"""Older plan formats: their keys are renamed when a plan is read, and one warning lists what changed.

Format 1 is that of likewise 0.1; format 2 has the field's vocabulary. Add a format by adding a function to
``_MIGRATIONS``: it takes the plain values of the older format and a list for the changes, and returns the new values.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from likewise import __version__
from likewise.errors import LikewiseWarning, PlanError
from likewise.runtime.config import Source
from likewise.runtime.toml_lines import Path as Place

FORMAT = 2
Plain = dict[str, Any]

_SECTIONS = {
    "faces": "data", "certificate": "validity", "ask": "collect", "analyse": "estimate", "analyze": "estimate",
    "answered": "precomputed", "within": "secondary_distance", "difficulty": "reference_difficulty",
    "given": "precomputed_distances", "engine": "executor",
}  # fmt: skip
_KEYS: dict[str, dict[str, str]] = {
    "align": {"finder": "detector"},
    "describe": {"finder": "detector"},
    "counterfactual": {"levels": "strengths", "finder": "detector"},
    "rater": {"slot": "kind"},
    "executor": {"cards": "gpus"},
    "validity": {"judge": "enabled"},
}
"""By the new name of the section."""
_VALUES = {("rater", "kind", "recogniser"): "recognizer", ("executor", "kind", "here"): "local"}
"""Values that were renamed, by section and key."""


def migrated(source: Source) -> Source:
    """Return the source in today's format; an older one with a warning that lists old and new keys."""
    plain, found = dict(source.plain), source.plain.get("format")
    if isinstance(found, int) and not isinstance(found, bool) and found > FORMAT:
        place, ours = source.place(("format",)), f"this is likewise {__version__}, which reads format {FORMAT}"
        problem = f"The plan has format {found} ({place}); {ours}"
        raise PlanError(problem, fix="Install the version of likewise that wrote it, or a newer one.")
    older = 1 if found == 1 or _looks_old(plain) else FORMAT
    changes: list[str] = []
    for number in range(older, FORMAT):
        plain = _MIGRATIONS[number](plain, changes)
    if changes:
        warnings.warn(
            f"{source.name} has keys of an older format, which are read for one more release. Rename: "
            f"{'; '.join(dict.fromkeys(changes))}; then set format = {FORMAT}.",
            LikewiseWarning,
            stacklevel=2,
        )
    if older < FORMAT:
        plain["format"] = FORMAT
    return Source(source.name, plain, _lines(source.lines))


def _looks_old(plain: Mapping[str, Any]) -> bool:
    """Whether a plan has sections of format 1, whatever format it states."""
    return any(name in _SECTIONS for name in plain)


def _from_1(plain: Plain, changes: list[str]) -> Plain:
    renamed: Plain = {}
    for name, value in plain.items():
        new = _SECTIONS.get(name, name)
        if new != name:
            changes.append(f"[{name}] -> [{new}]")
        renamed[new] = _inside(value, new, changes)
    return renamed


def _inside(value: Any, section: str, changes: list[str]) -> Any:
    if isinstance(value, list):
        return [_inside(entry, section, changes) for entry in value]
    if not isinstance(value, dict):
        return value
    made = {}
    for key, entry in value.items():
        new = _key(section, key)
        if new != key:
            changes.append(f"{key} -> {new} in [{section}]")
        made[new] = _VALUES.get((section, new, entry), entry) if isinstance(entry, str) else entry
    return made


def _key(section: str, key: str) -> str:
    return _KEYS.get(section, {}).get(key, key.replace("recogniser", "recognizer"))


def _lines(lines: Mapping[Place, int]) -> dict[Place, int]:
    """Return the lines under the new names too, so that messages name the line in the file as it is."""
    found = dict(lines)
    for place, number in lines.items():
        section = _SECTIONS.get(str(place[0]), str(place[0]))
        rest = tuple(_key(section, part) if isinstance(part, str) else part for part in place[1:])
        found.setdefault((section, *rest), number)
    return found


_MIGRATIONS: dict[int, Callable[[Plain, list[str]], Plain]] = {1: _from_1}
