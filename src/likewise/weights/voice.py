"""How fetching says what it does. The command line speaks through a bar or plain lines; a library call is silent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Counter(Protocol):
    """Counts what was done."""

    def advance(self, items: int) -> None:
        """So many bytes more."""


class Voice(Protocol):
    """Says what happens: lines, and how far a download is."""

    def say(self, line: str) -> None:
        """Say one line."""

    def task(self, name: str, total: int) -> AbstractContextManager[Counter]:
        """Open a download of so many bytes; 0 when nobody knows."""


class Silent:
    """Says nothing."""

    def say(self, line: str) -> None:
        """Say nothing."""

    @contextmanager
    def task(self, name: str, total: int) -> Iterator[Counter]:
        """Show nothing."""
        yield self

    def advance(self, items: int) -> None:
        """Show nothing."""
