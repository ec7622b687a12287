"""What ``likewise check`` prints: a screen, the worst last, where one looks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from likewise.errors import some

if TYPE_CHECKING:
    from likewise.cli.check import Checked


def told(found: Checked) -> list[str]:
    """Say what was found, section by section; sections with nothing to say are left out."""
    lines = [f"{found.title}: {' > '.join(found.stages)}", "", *_table(found.groups)]
    lines += _titled("images", _images(found.images))
    lines += _titled("files", (f"{row['file']} ({_size(row)})" for row in found.files))
    lines += _titled("who takes part", (f"{row['who']}: {row['state']}" for row in found.occupants))
    lines += _titled("cost", found.costs or ["nothing is sent to a paid service"])
    lines += _titled("time, from an image or two", map(_time, found.times))
    lines += _titled("note", found.notes)
    lines += _titled("a run would fail", found.wrong)
    return lines if found.wrong else [*lines, "", "ready: nothing that a run needs is missing"]


def _titled(title: str, lines: Iterable[str]) -> list[str]:
    said = [f"  {line}" for line in lines]
    return ["", f"{title}:", *said] if said else []


def _table(rows: list[dict[str, Any]]) -> list[str]:
    names = list(rows[0])
    cells = [
        names,
        *([f"{row[name]:,}" if isinstance(row[name], int) else str(row[name]) for name in names] for row in rows),
    ]
    wide = [max(len(line[k]) for line in cells) for k in range(len(names))]
    return [
        "  ".join(cell.ljust(wide[k]) if k == 0 else cell.rjust(wide[k]) for k, cell in enumerate(line))
        for line in cells
    ]


def _images(found: Mapping[str, Any]) -> list[str]:
    if not found:
        return []
    lines = [f"{found['files']:,} files of the table's rows are there ({found['looked at']} looked at)"]
    for what in ("rows without a file", "files without a row", "unreadable"):
        if found[what]:
            lines.append(f"{what}: {len(found[what]):,} ({some(found[what], 3)})")
    return lines


def _size(row: Mapping[str, Any]) -> str:
    return f"{row['bytes']:,} bytes" if row["there"] else "missing"


def _time(row: Mapping[str, Any]) -> str:
    seconds = row["seconds"] * row["images"]
    whole = f"{seconds / 3600:.1f} hours" if seconds > 5400 else f"{seconds / 60:.1f} minutes"
    return f"{row['what']}: {row['images']:,} images at {row['seconds']:.3g} s, about {whole}"
