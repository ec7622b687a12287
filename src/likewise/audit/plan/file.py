"""audit.toml: read strictly, with every problem and its line at once; edited without touching the rest of the file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit

from likewise.audit.plan.migrations import migrated
from likewise.audit.plan.model import Plan
from likewise.errors import PlanError
from likewise.runtime.config import Source, parse_toml, read_toml, validate
from likewise.tables.io import write_text

PLAN = "audit.toml"
_FIELDS = {"lambda": "lambda_"}
"""Keys whose field has another name; ``lambda`` is a keyword of Python."""


def read_plan(path: Path, *, sections: Mapping[str, type] | None = None) -> Plan:
    """Read a plan; ``sections`` are the types of sections that further stages have."""
    return plan_from(read_toml(path), sections=sections)


def plan_of(text: str, *, sections: Mapping[str, type] | None = None) -> Plan:
    r"""Read the text of a plan.

    >>> plan_of('[data]\ntable = "people.csv"\n[contrast]\ncolumn = "sex"\nfocal = "F"\n')
    Traceback (most recent call last):
    likewise.errors.PlanError: Missing key 'reference' in [contrast] (audit.toml, line 3).
    """
    return plan_from(parse_toml(text, PLAN), sections=sections)


def plan_from(source: Source, *, sections: Mapping[str, type] | None = None) -> Plan:
    """Make a plan from a parsed file; older formats are migrated, with a warning."""
    source = migrated(source)
    plain = dict(source.plain)
    own = {name: plain.pop(name) for name in sections or {} if name in plain}
    if "project" in plain and ("encode" in plain or "vectors" in plain):
        other = "[encode]" if "encode" in plain else "vectors"
        fix = "Remove one of them."
        raise PlanError(f"The plan has both [project] and {other} ({source.place(('project',))})", fix=fix)
    for name in ("project", "counterfactual"):
        if isinstance(plain.get(name), dict):
            plain[name] = {_FIELDS.get(key, key): value for key, value in plain[name].items()}
    plan = validate(Plan, source, plain=plain)
    known = sections or {}
    for name, value in own.items():
        plan.sections[name] = validate(known[name], source, plain=value, where=(name,))
    return plan


def edit_plan(path: Path, section: str, changes: Mapping[str, Any]) -> None:
    """Set keys of a section, which is added where it is missing; comments and the rest of the file stay.

    The result has to be a valid plan, or nothing is written.
    """
    text = edited(path.read_text(encoding="utf-8"), section, changes)
    plan_of(text)
    write_text(path, text)


def edited(text: str, section: str, changes: Mapping[str, Any]) -> str:
    r"""Return the text of a plan with some keys of a section set.

    >>> print(edited("seed = 1  # fixed\n", "report", {"title": "Faces"}), end="")
    seed = 1  # fixed
    <BLANKLINE>
    [report]
    title = "Faces"
    """
    document = tomlkit.parse(text)
    if section not in document:
        document.add(tomlkit.nl())
        document.add(section, tomlkit.table())
    table = document[section]
    for key, value in changes.items():
        table[key] = list(value) if isinstance(value, tuple) else value
    return tomlkit.dumps(document)
