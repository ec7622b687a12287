"""likewise study: plan, serve, export, import and rehearse a human study. Packages are imported inside commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from likewise.cli.help import Group


def _checked(context: click.Context, parameter: click.Parameter, value: str) -> str:
    from likewise.cli.study.server import refuse_password

    if context.get_parameter_source(str(parameter.name)) is click.core.ParameterSource.COMMANDLINE:
        refuse_password(value)
    return value


_database = click.option(
    "--database",
    default="",
    envvar="LIKEWISE_STUDY_DATABASE",
    callback=_checked,
    help="PostgreSQL address, without password (LIKEWISE_STUDY_DATABASE or ~/.pgpass); default: study.sqlite.",
)


_into = click.option(
    "--into", "audit", type=click.Path(path_type=Path), help="Audit whose [collect] reads the responses."
)


@click.group(cls=Group)
def study() -> None:
    """Human studies: plan, serve, export and import.

    A study is a folder with a plan (study.toml). Serving freezes the plan; every export carries its hash.
    """


@study.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--kind",
    type=click.Choice(["real-or-fake", "skin-tone", "same-person"]),
    help="Kind of study; default: real-or-fake, of an audit same-person, of generate the attribute.",
)
@click.option(
    "--from", "audit", type=click.Path(path_type=Path), help="Audit, or folder of generate, of which the units are."
)
@click.option("--units", default=0, help="Draw this many units of the audit at random; default: all.")
@click.option("--seed", default=0, show_default=True, help="Seed of the draw and of the study.")
def init(folder: Path, kind: str | None, audit: Path | None, units: int, seed: int) -> None:
    """Write an example study, or a study about an audit."""
    from likewise.cli.study.example import make_example
    from likewise.cli.study.from_audit import study_from_audit
    from likewise.cli.study.from_generated import is_generated, study_from_generated

    if audit is None:
        lines = make_example(folder, kind or "real-or-fake")
    elif is_generated(audit):
        lines = study_from_generated(folder, audit, kind or "", units=units, seed=seed)
    else:
        lines = study_from_audit(folder, audit, kind or "same-person", units=units, seed=seed)
    for line in lines:
        click.echo(line)


@study.command()
@click.argument("folder", metavar="STUDY", type=click.Path(path_type=Path))
@_database
@click.option("--power/--no-power", default=True, help="Simulate which gap the study can detect.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON on stdout.")
def plan(folder: Path, database: str, power: bool, as_json: bool) -> None:
    """Check a plan; print its cost, duration and detectable gap."""
    from likewise.cli.study.plan import planned

    found = planned(folder, database=database, power=power)
    click.echo(json.dumps(found.values, indent=1) if as_json else "\n".join(found.lines))


@study.command()
@click.argument("folder", metavar="STUDY", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8765, show_default=True, help="Port to listen on; 0 takes a free one.")
@_database
@click.option("--processes", default=1, show_default=True, help="Server processes; more than one needs PostgreSQL.")
@click.option("--public", default="", help="Public address of the study, e.g. https://study.example.org.")
@click.option("--joins", default=240, show_default=True, help="Requests per minute from one address without a session.")
@click.option("--proxy", default="", help="Address of the reverse proxy; its X-Forwarded-For is trusted.")
@click.option("--connections", default=1000, show_default=True, help="Most open connections per process.")
@click.option("--per-address", default=250, show_default=True, help="Most open connections from one address.")
def serve(folder: Path, **given: Any) -> None:
    """Serve a study and print its links; stop with Ctrl-C."""
    from likewise.cli.study.server import Serving, serve_study

    serve_study(folder, Serving(**given), click.echo)


@study.command()
@click.argument("folder", metavar="STUDY", type=click.Path(path_type=Path))
@click.option("--number", default=10, show_default=True, help="How many links.")
@click.option("--public", default="http://127.0.0.1:8765", show_default=True, help="The address of the server.")
def links(folder: Path, number: int, public: str) -> None:
    """Print signed personal links, one per invited rater."""
    from likewise.cli.study.server import personal_links

    for line in personal_links(folder, number, public):
        click.echo(line)


@study.command()
@click.argument("folder", metavar="STUDY", type=click.Path(path_type=Path))
@click.option("--to", "target", type=click.Path(path_type=Path), help="Folder to write to; default: export in STUDY.")
@_database
@click.option(
    "--tasks",
    type=click.Choice(["toloka", "mturk", "sagemaker"]),
    help="Write the task file of a platform instead of the responses.",
)
@click.option("--address", default="", help="Address of the images for the platform, e.g. https://example.org/images.")
@_into
def export(
    folder: Path, target: Path | None, database: str, tasks: str | None, address: str, audit: Path | None
) -> None:
    """Write responses (Parquet, CSV), or the task file of a platform."""
    from likewise.cli.study.files import export_study, export_tasks

    place = target or folder / "export"
    paths = export_tasks(folder, place, tasks, address) if tasks else export_study(folder, place, database)
    for path in paths:
        click.echo(str(path))
    if audit is not None:
        from likewise.cli.study.from_audit import into_audit

        if tasks:
            raise click.UsageError("--into needs responses, and --tasks writes none.")
        click.echo(into_audit(audit, place / "ratings.parquet"))


@study.command("import")
@click.argument("folder", metavar="STUDY", type=click.Path(path_type=Path))
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "platform",
    default="table",
    show_default=True,
    type=click.Choice(["table", "toloka", "mturk", "sagemaker"]),
    help="Source of the file: any long table, or a platform.",
)
@click.option("--to", "target", type=click.Path(path_type=Path), help="Table to write; default: FILE as .parquet.")
@click.option("--unit", default="", help="Column with the unit, for --from table.")
@click.option("--rater", default="", help="Column with the rater, for --from table.")
@click.option("--question", default="", help="Column with the question, for --from table.")
@click.option("--value", default="", help="Column with the response, for --from table.")
@click.option("--seconds", default="", help="Column with the seconds, for --from table.")
@_into
def import_(folder: Path, file: Path, platform: str, target: Path | None, audit: Path | None, **columns: str) -> None:
    """Read responses of a platform, or any long table, into Ratings."""
    from likewise.cli.study.files import import_responses
    from likewise.cli.study.from_audit import into_audit
    from likewise.study.long_table import LongColumns

    if platform != "table" and any(columns.values()):
        raise click.UsageError("The names of columns are for --from table.")
    to = target or file.with_suffix(".parquet")
    if to == file:
        to = file.with_suffix(".ratings.parquet")
    for line in import_responses(folder, file, platform, to, LongColumns(**columns)):
        click.echo(line)
    if audit is not None:
        click.echo(into_audit(audit, to))


@study.command()
@click.argument("folder", metavar="STUDY", type=click.Path(path_type=Path))
@click.option("--raters", default=0, help="How many raters; default: as many as the plan expects.")
@click.option("--ability", default=0.8, show_default=True, help="Mean probability of a correct response.")
@click.option("--truth", default="", help="Column of the unit table with the correct value; default: random responses.")
@click.option("--true-value", default="", help="The level of that column that means 1; default: the column is numeric.")
@click.option(
    "--to", "target", type=click.Path(path_type=Path), help="Folder to export to; default: rehearsal in STUDY."
)
@click.option("--seed", default=0, show_default=True)
def simulate(folder: Path, **given: Any) -> None:
    """Rehearse a study with simulated raters over HTTP."""
    from likewise.cli.study.simulate import rehearse

    for line in rehearse(folder, **given):
        click.echo(line)
