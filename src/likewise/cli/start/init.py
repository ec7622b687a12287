"""``likewise init``: write a plan, from options or from answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from likewise.cli.options.plan import plan_options


@click.command()
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@plan_options
@click.option("--times/--no-times", default=None, help="Measure how long each preset takes; default: with images.")
def init(folder: Path | None, force: bool, times: bool | None, **given: Any) -> None:
    """Write a commented plan (audit.toml) for a table and images, or for answers about them.

    Without options it asks for the table, the columns, the groups and what you have.
    """
    from likewise.audit.plan.request import AuditRequest
    from likewise.audit.plan.scaffold import init_audit, need_free, write_plan
    from likewise.audit.plan.scores import ScoresRequest, scores_plan
    from likewise.audit.preflight.need_license import need_license
    from likewise.cli.start.questions import ask_folder, ask_request

    asks = _nothing_given()
    place = folder or (ask_folder() if asks else Path("audit"))
    need_free(place, force=force)
    request = ask_request() if asks else AuditRequest(**given)
    if isinstance(request, ScoresRequest):
        text, lines = scores_plan(place, request)
        lines = [*write_plan(place, text, lines, force=force), f"next: likewise run {place}"]
    else:
        need_license(place, request)
        lines = init_audit(place, request, force=force)
        lines[-1:-1] = _times(request, times)
    for line in lines:
        click.echo(line)


def _nothing_given() -> bool:
    """Whether no option is on the command line, besides --force."""
    context = click.get_current_context()
    own = [name for name in context.params if name not in ("folder", "force")]
    return all(context.get_parameter_source(name) == click.core.ParameterSource.DEFAULT for name in own)


def _times(request: Any, wanted: bool | None) -> list[str]:
    projects = bool(request.images) and not (request.vectors or request.encoder)
    if not (projects if wanted is None else wanted and request.images):
        return []
    from likewise.audit.preflight.preset_times import lines_of, preset_times

    return lines_of(preset_times(request), request.preset)
