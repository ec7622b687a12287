"""The output of ``likewise check``: one screen, with the problems at the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from likewise.errors import some

if TYPE_CHECKING:
    from likewise.audit.preflight.problem import Check


def lines_of(found: Check) -> list[str]:
    """Return the lines, section by section; empty sections are left out."""
    lines = [f"{found.title}: {' > '.join(found.stages)}", "", *_table(found.groups)]
    lines += _titled("images", _images(found.images))
    lines += _titled("files", (f"{row['file']} ({_size(row)})" for row in found.files))
    lines += _titled("components", (f"{row['component']}: {row['state']}" for row in found.components))
    lines += _titled("cost", found.costs or ["no paid service"])
    lines += _titled("time, measured on an image or two", map(_time, found.times))
    lines += _titled("notes", found.notes)
    lines += _titled("problems; a run would fail", map(str, found.problems))
    return lines if found.problems else [*lines, "", "ready: everything that a run needs is there"]


def _titled(title: str, lines: Iterable[str]) -> list[str]:
    said = [f"  {line}" for line in lines]
    return ["", f"{title}:", *said] if said else []


def _table(rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
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
    lines = [f"{found['files']:,} files of the table's rows found ({found['checked']} checked)"]
    for what in ("rows without a file", "files without a row", "unreadable"):
        if found[what]:
            lines.append(f"{what}: {len(found[what]):,} ({some(found[what], 3)})")
    return lines


def _size(row: Mapping[str, Any]) -> str:
    return f"{row['bytes']:,} bytes" if row["exists"] else "missing"


def _time(row: Mapping[str, Any]) -> str:
    seconds = row["seconds"] * row["images"]
    whole = f"{seconds / 3600:.1f} hours" if seconds > 5400 else f"{seconds / 60:.1f} minutes"
    return f"{row['what']}: {row['images']:,} images at {row['seconds']:.3g} s, about {whole}"
