"""Groups of commands whose help shows every line whole."""

from __future__ import annotations

import click

WHOLE = 200  # characters of a command's first sentence; click cuts it off at the width of the terminal


class Group(click.Group):
    """A group of commands: their descriptions are wrapped, not cut off."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one entry per command."""
        rows = [(name, command.get_short_help_str(WHOLE)) for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(sorted(rows))
