"""Every command explains itself; no line of any help text is cut off."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from likewise.cli.main import cli


def commands(command: click.Command, above: click.Context | None = None) -> Iterator[click.Context]:
    context = click.Context(command, info_name=command.name, parent=above, terminal_width=80)
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, context)


@pytest.mark.parametrize("context", list(commands(cli)), ids=lambda context: context.command_path)
def test_no_line_is_cut_off(context):
    shown = context.command.get_help(context)
    assert not [line for line in shown.splitlines() if line.endswith("...") and "Usage:" not in line]
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("context", list(commands(cli)), ids=lambda context: context.command_path)
def test_every_option_has_a_help_text(context):
    assert context.command.help
    silent = [option.name for option in context.command.params if isinstance(option, click.Option) and not option.help]
    assert set(silent) <= {"seed"}
