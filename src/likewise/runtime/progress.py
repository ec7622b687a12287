"""Progress reporting: a bar on a terminal, plain lines in a log, or silence, and optionally a log file.

Everything here is written to stderr or to the log file; stdout is for results.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as RichProgress
from rich.progress import TaskID as RichTaskID
from rich.text import Text

from likewise.runtime.executor import Progress

Unit = Literal["items", "bytes"]
Clock = Callable[[], float]
_EVERY = 5.0  # seconds between two lines of a log
_AT_ONCE = 0.05  # seconds: items reported within this time were finished by an earlier run
_SAMPLES, _APART = 120, 1.0  # the rate is taken over this many samples, at least this many seconds apart


class Reporter(Protocol):
    """Reports messages and the progress of tasks."""

    def say(self, line: str) -> None:
        """Report one line."""

    def task(self, name: str, total: int, *, unit: Unit = "items") -> AbstractContextManager[Progress]:
        """Open a task of ``total`` items or bytes; 0 when the total is unknown."""

    def busy(self, name: str) -> AbstractContextManager[object]:
        """Open a task whose progress cannot be counted."""


@dataclass
class Pace:
    """Counts what is done and estimates the remaining time.

    The rate is taken over the recent samples, however far apart they are: a task that advances once a minute gets an
    estimate after its first step. Items that an earlier run finished are reported at once and do not count.
    """

    total: int
    clock: Clock = time.monotonic
    done: int = 0
    failed: int = 0
    _samples: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_SAMPLES))
    """(time, items done), oldest first."""
    _started: float = 0.0
    _latest: float = 0.0

    def __post_init__(self) -> None:
        self._started = self._latest = self.clock()
        self._samples.append((self._started, 0))

    def advance(self, items: int, failed: int = 0) -> float:
        """Count items and return the time."""
        self.done, self.failed, self._latest = self.done + items, self.failed + failed, self.clock()
        if self._latest - self._started < _AT_ONCE:
            self._samples[0] = (self._started, self.done)
        elif self._latest - self._samples[-1][0] >= _APART:
            self._samples.append((self._latest, self.done))
        return self._latest

    @property
    def rate(self) -> float:
        """Items a second; 0 when nothing was done yet."""
        since, before = self._samples[0]
        return (self.done - before) / (self._latest - since) if self._latest > since else 0.0

    @property
    def remaining(self) -> float | None:
        """Seconds until the end, counted down between two steps; None while there is no estimate."""
        if not self.rate or not self.total:
            return None
        return max(0.0, (self.total - self.done) / self.rate - (self.clock() - self._latest))


def duration(seconds: float) -> str:
    """Write a duration in the unit that fits.

    >>> duration(8), duration(400), duration(9000)
    ('8 s', '7 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


class Quiet:
    """Reports nothing; also a ``Progress`` that ignores everything."""

    def say(self, line: str) -> None:
        """Ignore the line."""

    @contextmanager
    def task(self, name: str, total: int, *, unit: Unit = "items") -> Iterator[Progress]:
        """Open a task that is not shown."""
        yield self

    def busy(self, name: str) -> AbstractContextManager[object]:
        """Open a task that is not shown."""
        return nullcontext()

    def advance(self, items: int, failed: int = 0) -> None:
        """Ignore the progress."""


class Terminal:
    """Draws a bar with rate, remaining time and failures for each task."""

    def __init__(self, *, clock: Clock = time.monotonic) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._clock = clock

    def say(self, line: str) -> None:
        """Print one line."""
        self._console.print(line, markup=False)

    @contextmanager
    def task(self, name: str, total: int, *, unit: Unit = "items") -> Iterator[Progress]:
        """Draw a bar that is removed when the task ends."""
        count = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
        columns = (
            TextColumn("  {task.description:<15}", markup=False), BarColumn(bar_width=30), count, _Rate(unit),
            TextColumn("elapsed"), TimeElapsedColumn(), _Remaining(), _Failed(),
        )  # fmt: skip
        pace = Pace(total, self._clock)
        with RichProgress(*columns, console=self._console, transient=True) as bar:
            yield _BarTask(bar, bar.add_task(name, total=total or None, pace=pace), pace)

    def busy(self, name: str) -> AbstractContextManager[object]:
        """Draw a spinner."""
        return self._console.status(f"{name} ...")


class _Rate(ProgressColumn):
    """Items or megabytes a second."""

    max_refresh = 0.5

    def __init__(self, unit: Unit) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        """Write the rate, once there is one."""
        rate = task.fields["pace"].rate
        return Text(_rate(rate, self._unit) if rate else "")


class _Remaining(ProgressColumn):
    """The estimated remaining time."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        """Write the time, once there is an estimate."""
        remaining = task.fields["pace"].remaining
        return Text("" if remaining is None else f"about {duration(remaining)} left")


class _Failed(ProgressColumn):
    """The number of failures."""

    def render(self, task: Task) -> Text:
        """Write the number, once there is one."""
        failed = task.fields["pace"].failed
        return Text(f"{failed} failed" if failed else "")


@dataclass
class _BarTask:
    bar: RichProgress
    task: RichTaskID
    pace: Pace

    def advance(self, items: int, failed: int = 0) -> None:
        self.pace.advance(items, failed)
        self.bar.update(self.task, advance=items)


class Log:
    """Prints plain lines for logs and pipes: at most one every few seconds."""

    def __init__(self, *, clock: Clock = time.monotonic) -> None:
        self._clock = clock

    def say(self, line: str) -> None:
        """Print one line."""
        print(line, file=sys.stderr, flush=True)  # noqa: T201

    @contextmanager
    def task(self, name: str, total: int, *, unit: Unit = "items") -> Iterator[Progress]:
        """Print lines while the task runs."""
        pace = Pace(total, self._clock)
        yield _LogTask(self, name, unit, pace, said=self._clock())

    def busy(self, name: str) -> AbstractContextManager[object]:
        """Print nothing: the stage reports when it ends."""
        return nullcontext()


@dataclass
class _LogTask:
    log: Log
    name: str
    unit: Unit
    pace: Pace
    said: float

    def advance(self, items: int, failed: int = 0) -> None:
        now = self.pace.advance(items, failed)
        if now - self.said < _EVERY or (self.pace.total and self.pace.done >= self.pace.total) or not self.pace.rate:
            return
        self.said, left = now, self.pace.remaining
        parts = [_count(self.pace, self.unit), _rate(self.pace.rate, self.unit)]
        parts += [f"about {duration(left)} left"] if left is not None else []
        parts += [f"{self.pace.failed} failed"] if self.pace.failed else []
        self.log.say(f"  {self.name}: {', '.join(parts)}")


def _count(pace: Pace, unit: Unit) -> str:
    if unit == "bytes":
        return f"{pace.done / 1e6:.1f}{f' of {pace.total / 1e6:.1f}' if pace.total else ''} MB"
    return f"{pace.done}/{pace.total}" if pace.total else str(pace.done)


def _rate(rate: float, unit: Unit) -> str:
    return f"{rate / 1e6:.1f} MB/s" if unit == "bytes" else f"{rate:.3g}/s"


class LogFile:
    """Copies everything that another reporter reports into a file, with the time of each line.

    A log that cannot be written (disk full, read-only folder) never stops the work.
    """

    def __init__(self, reporter: Reporter, path: Path, *, clock: Clock = time.monotonic) -> None:
        self._reporter, self._path, self._clock = reporter, path, clock

    def say(self, line: str) -> None:
        """Report one line and write it."""
        self._reporter.say(line)
        self.write(line)

    @contextmanager
    def task(self, name: str, total: int, *, unit: Unit = "items") -> Iterator[Progress]:
        """Open a task; its begin and its end, with counts and duration, are written."""
        pace, started = Pace(total, self._clock), self._clock()
        self.write(f"{name}: started ({_count(pace, unit)})")
        outcome = "stopped"
        try:
            with self._reporter.task(name, total, unit=unit) as shown:
                yield _Both(shown, pace)
            outcome = "finished"
        finally:
            failed = f", {pace.failed} failed" if pace.failed else ""
            self.write(f"{name}: {outcome} ({_count(pace, unit)}{failed}) in {duration(self._clock() - started)}")

    def busy(self, name: str) -> AbstractContextManager[object]:
        """Open a task whose progress cannot be counted."""
        self.write(f"{name} ...")
        return self._reporter.busy(name)

    def write(self, text: str) -> None:
        """Append lines to the file only, e.g. a traceback."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8", errors="backslashreplace") as handle:
                handle.writelines(f"{now} {line}\n" for line in text.splitlines() or [""])


@dataclass
class _Both:
    shown: Progress
    pace: Pace

    def advance(self, items: int, failed: int = 0) -> None:
        self.pace.advance(items, failed)
        if failed:
            self.shown.advance(items, failed)
        else:
            self.shown.advance(items)


def reporter(*, quiet: bool = False, log: Path | None = None) -> Reporter:
    """Choose a reporter: none, a terminal's or a log's.

    Parameters
    ----------
    quiet
        Show nothing.
    log
        File to which everything is also appended, e.g. ``likewise.log`` in the audit folder; written also when quiet.
    """
    shown: Reporter = Quiet() if quiet else Terminal() if sys.stderr.isatty() else Log()
    return shown if log is None else LogFile(shown, log)
