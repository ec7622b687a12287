"""CPU settings for neural networks: memory allocator, threads per worker, and how idle threads wait.

The allocator settings were measured with ``benchmarks/networks.py allocator``. glibc returns large freed blocks to the
system and requests them again, zeroed, a moment later: for a network's features that doubles the time. With a high
threshold it keeps them. Workers share the cores evenly, because more threads than cores slow each other down. Variables
that the user has set are not changed.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the command line calls this module before anything else, also for --help
    from likewise.runtime.executor import Executor

KEEP = 2**31 - 1
"""Bytes: smaller blocks are kept for reuse. The largest value that mallopt accepts."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of <malloc.h>
_VARIABLES = {"MALLOC_MMAP_THRESHOLD_": str(KEEP), "MALLOC_TRIM_THRESHOLD_": str(KEEP)}
_WAIT = "OMP_WAIT_POLICY"
_OPENMP_USERS = ("torch", "sklearn", "dlib")  # once one is loaded, OpenMP has read its settings


def configure_cpu(executor: Executor) -> dict[str, str]:
    """Configure this process, and through its environment the ones it starts; return the variables that were set.

    Examples
    --------
    >>> from likewise.runtime.executor import Executor
    >>> changed = configure_cpu(Executor())
    """
    chosen = {} if any(name in os.environ for name in _VARIABLES) else dict(_VARIABLES)
    if chosen and sys.platform == "linux":
        keep_freed_memory()
    starts_processes = executor.kind == "processes"
    if _WAIT not in os.environ and (starts_processes or not _openmp_loaded()):
        chosen[_WAIT] = "PASSIVE"
    if starts_processes and not os.environ.get("OMP_NUM_THREADS"):  # empty would mean all cores in each process
        chosen["OMP_NUM_THREADS"] = str(max(1, _cores() // executor.workers))
    os.environ.update(chosen)
    return chosen


tune = configure_cpu  # former name


def let_idle_threads_sleep() -> bool:
    """Make OpenMP threads sleep while they wait; False if it is too late or the user has chosen.

    They spin by default and take the cores from others: on a busy machine that multiplies the CPU seconds of the same
    work. OpenMP reads the variable when it is loaded, so this belongs at the start of a program.

    Examples
    --------
    >>> changed = let_idle_threads_sleep()
    """
    if _WAIT in os.environ or _openmp_loaded():
        return False
    os.environ[_WAIT] = "PASSIVE"
    return True


def _openmp_loaded() -> bool:
    return any(name in sys.modules for name in _OPENMP_USERS)


def keep_freed_memory() -> bool:
    """Make the allocator of this process keep freed memory; False where that is not possible (not glibc)."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return bool(mallopt(_MMAP_THRESHOLD, KEEP)) and bool(mallopt(_TRIM_THRESHOLD, KEEP))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
