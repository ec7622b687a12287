"""Settings of the machine for networks on a CPU, set before the work; the allocator's were chosen by measurement.

The measurement is ``benchmarks/networks.py allocator``. glibc gives large blocks back to the system when they are freed
and asks for them, zeroed, a moment later: for a network's features that doubles the time. Told to keep what it has, it
does not. Workers share the cores evenly, because more threads than cores slow each other down. What the user has set in
the environment stays as it is.
"""

from __future__ import annotations

import ctypes
import os
import sys

from likewise.engine import Engine

KEEP = 2**31 - 1
"""Bytes: blocks below this are kept for reuse. It is the most that mallopt can be told."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of <malloc.h>
_VARIABLES = {"MALLOC_MMAP_THRESHOLD_": str(KEEP), "MALLOC_TRIM_THRESHOLD_": str(KEEP)}


def tune(engine: Engine) -> dict[str, str]:
    """Set up this process, and by its environment those it starts; return what was set for them."""
    chosen = {} if any(name in os.environ for name in _VARIABLES) else dict(_VARIABLES)
    if chosen and sys.platform == "linux":
        keep_freed_memory()
    if engine.kind == "processes" and not os.environ.get("OMP_NUM_THREADS"):  # empty would be a thread a core in each
        chosen["OMP_NUM_THREADS"] = str(max(1, _cores() // engine.workers))
    os.environ.update(chosen)
    return chosen


def keep_freed_memory() -> bool:
    """Tell this process's allocator to keep what is freed; False where there is no such switch (not glibc)."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return bool(mallopt(_MMAP_THRESHOLD, KEEP)) and bool(mallopt(_TRIM_THRESHOLD, KEEP))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
