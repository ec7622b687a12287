"""Everything that a plan may say, and every command and option, is documented."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_args, get_origin, get_type_hints

import pytest

from likewise.cli.study.commands import study
from likewise.study.config.written import WrittenStudy

DOCS = Path(__file__).parents[2] / "docs"
TABLE, COMMAND = (DOCS / "tables" / "study.md").read_text(), (DOCS / "commands" / "study.md").read_text()


def sections():
    """Return every section of study.toml with its keys; plain keys are under the empty name."""
    found = {"": []}
    for name, kind in get_type_hints(WrittenStudy).items():
        parts = [kind, *get_args(kind)]
        section = next((part for part in parts if is_dataclass(part)), None)
        if section is None:
            found[""].append(name)
        else:
            found[f"[[{name}]]" if get_origin(kind) is tuple else f"[{name}]"] = [
                entry.name for entry in fields(section)
            ]
    return found


KEYS = sorted({key for keys in sections().values() for key in keys if key != "item"})


@pytest.mark.parametrize("key", KEYS)
def test_every_key_of_a_plan_is_documented(key):
    assert f"`{key}`" in TABLE


@pytest.mark.parametrize("section", [name for name in sections() if name])
def test_every_section_of_a_plan_is_documented(section):
    assert f"`{section}`" in TABLE


@pytest.mark.parametrize("command", sorted(study.commands))
def test_every_command_and_option_is_documented(command):
    assert f"`likewise study {command}" in COMMAND
    (row,) = [line for line in COMMAND.splitlines() if f"`likewise study {command}" in line]
    for option in study.commands[command].params:
        if option.param_type_name == "option":
            assert option.opts[0] in row, option.opts
