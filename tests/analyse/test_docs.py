"""docs/analysis.md speaks of every file of the room (tests/test_docs.py runs its examples)."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "analysis.md"


def test_every_file_of_the_room_has_its_words():
    files = {path.name for path in (PAGE.parents[1] / "src" / "likewise" / "analyse").glob("*.py")}
    missing = files - set(re.findall(r"\w+\.py", PAGE.read_text(encoding="utf-8"))) - {"__init__.py", "rows.py"}
    assert not missing
