"""docs/analysis.md names every module of analysis (tests/test_docs.py runs its examples)."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "analysis.md"


def test_every_module_is_on_the_page():
    source = PAGE.parents[1] / "src" / "likewise"
    files = {path.name for part in ("analysis", "stats") for path in (source / part).rglob("*.py")}
    assert len(files) > 30
    assert not files - set(re.findall(r"\w+\.py", PAGE.read_text(encoding="utf-8"))) - {"__init__.py"}
