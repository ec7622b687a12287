"""The catalog in docs/weights.md is the one in the code. Run this file as a script to write it again."""

from __future__ import annotations

from itertools import dropwhile
from pathlib import Path

import pytest

from likewise.cli.main import weights as verb
from likewise.weights import CATALOG, Weight

PAGE = Path(__file__).parents[2] / "docs" / "weights.md"
VERB = PAGE.parent / "commands" / "weights.md"
HEAD = "| name | role | what it is | from | license, as stated | caution |\n|---|---|---|---|---|---|\n"


def row(weight: Weight) -> str:
    terms = f"**{weight.terms}**: " if weight.terms != "open" else ""
    source = f"{weight.registry} `{weight.package}` {weight.version}"
    cells = [f"`{weight.name}`", weight.role, weight.purpose, source, weight.license, terms + weight.caution]
    return f"| {' | '.join(cells)} |\n"


def table() -> str:
    return HEAD + "".join(map(row, CATALOG.values()))


@pytest.mark.parametrize("weight", CATALOG.values(), ids=lambda weight: weight.name)
def test_every_weight_is_documented_as_it_is(weight):
    assert row(weight) in PAGE.read_text(), f"run: python {Path(__file__).name}"


def test_nothing_else_is_in_the_table():
    assert table() in PAGE.read_text()


@pytest.mark.parametrize("command", verb.commands.values(), ids=lambda command: command.name)
def test_every_command_and_option_is_documented(command):
    text = VERB.read_text()
    assert f"likewise weights {command.name}" in text
    for parameter in command.params:
        if parameter.opts[0].startswith("--"):
            assert f"`{parameter.opts[0]}" in text


if __name__ == "__main__":
    before, _, rest = PAGE.read_text().partition(HEAD)
    after = list(dropwhile(lambda line: line.startswith("|"), rest.splitlines(keepends=True)))
    PAGE.write_text(before + table() + "".join(after))
