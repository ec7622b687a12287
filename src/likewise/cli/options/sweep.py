"""The options of the command counterfactual. They are written into the plan, on which an audit's result depends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def sweep_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command options that are written into the plan's [counterfactual] before it runs."""

    def editing(folder: str, editor: str, attribute: str, strengths: str, dry_run: bool, **given: Any) -> None:
        changes = _changes(editor, attribute, strengths)
        shown = ", ".join(f"{key} = {value}" for key, value in changes.items())
        if changes and not dry_run:
            from likewise.audit.folder.store import PLAN, Folder
            from likewise.audit.plan.file import edit_plan

            edit_plan(Folder(folder).root / PLAN, "counterfactual", changes)
            click.echo(f"wrote to {PLAN}: {shown}", err=True)
        elif changes:
            click.echo(f"would write to audit.toml: {shown}", err=True)
        command(folder, dry_run=dry_run, **given)

    options = (
        click.option("--editor", default="", help="The editor; written into the plan."),
        click.option("--attribute", default="", help="The attribute to edit; written into the plan."),
        click.option("--strengths", default="", metavar="FROM:TO:STEPS", help="E.g. -2:2:7; written into the plan."),
    )
    for option in reversed(options):
        editing = option(editing)
    return editing


def _changes(editor: str, attribute: str, strengths: str) -> dict[str, Any]:
    from likewise.counterfactuals.sweep_spec import even_strengths  # --help stays quick

    changes: dict[str, Any] = {key: value for key, value in (("editor", editor), ("attribute", attribute)) if value}
    if strengths:
        changes["strengths"] = list(even_strengths(strengths))
    return changes
