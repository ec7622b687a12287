"""The figures of the designer's page and the exports: computed beside the raters' requests, never in their way.

What is fetched is fetched in one short read. A large study is read and computed in other processes, at low
priority, so that the server's own process stays free for responses. Figures are kept for a few seconds.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
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
    _kept: dict[str, tuple[float, Any]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pool: ProcessPoolExecutor | None = None

    def overview(self) -> dict[str, Any]:
        """Return progress, raters and agreement, at most a few seconds old."""
        with self._lock:  # two designers share one computation
            kept = self._kept.get("overview")
            if kept is None or time.monotonic() - kept[0] > _KEEP:
                kept = (time.monotonic(), self._computed(_overview, self.agreement))
                self._kept["overview"] = kept
        found: dict[str, Any] = kept[1]
        return found

    def table(self, name: str, ending: str) -> bytes | None:
        """Return a table as the bytes of a file, or None when there is no such table."""
        if name not in _TABLES or ending not in ("csv", "parquet") or (ending == "parquet" and name != "ratings"):
            return None
        found: bytes = self._computed(_file, name, ending, self.plan_hash)
        return found

    def close(self) -> None:
        """Stop the process, if there is one."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def _computed(self, compute: Callable[..., Any], *given: Any) -> Any:
        with reading(self.engine) as connection:
            small = connection.execute(_COUNT).scalar_one() <= SMALL
        if small:
            return compute(self.study, self.engine, *given)
        if self._pool is None:
            context = get_context("spawn")
            self._pool = ProcessPoolExecutor(_WORKERS, context, initializer=_start, initargs=(self.study, self.url))
        return self._pool.submit(_in_process, compute, *given).result()


@lru_cache(maxsize=1)
def _process() -> dict[str, Any]:
    return {}


def _start(study: StudyPlan, url: str) -> None:
    """Prepare the process: it ends with the server, and gives way to it."""
    end_with_parent()
    with contextlib.suppress(OSError):
        os.nice(5)
    _process().update(study=study, engine=open_engine(url))


def _in_process(compute: Callable[..., Any], *given: Any) -> Any:
    return compute(_process()["study"], _process()["engine"], *given)


def _overview(study: StudyPlan, engine: sa.Engine, agreement: Agreement | None) -> dict[str, Any]:
    data = read_collected(engine, study)
    rows = [{str(key): value for key, value in row.items()} for row in rater_table(data).to_dict("records")]
    found: dict[str, Any] = {"progress": progress(data), "raters": rows, "agreement": []}
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
