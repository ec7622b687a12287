"""What a person, or a log, sees while work goes on. Everything here goes to stderr; stdout is for results."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress
from rich.text import Text

from likewise.engine import Progress, Silent

_EVERY = 5.0  # seconds between two lines of a log
_AT_ONCE = 0.05


class Voice(Protocol):
    """Says what happens: lines, and how far a piece of work is."""

    def say(self, line: str) -> None:
        """Say one line."""

    def task(self, name: str, total: int) -> AbstractContextManager[Progress]:
        """Open a piece of work of so many items."""

    def busy(self, name: str) -> AbstractContextManager[object]:
        """Open a piece of work that cannot be counted."""


class Quiet:
    """Says nothing."""

    def say(self, line: str) -> None:
        """Say nothing."""

    @contextmanager
    def task(self, name: str, total: int) -> Iterator[Progress]:
        """Show nothing."""
        yield Silent()

    def busy(self, name: str) -> AbstractContextManager[object]:
        """Show nothing."""
        return nullcontext()


class Terminal:
    """A bar with rate and remaining time for each piece of work."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)

    def say(self, line: str) -> None:
        """Print one line."""
        self._console.print(line, markup=False)

    @contextmanager
    def task(self, name: str, total: int) -> Iterator[Progress]:
        """Draw a bar that vanishes when the work is done."""
        columns = (
            TextColumn("  {task.description:<15}"), BarColumn(bar_width=30), MofNCompleteColumn(),
            _Rate(), TextColumn("elapsed"), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(), _Failed(),
        )  # fmt: skip
        with RichProgress(*columns, console=self._console, transient=True) as bar:
            yield _RichTask(bar, bar.add_task(name, total=total))

    def busy(self, name: str) -> AbstractContextManager[object]:
        """Turn a wheel."""
        return self._console.status(f"{name} ...")


class _Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        """Write the rate, once there is one."""
        return Text(f"{task.speed:.3g}/s" if task.speed else "")


class _Failed(ProgressColumn):
    """How many came to nothing so far."""

    def render(self, task: Task) -> Text:
        """Write their number, once there is one."""
        failed = task.fields.get("failed", 0)
        return Text(f"{failed} failed" if failed else "")


@dataclass
class _RichTask:
    bar: RichProgress
    task: object
    failed: int = 0

    def advance(self, items: int, failed: int = 0) -> None:
        self.failed += failed
        self.bar.update(self.task, advance=items, failed=self.failed)  # type: ignore[arg-type]


class Log:
    """Plain lines, for logs and pipes: one at most every few seconds."""

    def say(self, line: str) -> None:
        """Print one line."""
        print(line, file=sys.stderr, flush=True)  # noqa: T201

    @contextmanager
    def task(self, name: str, total: int) -> Iterator[Progress]:
        """Print lines while the work goes on."""
        now = time.monotonic()
        yield _LogTask(self, name, total, started=now, said=now)

    def busy(self, name: str) -> AbstractContextManager[object]:
        """Print nothing: the stage itself speaks when it is done."""
        return nullcontext()


@dataclass
class _LogTask:
    log: Log
    name: str
    total: int
    started: float
    said: float
    done: int = 0
    before: int = 0
    """What an earlier run had done: it is told at once, and says nothing about how fast this one is."""
    failed: int = 0

    def advance(self, items: int, failed: int = 0) -> None:
        self.done += items
        self.failed += failed
        now = time.monotonic()
        if now - self.started < _AT_ONCE:
            self.before += items
        if now - self.said >= _EVERY and self.before < self.done < self.total:
            rate = (self.done - self.before) / (now - self.started)
            left = (self.total - self.done) / rate
            lost = f", {self.failed} failed" if self.failed else ""
            self.log.say(f"  {self.name}: {self.done}/{self.total}, {rate:.3g}/s, about {left:.0f} s left{lost}")
            self.said = now


def voice(*, quiet: bool) -> Voice:
    """Choose how to speak: not at all, to a terminal, or to a log."""
    if quiet:
        return Quiet()
    return Terminal() if sys.stderr.isatty() else Log()
