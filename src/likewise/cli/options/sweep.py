"""The options of the command counterfactual. They are written into the plan, on which an audit's result depends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def sweep_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command options that are written into the plan's [counterfactual] before it runs."""

    def editing(folder: str, editor: str, attribute: str, strengths: str, dry_run: bool, **given: Any) -> None:
        changes = _changes(folder, editor, attribute, strengths)
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
        click.option("--editor", default="", help="The editor, or auto, for photographs; written into the plan."),
        click.option("--attribute", default="", help="The attribute to edit; written into the plan."),
        click.option("--strengths", default="", metavar="FROM:TO:STEPS", help="E.g. -2:2:7; written into the plan."),
    )
    for option in reversed(options):
        editing = option(editing)
    return editing


def _changes(folder: str, editor: str, attribute: str, strengths: str) -> dict[str, Any]:
    from likewise.counterfactuals.sweep_spec import even_strengths  # --help stays quick

    changes: dict[str, Any] = _editor(folder, editor) if editor else {}
    changes |= {"attribute": attribute} if attribute else {}
    if strengths:
        changes["strengths"] = list(even_strengths(strengths))
    return changes


def _editor(folder: str, editor: str) -> dict[str, Any]:
    """Return the editor; for photographs with all that it needs, by the plan's contrast and projection."""
    from likewise.audit.folder.store import PLAN, Folder
    from likewise.audit.plan.file import read_plan
    from likewise.audit.plan.photo_editor import AUTO, photo_editor

    if editor != AUTO:
        return {"editor": editor}
    root = Folder(folder).root
    plan = read_plan(root / PLAN)
    generator = plan.project.generator if plan.project else ""
    return photo_editor(plan.contrast.column, generator=generator, projects=plan.projects)
