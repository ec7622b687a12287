"""The write queue: all changes go through one thread, which commits those that wait together in one transaction.

A response is acknowledged when its transaction is on disk. A disk can sync only so often a second, so responses that
arrive while it syncs share the next one: with many raters that is many responses per sync, and none waits for a lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

import sqlalchemy as sa

from likewise.study.store.schema import move_log

T = TypeVar("T")
A = TypeVar("A")
Together = Callable[[sa.Connection, list[A]], list[T]]
"""A change for several callers at once: their arguments, and a result for each."""
_MOST = 128
_TRIES = 4
_MOVE_SECONDS = 1.0


@dataclass(frozen=True)
class _Queued:
    """A change that waits: what makes it, for which argument, and who wants to know."""

    make: Together[Any, Any]
    argument: Any
    future: Future[Any]


def _one_by_one(connection: sa.Connection, changes: list[Callable[[sa.Connection], T]]) -> list[T]:
    return [change(connection) for change in changes]


class WriteQueue:
    """Runs changes (functions of a connection, without other side effects) and reports when they are durable."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._waiting: queue.SimpleQueue[_Queued | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="write queue", daemon=True)
        self._thread.start()
        self._closing = threading.Event()
        self._mover = threading.Thread(target=self._move_log, name="write-ahead log", daemon=True)
        if engine.dialect.name == "sqlite":
            self._mover.start()

    def submit(self, change: Callable[[sa.Connection], T]) -> Future[T]:
        """Queue a change; the future is done when the change is durable."""
        return self.submit_to(_one_by_one, change)

    def submit_to(self, make: Together[A, T], argument: A) -> Future[T]:
        """Queue a change that ``make`` makes for all arguments that wait at the same time."""
        future: Future[T] = Future()
        self._waiting.put(_Queued(make, argument, future))
        return future

    async def run(self, change: Callable[[sa.Connection], T]) -> T:
        """Make a change and return when it is on disk."""
        return await asyncio.wrap_future(self.submit(change))

    async def run_together(self, make: Together[A, T], argument: A) -> T:
        """Make a change, together with others of its kind, and return when it is on disk."""
        return await asyncio.wrap_future(self.submit_to(make, argument))

    def close(self) -> None:
        """Finish the queued changes, then stop."""
        self._waiting.put(None)
        self._thread.join()
        self._closing.set()
        if self._mover.is_alive():
            self._mover.join()

    def _move_log(self) -> None:
        """Keep the log of SQLite short. In a commit, moving it delayed the responses that waited, up to 100 ms."""
        while not self._closing.wait(_MOVE_SECONDS):
            with contextlib.suppress(sa.exc.DBAPIError, sqlite3.Error):  # it is busy: next time
                move_log(self._engine)

    def _work(self) -> None:
        while (first := self._waiting.get()) is not None:
            batch, closing = self._gathered(first)
            self._commit(batch)
            if closing:
                return

    def _gathered(self, first: _Queued) -> tuple[list[_Queued], bool]:
        batch = [first]
        while len(batch) < _MOST:
            try:
                waiting = self._waiting.get_nowait()
            except queue.Empty:
                break
            if waiting is None:
                return batch, True
            batch.append(waiting)
        return batch, False

    def _commit(self, batch: list[_Queued]) -> None:
        kinds: dict[Together[Any, Any], list[_Queued]] = {}
        for queued in batch:
            kinds.setdefault(queued.make, []).append(queued)
        try:
            with self._engine.begin() as connection:
                results = [make(connection, [one.argument for one in of]) for make, of in kinds.items()]
        except Exception:  # one failing change must not roll back the others
            for queued in batch:
                self._alone(queued)
            return
        for of, found in zip(kinds.values(), results, strict=True):
            for queued, result in zip(of, found, strict=True):
                queued.future.set_result(result)

    def _alone(self, queued: _Queued) -> None:
        """Run one change by itself; retry after a conflict with another process or a lost connection."""
        for attempt in range(_TRIES):
            try:
                with self._engine.begin() as connection:
                    result = queued.make(connection, [queued.argument])[0]
            except sa.exc.DBAPIError as error:
                if attempt + 1 < _TRIES:
                    continue
                queued.future.set_exception(error)
            except Exception as error:  # passed on to the caller
                queued.future.set_exception(error)
            else:
                queued.future.set_result(result)
            return
