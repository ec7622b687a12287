"""Work in batches, on every core: a thread a core, and each network on one thread.

A small network is computed in steps of well under a millisecond. Two threads inside such a step mostly wait for one
another; two batches side by side do not. ``benchmarks/networks.py embedding`` and ``threads`` measure both. The
runtimes and the decoders of pictures let go of Python's lock while they work.

The batches are the same for every number of threads, and so are the results.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

from likewise.plugins import Pictures

Item = TypeVar("Item")
Result = TypeVar("Result")
_local = threading.local()


def cores() -> int:
    """Say how many threads this process may use: OMP_NUM_THREADS where it is set, or a thread a core."""
    given = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_batches(work: Callable[[Pictures], Result], pictures: Pictures, size: int) -> list[Result]:
    """Return the result of ``work`` on each run of ``size`` pictures, in order."""
    return side_by_side(work, [pictures[start : start + size] for start in range(0, len(pictures), size)])


def side_by_side(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return the result of ``work`` on each item, in order; here when there is one, or one thread for all."""
    waiting, count = list(items), cores()
    if count == 1 or len(waiting) < 2 or getattr(_local, "worker", False):
        return [work(item) for item in waiting]
    if "torch" in sys.modules:
        sys.modules["torch"].get_num_threads()  # so that this thread keeps its number when the others set theirs
    return list(_pool(count).map(lambda item: _alone(work, item), waiting))


@lru_cache(maxsize=1)
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="batches")


def _alone(work: Callable[[Item], Result], item: Item) -> Result:
    """Work in a thread of the pool, in which torch starts no threads of its own."""
    _local.worker = True
    if "torch" in sys.modules and not getattr(_local, "torch", False):
        sys.modules["torch"].set_num_threads(1)
        _local.torch = True
    return work(item)
