"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., Any]


def _adder(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


_NO_CACHE = click.option("--no-cache", is_flag=True, help="Ignore the cache of earlier results (likewise cache).")
run_options = _adder(
    click.option("--dry-run", is_flag=True, help="Show what would run and why; write nothing."),
    click.option("--quiet", is_flag=True, help="Print no progress."),
    click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON on stdout."),
)
"""Of every command that runs stages."""
executor_options = _adder(
    click.option("--executor", help="local, processes or ray; overrides [executor] of the plan."),
    click.option("--workers", type=int, help="Number of workers; overrides the plan."),
    _NO_CACHE,
    click.option("--address", help="Address of a Ray cluster, e.g. auto or ray://head:10001."),
)
"""Where the work is done."""
cache_options = _adder(_NO_CACHE)
"""Of commands that run the stages of a new audit."""
cost_options = _adder(
    click.option("--max-cost", type=float, metavar="USD", help="Accept costs of paid services up to this amount."),
    click.option("--yes", is_flag=True, help="Accept the costs of paid services."),
)
"""What paid services may cost."""
