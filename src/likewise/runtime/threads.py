"""Parallel batches in threads: one thread a core, and each network on one thread.

A small network is computed in steps of well under a millisecond. Two threads inside such a step mostly wait for each
other; two concurrent batches do not. ``benchmarks/networks.py embedding`` and ``threads`` measure both. The runtimes
and the image decoders release Python's lock while they work.

The batches do not depend on the number of threads, and neither do the results.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

from likewise.runtime.registry import Pictures

Item = TypeVar("Item")
Result = TypeVar("Result")
_local = threading.local()


def cores() -> int:
    """Return the number of threads this process may use: OMP_NUM_THREADS where it is set, or one a core."""
    given = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_batches(work: Callable[[Pictures], Result], pictures: Pictures, size: int) -> list[Result]:
    """Apply ``work`` to batches of ``size`` pictures in parallel; return the results in order."""
    return parallel_map(work, [pictures[start : start + size] for start in range(0, len(pictures), size)])


def parallel_map(work: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Apply ``work`` to each item in parallel threads; return the results in order.

    With one item or one thread, and inside another ``parallel_map``, the work runs in the calling thread.

    Examples
    --------
    >>> parallel_map(len, ["a", "bb", "ccc"])
    [1, 2, 3]
    """
    waiting, count = list(items), cores()
    if count == 1 or len(waiting) < 2 or getattr(_local, "worker", False):
        return [work(item) for item in waiting]
    if "torch" in sys.modules:
        sys.modules["torch"].get_num_threads()  # fixes this thread's number before the others set theirs
    return list(_pool(count).map(lambda item: _one_thread(work, item), waiting))


side_by_side = parallel_map  # former name


@lru_cache(maxsize=1)
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="batches")


def _one_thread(work: Callable[[Item], Result], item: Item) -> Result:
    """Run in a thread of the pool, in which torch starts no threads of its own."""
    _local.worker = True
    if "torch" in sys.modules and not getattr(_local, "torch", False):
        sys.modules["torch"].set_num_threads(1)
        _local.torch = True
    return work(item)
