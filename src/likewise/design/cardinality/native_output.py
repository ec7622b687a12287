"""Lines that compiled libraries print to the standard output by themselves, past Python's sys.stdout.

HiGHS prints a line of its own in branch and bound, whatever its options say. It would stand in the middle of what a
command prints, and break ``--json``. So the file descriptor is redirected to a temporary file for the call; everything
in it but the unwanted lines is written where it belonged, so that what another thread prints meanwhile is not lost.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from tempfile import TemporaryFile
from threading import RLock

_STDOUT = 1
_one_at_a_time = RLock()  # the descriptor belongs to the whole process


@contextmanager
def without_lines(prefix: bytes) -> Iterator[None]:
    """Remove the lines that begin with ``prefix`` from what is printed to file descriptor 1 meanwhile.

    Examples
    --------
    >>> from likewise.design.cardinality.native_output import without_lines
    >>> with without_lines(b"Highs"):
    ...     pass
    """
    with _one_at_a_time, TemporaryFile() as kept:
        _flush()
        try:
            saved = os.dup(_STDOUT)
        except OSError:  # no standard output: nothing to clean
            yield
            return
        os.dup2(kept.fileno(), _STDOUT)
        try:
            yield
        finally:
            _flush()
            os.dup2(saved, _STDOUT)
            os.close(saved)
            _write_others(kept.fileno(), prefix)


def _write_others(descriptor: int, prefix: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(os.dup(descriptor), "rb") as printed:
        others = b"".join(line for line in printed if not line.startswith(prefix))
    while others:
        others = others[os.write(_STDOUT, others) :]


def _flush() -> None:
    """Empty the buffers of Python and of the C library, so that a line goes where it was printed."""
    with suppress(AttributeError, ValueError, OSError):
        sys.stdout.flush()
    with suppress(AttributeError, OSError, TypeError):  # TypeError: CDLL(None) on Windows
        ctypes.CDLL(None).fflush(None)
