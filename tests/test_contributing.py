"""CONTRIBUTING.md names files for ten common changes; they must exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def rows() -> dict[str, list[str]]:
    table = [line for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if line.startswith("| a")]
    found = {}
    for line in table:
        change, files = (cell.strip() for cell in line.strip("|").split("|"))
        found[change] = [
            name
            for name in re.findall(r"`([^`]+)`", files)
            if "/" in name and "<" not in name and not name.startswith("docs/")
        ]
    return found


def test_ten_changes_are_listed():
    assert len(rows()) == 10


def test_every_file_of_a_change_exists():
    missing = {
        change: [name for name in files if not (ROOT / "src" / "likewise" / name).exists()]
        for change, files in rows().items()
    }
    assert not {change: files for change, files in missing.items() if files}
