"""What a person, or a log, sees of a download: megabytes, their rate, and what is left."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.progress import Progress as RichProgress

from likewise.cli.progress import Log, Terminal, _RichTask
from likewise.engine import Progress
from likewise.weights.voice import Silent, Voice

_EVERY = 5.0  # seconds between two lines of a log


class TerminalDownloads(Terminal):
    """A bar in megabytes that vanishes when the archive is there."""

    @contextmanager
    def task(self, name: str, total: int) -> Iterator[Progress]:
        """Draw the bar; without a known size it only moves."""
        columns = (
            TextColumn("  {task.description}"), BarColumn(bar_width=30), DownloadColumn(), TransferSpeedColumn(),
            TextColumn("left"), TimeRemainingColumn(),
        )  # fmt: skip
        with RichProgress(*columns, console=self._console, transient=True) as bar:
            yield _RichTask(bar, bar.add_task(name, total=total or None))


class LogDownloads(Log):
    """Plain lines, one at most every few seconds."""

    @contextmanager
    def task(self, name: str, total: int) -> Iterator[Progress]:
        """Print lines while bytes come in."""
        yield _Lines(self, name, total, said=time.monotonic())


@dataclass
class _Lines:
    log: Log
    name: str
    total: int
    said: float
    done: int = 0

    def advance(self, items: int, failed: int = 0) -> None:
        self.done += items
        if time.monotonic() - self.said >= _EVERY:
            self.said = time.monotonic()
            of = f" of {self.total / 1e6:.1f}" if self.total else ""
            self.log.say(f"  {self.name}: {self.done / 1e6:.1f}{of} MB")


def downloads_voice(*, quiet: bool) -> Voice:
    """Choose how to speak: not at all, to a terminal, or to a log."""
    if quiet:
        return Silent()
    return TerminalDownloads() if sys.stderr.isatty() else LogDownloads()
