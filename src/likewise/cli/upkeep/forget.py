"""``likewise forget``: erase a person from an audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("identity", metavar="ID")
@click.option("--in", "folder", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The audit folder.")
@click.option("--yes", is_flag=True, help="Erase without asking.")
@click.option("--dry-run", is_flag=True, help="List what would be erased; erase nothing.")
@click.option("--no-run", is_flag=True, help="Do not estimate again afterwards.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON on stdout.")
def forget(identity: str, folder: Path, yes: bool, dry_run: bool, no_run: bool, as_json: bool) -> None:
    """Erase a person from an audit and from the files that its plan names, and estimate again.

    Images, rows of tables, vectors, scores, labels, responses and recorded responses are removed, and all artifacts,
    because each was made with the person. The ledger erasures.json has the date and a keyed hash, no name.
    """
    from likewise.audit.privacy.forget import Erasure
    from likewise.audit.privacy.forget import forget as erase
    from likewise.cli.run import run_audit

    def agree(found: Erasure) -> bool:
        for line in [] if as_json else _lines(found):
            click.echo(line)
        return not dry_run and (yes or click.confirm("These files are changed for good. Continue?", err=True))

    done = erase(folder, identity, agree=agree)
    if as_json:
        click.echo(json.dumps(_plain(done), indent=1))
    if not done.artifacts and not done.sources:
        return
    for path in done.left:
        click.echo(f"warning: {path} still names an image of the person; remove it by hand", err=True)
    if not no_run:
        run_audit(str(folder), None, dry_run=False, quiet=as_json, as_json=False)


def _lines(found: Any) -> list[str]:
    sources = [f"  {source.path}: {source.count}" for source in found.sources]
    artifacts = ", ".join(path.name for path in found.artifacts if not path.name.endswith(".json"))
    return [
        f"{len(found.person.images)} images; erased from:", *sources,
        f"  recorded responses of services: {found.responses}",
        f"  artifacts, to be made again: {artifacts or 'none'}",
    ]  # fmt: skip


def _plain(done: Any) -> dict[str, Any]:
    sources = {str(source.path): source.count for source in done.sources}
    return {**done.counts, "sources": sources, "left": [str(path) for path in done.left]}
