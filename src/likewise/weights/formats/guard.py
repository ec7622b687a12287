"""The outer guard of every reader: whatever a damaged or hostile file provokes ends in one error message."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from likewise.errors import UnsafeFileError, WeightsError

_PROVOKED = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, ArithmeticError, AssertionError,
    RecursionError, EOFError, NotImplementedError, StopIteration, struct.error, zlib.error, zipfile.BadZipFile,
)  # fmt: skip


@contextmanager
def guarded(name: str) -> Iterator[None]:
    """Turn what reading or converting the file ``name`` raises into a message; our own errors gain its name."""
    try:
        yield
    except WeightsError as error:
        if name not in str(error):
            error.args = (f"{name}: {error}",)
        raise
    except MemoryError as error:
        fix = "Use a machine with more memory, if the file comes from a source that you trust."
        raise UnsafeFileError(f"Reading {name} takes more memory than there is", fix=fix) from error
    except _PROVOKED as error:
        fix = "It is damaged, or not of the layout that it resembles; get it again."
        raise WeightsError(f"{name} cannot be read: {type(error).__name__}", fix=fix) from error
