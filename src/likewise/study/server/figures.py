"""The figures of the designer's page and the exports: computed beside the raters' requests, never in their way.

What is fetched is fetched in one short read. A large study is read and computed in other processes, which run when
nothing else wants the processor. Figures are kept for a few seconds. A page that would wait longer than
``_PATIENCE`` seconds for new ones shows the last, with their time, while the new ones are computed.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing import get_context
from typing import Any

import sqlalchemy as sa

from likewise.errors import LikewiseError
from likewise.study.config.sections import StudyPlan
from likewise.study.server.serve import end_with_parent
from likewise.study.store.export import comments, controls, progress, rater_table, ratings, read_collected
from likewise.study.store.schema import open_engine, reading, task

Agreement = Callable[[StudyPlan, Any], list[Mapping[str, object]]]
"""Turns a study and its Ratings into rows about agreement; importable, because another process may call it."""
SMALL = 2000
"""Up to so many responses the server's own process computes."""
_KEEP = 5.0
_PATIENCE = 0.5
_WORKERS = 2  # a page need not wait for an export
_TABLES: dict[str, Callable[..., Any]] = {
    "ratings": lambda data: ratings(data).frame,
    "raters": rater_table,
    "controls": controls,
    "comments": comments,
}
_COUNT = sa.select(sa.func.count()).where(task.c.answered_at.is_not(None))


@dataclass
class Figures:
    """Computes figures and tables of a running study."""

    study: StudyPlan
    url: str
    plan_hash: str
    engine: sa.Engine
    agreement: Agreement | None = None
    _kept: dict[str, Any] | None = None
    _coming: Future[dict[str, Any]] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pool: ProcessPoolExecutor | None = None

    def overview(self) -> dict[str, Any]:
        """Return progress, raters, agreement and ``computed_at``, the time that they describe."""
        with self._lock:  # two designers share one computation
            kept = self._kept
            if kept is not None and 0 <= time.time() - kept["computed_at"] <= _KEEP:
                return kept
            if self._coming is None:
                self._coming = self._submitted(_overview, self.agreement)
            coming = self._coming
        try:
            found = coming.result(None if kept is None else _PATIENCE)
        except TimeoutError:
            if kept is None:  # the computation itself timed out
                raise
            return kept
        except BaseException:
            self._keep(coming, kept)
            raise
        self._keep(coming, found)
        return found

    def _keep(self, coming: Future[dict[str, Any]], found: dict[str, Any] | None) -> None:
        with self._lock:
            if self._coming is coming:
                self._kept, self._coming = found, None

    def table(self, name: str, ending: str) -> bytes | None:
        """Return a table as the bytes of a file, or None when there is no such table."""
        if name not in _TABLES or ending not in ("csv", "parquet") or (ending == "parquet" and name != "ratings"):
            return None
        found: bytes = self._submitted(_file, name, ending, self.plan_hash).result()
        return found

    def close(self) -> None:
        """Stop the process, if there is one."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def _submitted(self, compute: Callable[..., Any], *given: Any) -> Future[Any]:
        with reading(self.engine) as connection:
            small = connection.execute(_COUNT).scalar_one() <= SMALL
        if small:
            done: Future[Any] = Future()
            done.set_result(compute(self.study, self.engine, *given))
            return done
        try:
            return self._processes().submit(_in_process, compute, *given)
        except BrokenProcessPool:  # one was killed, for example for its memory: begin again
            self._pool = None
            return self._processes().submit(_in_process, compute, *given)

    def _processes(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = get_context("spawn")
            self._pool = ProcessPoolExecutor(_WORKERS, context, initializer=_start, initargs=(self.study, self.url))
        return self._pool


@lru_cache(maxsize=1)
def _process() -> dict[str, Any]:
    return {}


def _start(study: StudyPlan, url: str) -> None:
    """Prepare the process: it ends with the server, and gives way to it."""
    end_with_parent()
    with contextlib.suppress(OSError, AttributeError):
        os.nice(19)
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # Linux: only what the raters leave
    _process().update(study=study, engine=open_engine(url))


def _in_process(compute: Callable[..., Any], *given: Any) -> Any:
    return compute(_process()["study"], _process()["engine"], *given)


def _overview(study: StudyPlan, engine: sa.Engine, agreement: Agreement | None) -> dict[str, Any]:
    now = time.time()
    data = read_collected(engine, study)
    rows = [{str(key): value for key, value in row.items()} for row in rater_table(data).to_dict("records")]
    found: dict[str, Any] = {"progress": progress(data), "raters": rows, "agreement": [], "computed_at": now}
    if agreement is not None:
        with contextlib.suppress(LikewiseError):  # too few responses yet
            found["agreement"] = [dict(row) for row in agreement(study, ratings(data))]
    return found


def _file(study: StudyPlan, engine: sa.Engine, name: str, ending: str, plan_hash: str) -> bytes:
    frame = _TABLES[name](read_collected(engine, study))
    if ending == "csv":
        text: str = frame.to_csv(index=False, lineterminator="\n")
        return text.encode()
    import pyarrow as pa  # noqa: PLC0415  # only this table needs it
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pa.Table.from_pandas(frame, preserve_index=False)
    table = table.replace_schema_metadata({b"likewise": json.dumps({"study": plan_hash}).encode()})
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()
