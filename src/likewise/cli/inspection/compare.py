"""``likewise compare``: what changed from one audit to another."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@click.option(
    "--rater", "raters", multiple=True, metavar="OLD=NEW", help="A system whose new version has another name."
)
@click.option(
    "--design", type=click.Choice(["paired", "independent"]), help="Same units, or two data sets; default: detected."
)
@click.option(
    "--out", type=click.Path(path_type=Path), default="compare.html", show_default=True, help="Page to write."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON on stdout, too.")
def compare(old: str, new: str, raters: tuple[str, ...], design: str | None, out: Path, as_json: bool) -> None:
    """Compare two finished audits: two versions of a system on the same units, or two data sets side by side."""
    from likewise.audit.results.comparison import compare as compared
    from likewise.report.comparison import comparison_entries
    from likewise.report.names import Naming

    found = compared(old, new, raters=_pairs(raters), design=design)  # type: ignore[arg-type]
    found.write(out)
    if as_json:
        click.echo(json.dumps({**found.plain(), "page": str(out)}, indent=1))
        return
    for note in (f"design: {found.design}", *found.notes):
        click.echo(note)
    for entry in comparison_entries(found.estimates, Naming(balanced=found.balanced)):
        click.echo(f"\n{entry['system']}: {entry['measure']} ({entry['where']})")
        for row in entry["rows"]:
            click.echo(f"  {row['group']:<18} {row['old']} -> {row['new']}: {row['change']}, {row['verdict']}")
    click.echo(f"\npage: {out}")


def _pairs(given: tuple[str, ...]) -> dict[str, str]:
    from likewise.errors import SpecError

    parts = [entry.partition("=") for entry in given]
    wrong = [entry for entry, part in zip(given, parts, strict=True) if not all(part)]
    if wrong:
        raise SpecError(f"--rater {wrong[0]} is not of the form OLD=NEW", fix="Write e.g. --rater v1=v2.")
    return {old: new for old, _, new in parts}
