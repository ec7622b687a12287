"""likewise import-edits: a ready set of counterfactual images, checked like any other edits."""

from __future__ import annotations

from pathlib import Path

import click

from likewise.errors import SpecError


@click.command("import-edits")
@click.argument("folder", metavar="DIR")
@click.argument("edits", type=click.Path(path_type=Path), metavar="EDITS")
@click.option(
    "--table", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Table with one row per edit."
)
@click.option("--layout", default="", help="table, folders, names, pairs, causalface or social-counterfactuals.")
@click.option("--parent", default="parent", help="Column of the original's key.")
@click.option("--strength", default="strength", help="Column of the strength, or of the level.")
@click.option("--file", default="file", help="Column of the edited picture.")
@click.option("--arm", default="", help="Column of the placebo arm: empty, reconstruct or random.")
@click.option("--level", "levels", multiple=True, metavar="WORD=STRENGTH", help="Strength of a level, e.g. male=-1.")
@click.option("--separator", default="_", help="Separator of the original's name and the level in file names.")
@click.option("--attribute", default="", help="What the edits change; by default the contrast's column.")
@click.option("--mask", default="", help="Where an edit may show: person (the default), skin or none.")
@click.option("--name", default="", help="Name of the set in the report.")
def import_edits(
    folder: str, edits: Path, table: Path | None, layout: str, parent: str, strength: str, file: str, arm: str,
    levels: tuple[str, ...], separator: str, attribute: str, mask: str, name: str,
) -> None:  # fmt: skip
    """Check a set of edited pictures in EDITS and make it the counterfactuals of the audit in DIR."""
    from likewise.audit.folder.store import PLAN
    from likewise.audit.tools.import_edits import import_edits as imported
    from likewise.audit.tools.import_edits import write_originals
    from likewise.counterfactuals.foreign.manifest import EditSet
    from likewise.counterfactuals.foreign.published import PUBLISHED

    given = EditSet(
        images=edits, table=table, layout=layout, parent=parent, strength=strength, file=file, arm=arm,
        levels=dict(map(_level, levels)), separator=separator, attribute=attribute,
    )  # fmt: skip
    if layout in PUBLISHED and not (Path(folder) / PLAN).is_file():
        for line in write_originals(Path(folder), given, attribute):
            click.echo(line)
        return
    for line in imported(folder, given, attribute=attribute, mask=mask, name=name).lines():
        click.echo(line)
    click.echo(f"wrote edits.csv and [counterfactual]; next: likewise run {folder}")


def _level(text: str) -> tuple[str, float]:
    word, _, number = text.rpartition("=")
    try:
        return word, float(number)
    except ValueError:
        raise SpecError(f"Cannot read the level {text[:40]!r}", fix="Write --level female=1") from None
