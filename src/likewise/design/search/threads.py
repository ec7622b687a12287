"""Doing blocks of work side by side on the threads of this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits

from likewise.design.search.points import Index

_Done = TypeVar("_Done")


def threaded(work: Callable[[Index], _Done], runs: Iterable[Index], threads: int) -> Iterator[tuple[Index, _Done]]:
    """Do the work for every run, in order, with one BLAS thread to each of our own."""
    runs = list(runs)
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        for start in range(0, len(runs), threads):  # a few at a time, so that results never pile up
            part = runs[start : start + threads]
            yield from zip(part, pool.map(work, part), strict=True)


def usable_threads() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
