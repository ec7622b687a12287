"""``likewise groups``: the values of several groups and their intersections, from a finished audit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("folder", metavar="DIR")
@click.option(
    "--by", multiple=True, required=True, metavar="COLUMN", help="Column to group by; several: intersections."
)
@click.option("--reference", default="", metavar="GROUP", help='Group to compare with, e.g. "White, Male".')
@click.option("--suppress-below", default=0, show_default=True, help="Leave out groups with fewer identities.")
@click.option("--csv", "table", type=click.Path(path_type=Path), help="Write all rows to this CSV file.")
@click.option("--json", "as_json", is_flag=True, help="Print all rows as JSON on stdout.")
def groups(folder: str, by: tuple[str, ...], table: Path | None, as_json: bool, **given: Any) -> None:
    """Print the rates or means of every group of some columns, with intervals and differences.

    The audit's own files are not changed; [groups] in the plan puts the same into the report.
    """
    from likewise.audit.api import Audit

    found = Audit(folder).by_group(*by, **given)
    if table is not None:
        found.write(table)
    if as_json:
        click.echo(found.frame.to_json(orient="records", indent=1, double_precision=15))
        return
    for line in _lines(found):
        click.echo(line)


def _lines(found: Any) -> list[str]:
    """Return the quantities one after another: each group with its value and its difference."""
    from likewise.report.sections.findings.groups import group_sections

    lines: list[str] = []
    for section in group_sections(found):
        for entry in section["entries"]:
            rows = [(row["group"], row["identities"], row["value"], row["difference"]) for row in entry["rows"]]
            lines += [
                "",
                entry["name"],
                *_aligned([("group", "identities", "value", f"to {entry['reference']}"), *rows]),
            ]
            lines.append(f"highest - lowest: {entry['largest']}; ratio: {entry['ratio']}")
        lines += ["", section["suppressed"]] if section["suppressed"] else []
    return lines[1:]


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
