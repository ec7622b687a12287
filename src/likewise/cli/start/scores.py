"""``likewise scores``: from a file of scores to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from likewise.cli.options.shared import cache_options, run_options

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("files", metavar="[NAME=]FILE...", nargs=-1, required=True)
@click.option("--table", required=True, type=_PATH, help="CSV, TSV or Parquet, one row per image.")
@click.option("--out", required=True, type=_PATH, metavar="DIR", help="The audit folder.")
@click.option(
    "--columns",
    default="",
    metavar="LEFT,RIGHT,SCORE[,...]",
    help="Columns of the score files; several scores are several systems. Default: the obvious ones.",
)
@click.option("--system-column", default="", help="Column of the score file that names the system of a row.")
@click.option("--image-column", default="", help="Column of the table with the key that the score files use.")
@click.option("--identity", default="", help="Column of the table with the identity.")
@click.option("--protected", default="", help="Column with the protected attribute, e.g. perceived_sex.")
@click.option("--focal", default="", help="Focal level, e.g. F.")
@click.option("--reference", default="", help="Reference level, e.g. M.")
@click.option("--covariates", default="", help="Comma-separated columns to balance; default: all others.")
@click.option("--by", multiple=True, metavar="COLUMN", help="Column whose groups are reported one by one; repeatable.")
@click.option(
    "--measure",
    type=click.Choice(["auto", "similarity", "distance"]),
    default="auto",
    show_default=True,
    help="What the scores are; auto: from genuine and impostor pairs.",
)
@click.option("--threshold", multiple=True, metavar="[NAME=]VALUE", help="The system's threshold, as in the file.")
@click.option("--title", default="Audit of scores", show_default=True, help="Title of the report.")
@click.option("--seed", default=0, show_default=True)
@click.option("--force", is_flag=True, help="Overwrite an existing plan.")
@run_options
@cache_options
def scores(files: tuple[str, ...], out: Path, columns: str, force: bool, **given: Any) -> None:  # fmt: skip
    """Audit the scores of recognizers: from files of scored pairs and a table to the report.

    Columns, groups and the kind of score are recognized where they are obvious, and printed. The pairs of the file are
    the trials; they are matched on the covariates of the table. No image is needed.
    """
    from likewise.audit.plan.scaffold import write_plan
    from likewise.audit.plan.scores import ScoresRequest, scores_plan
    from likewise.cli.run import run_audit

    how = {name: given.pop(name) for name in ("dry_run", "quiet", "as_json", "no_cache")}
    named = tuple(name.strip() for name in columns.split(",") if name.strip())
    request = ScoresRequest(files=files, columns=named, **given)
    text, lines = scores_plan(out if out.is_dir() or not how["dry_run"] else None, request)
    lines = write_plan(out, text, lines, force=force, dry_run=how["dry_run"])
    for line in [] if how["as_json"] or how["quiet"] else lines:
        click.echo(line)
    run_audit(str(out), None, text=text, **how)
