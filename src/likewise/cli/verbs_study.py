"""likewise study: plan, serve, export, import and rehearse a crowd study. Heavy rooms are opened inside the verbs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


@click.group()
def study() -> None:
    """Ask people: plan and run a crowd study, and take its answers home.

    A study is a folder with a plan (study.toml). Once served, the plan is frozen: every export carries its hash.
    """


@study.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--kind",
    default="real-or-fake",
    show_default=True,
    type=click.Choice(["real-or-fake", "skin-tone", "same-person"]),
    help="Which example to start from.",
)
def init(folder: Path, kind: str) -> None:
    """Write a commented example study, with drawn faces, ready to serve."""
    from likewise.cli.study_example import make_example

    for line in make_example(folder, kind):
        click.echo(line)


@study.command()
@click.argument("folder", metavar="STUDY", type=click.Path(path_type=Path))
@click.option("--database", default="", help="Address of a PostgreSQL database; default: study.sqlite in the folder.")
@click.option("--power/--no-power", default=True, help="Find the gap that the study can detect, by simulation.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON on stdout.")
def plan(folder: Path, database: str, power: bool, as_json: bool) -> None:
    """Check a plan; say what it costs, how long it takes and which gap it can detect."""
    from likewise.cli.study_plan import planned

    found = planned(folder, database=database, power=power)
    click.echo(json.dumps(found.values, indent=1) if as_json else "\n".join(found.lines))


@study.command()
@click.argument("folder", metavar="STUDY", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8765, show_default=True, help="Port to listen on; 0 takes a free one.")
@click.option("--database", default="", help="Address of a PostgreSQL database; default: study.sqlite in the folder.")
@click.option("--processes", default=1, show_default=True, help="Server processes; more than one needs PostgreSQL.")
@click.option("--public", default="", help="The address under which people reach it, e.g. https://study.example.org.")
@click.option("--joins", default=240, show_default=True, help="Requests a minute from one address without a session.")
@click.option("--proxy", default="", help="Address of the reverse proxy in front, whose word on clients is taken.")
def serve(folder: Path, **given: Any) -> None:
    """Serve a study, and print its link. Stop it with Ctrl-C; everything that was answered is on disk."""
    from likewise.cli.study_server import serve_study

    serve_study(folder, **given, say=click.echo)


@study.command()
@click.argument("folder", metavar="STUDY", type=click.Path(path_type=Path))
@click.option("--number", default=10, show_default=True, help="How many links.")
@click.option("--public", default="http://127.0.0.1:8765", show_default=True, help="The address of the server.")
def links(folder: Path, number: int, public: str) -> None:
    """Print signed personal links, one for each person you invite."""
    from likewise.cli.study_server import personal_links

    for line in personal_links(folder, number, public):
        click.echo(line)


@study.command()
@click.argument("folder", metavar="STUDY", type=click.Path(path_type=Path))
@click.option("--to", "target", type=click.Path(path_type=Path), help="Folder to write to; default: export in STUDY.")
@click.option("--database", default="", help="Address of a PostgreSQL database; default: study.sqlite in the folder.")
@click.option(
    "--tasks",
    type=click.Choice(["toloka", "mturk", "sagemaker"]),
    help="Write the units as a platform's task file instead of the answers.",
)
@click.option("--address", default="", help="Where the platform finds the images, e.g. https://example.org/images.")
def export(folder: Path, target: Path | None, database: str, tasks: str | None, address: str) -> None:
    """Write the answers (Parquet, CSV), or the units as a task file for Toloka, MTurk or SageMaker."""
    from likewise.cli.study_files import export_study, export_tasks

    place = target or folder / "export"
    paths = export_tasks(folder, place, tasks, address) if tasks else export_study(folder, place, database)
    for path in paths:
        click.echo(str(path))


@study.command("import")
@click.argument("folder", metavar="STUDY", type=click.Path(path_type=Path))
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "platform",
    required=True,
    type=click.Choice(["toloka", "mturk", "sagemaker"]),
    help="The platform that the file comes from.",
)
@click.option("--to", "target", type=click.Path(path_type=Path), help="Table to write; default: FILE as .parquet.")
def import_(folder: Path, file: Path, platform: str, target: Path | None) -> None:
    """Read a platform's file of answers into Ratings; unanswered stays unanswered."""
    from likewise.cli.study_files import import_answers

    for line in import_answers(folder, file, platform, target or file.with_suffix(".parquet")):
        click.echo(line)


@study.command()
@click.argument("folder", metavar="STUDY", type=click.Path(path_type=Path))
@click.option("--raters", default=0, help="How many raters; default: as many as the plan expects.")
@click.option("--ability", default=0.8, show_default=True, help="Mean chance of a right answer.")
@click.option("--truth", default="", help="Column of the unit table with the right answer; default: random answers.")
@click.option("--true-value", default="", help="The level of that column that means 1; default: it holds numbers.")
@click.option(
    "--to", "target", type=click.Path(path_type=Path), help="Folder to export to; default: rehearsal in STUDY."
)
@click.option("--seed", default=0, show_default=True)
def simulate(folder: Path, **given: Any) -> None:
    """Rehearse: simulated raters go through the study over HTTP, on a database of their own."""
    from likewise.cli.study_simulate import rehearse

    for line in rehearse(folder, **given):
        click.echo(line)
