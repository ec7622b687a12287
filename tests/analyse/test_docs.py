"""The examples in docs/analysis.md run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "analysis.md"


def test_the_examples_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102
    assert len(blocks) == 6 and capsys.readouterr().out.count("Estimates:") == 6


def test_every_file_of_the_room_has_its_words():
    files = {path.name for path in (PAGE.parents[1] / "src" / "likewise" / "analyse").glob("*.py")}
    missing = files - set(re.findall(r"\w+\.py", PAGE.read_text(encoding="utf-8"))) - {"__init__.py", "rows.py"}
    assert not missing
