"""The options of the verb counterfactual. They are written into the plan: what an audit rests on stands there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from likewise.store import PLAN, Folder
from likewise.tables.files import write_text

_HEADER = re.compile(r"\s*\[+\s*([\w.]+)")


def sweep_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give the verb options that are written into the plan's [counterfactual] before it goes to work."""

    def revising(folder: str, editor: str, attribute: str, levels: str, dry_run: bool, **given: Any) -> None:
        changes = _changes(editor, attribute, levels)
        if changes and not dry_run:
            revise(Folder(folder).root / PLAN, changes)
            click.echo(f"wrote to {PLAN}: {', '.join(f'{key} = {value}' for key, value in changes.items())}", err=True)
        elif changes:
            click.echo(f"would write to {PLAN}: {changes}", err=True)
        verb(folder, dry_run=dry_run, **given)

    options = (
        click.option("--editor", default="", help="Who edits; written into the plan."),
        click.option("--attribute", default="", help="What is turned; written into the plan."),
        click.option("--levels", default="", metavar="FROM:TO:STEPS", help="E.g. -2:2:7; written into the plan."),
    )
    for option in reversed(options):
        revising = option(revising)
    return revising


def _changes(editor: str, attribute: str, levels: str) -> dict[str, str]:
    from likewise.make.sweep_spec import even_levels  # noqa: PLC0415  # --help stays quick

    changes = {key: json.dumps(value) for key, value in (("editor", editor), ("attribute", attribute)) if value}
    if levels:
        changes["levels"] = f"[{', '.join(f'{level:g}' for level in even_levels(levels))}]"
    return changes


def revise(path: Path, changes: dict[str, str]) -> None:
    """Set lines of [counterfactual], and add the section where there is none; the rest stays as it was written.

    The new text has to be a plan, or nothing is written.
    """
    import tomllib  # noqa: PLC0415

    from likewise.cli.plan import plan_from  # noqa: PLC0415

    text = revised(path.read_text(encoding="utf-8"), "counterfactual", changes)
    plan_from(tomllib.loads(text), text)
    write_text(path, text)


def revised(text: str, section: str, changes: dict[str, str]) -> str:
    """Return the text of a plan with some lines of a section set."""
    lines, left, inside, end = [], dict(changes), False, None
    for line in text.splitlines():
        header = _HEADER.match(line)
        inside = header[1] == section if header else inside
        key = line.partition("=")[0].strip()
        if inside and not header and key in changes:
            line = f"{key} = {left.pop(key)}" if key in left else line  # noqa: PLW2901
        lines.append(line)
        end = len(lines) if inside and line.strip() else end
    if end is None:
        lines, end = [*lines, "", f"[{section}]"], len(lines) + 2
    lines[end:end] = [f"{key} = {value}" for key, value in left.items()]
    return "\n".join(lines) + "\n"
