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
from typing import Any, TypeVar

import sqlalchemy as sa

from likewise.study.store.schema import move_log

T = TypeVar("T")
Change = Callable[[sa.Connection], Any]
_MOST = 128
_TRIES = 4
_MOVE_SECONDS = 1.0


class WriteQueue:
    """Runs changes (functions of a connection, without other side effects) and reports when they are durable."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._waiting: queue.SimpleQueue[tuple[Change, Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="write queue", daemon=True)
        self._thread.start()
        self._closing = threading.Event()
        self._mover = threading.Thread(target=self._move_log, name="write-ahead log", daemon=True)
        if engine.dialect.name == "sqlite":
            self._mover.start()

    def submit(self, change: Callable[[sa.Connection], T]) -> Future[T]:
        """Queue a change; the future is done when the change is durable."""
        future: Future[T] = Future()
        self._waiting.put((change, future))
        return future

    async def run(self, change: Callable[[sa.Connection], T]) -> T:
        """Make a change and return when it is on disk."""
        return await asyncio.wrap_future(self.submit(change))

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

    def _gathered(self, first: tuple[Change, Future[Any]]) -> tuple[list[tuple[Change, Future[Any]]], bool]:
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

    def _commit(self, batch: list[tuple[Change, Future[Any]]]) -> None:
        try:
            with self._engine.begin() as connection:
                results = [change(connection) for change, _ in batch]
        except Exception:  # one failing change must not roll back the others
            for change, future in batch:
                self._alone(change, future)
            return
        for (_, future), result in zip(batch, results, strict=True):
            future.set_result(result)

    def _alone(self, change: Change, future: Future[Any]) -> None:
        """Run one change by itself; retry after a conflict with another process or a lost connection."""
        for attempt in range(_TRIES):
            try:
                with self._engine.begin() as connection:
                    result = change(connection)
            except sa.exc.DBAPIError as error:
                if attempt + 1 < _TRIES:
                    continue
                future.set_exception(error)
            except Exception as error:  # passed on to the caller
                future.set_exception(error)
            else:
                future.set_result(result)
            return
