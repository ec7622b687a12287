"""The last border: every error becomes one line and an exit code; an unexpected one also a log file."""

from __future__ import annotations

import datetime
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from likewise import __version__
from likewise.errors import LikewiseError

LOG = "likewise.log"
INTERNAL, INTERRUPTED = 70, 130
_MEMORY = (
    "Out of memory. Lower chunk in [executor] or use fewer workers, set device or batch in the component's options, or "
    "use smaller images."
)


def failure(error: BaseException, arguments: Sequence[str]) -> tuple[str, str, int]:
    """Return the kind, the message and the exit code of an error."""
    if isinstance(error, click.Abort) and isinstance(error.__context__, EOFError):
        return (
            "Aborted",
            "The input ended before all questions were answered. Give the answers as options.",
            INTERRUPTED,
        )
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "Interrupted", "interrupted; finished work is kept, and the same command resumes.", INTERRUPTED
    if isinstance(error, LikewiseError):
        return type(error).__name__, str(error), error.exit_code
    if out_of_memory(error):
        return "MemoryError", _MEMORY, 5
    log = _log(error, arguments)
    where = f" Details: {log}." if log else " Show the traceback with: likewise --debug ..."
    what = " ".join(str(error).split())[:300]
    return type(error).__name__, f"internal error: {type(error).__name__}: {what}.{where}", INTERNAL


def out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out: of this process, or of a GPU."""
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"


def _log(error: BaseException, arguments: Sequence[str]) -> Path | None:
    """Append the traceback to the log of the audit folder, or of the current folder; None where that fails."""
    named = [Path(argument) for argument in arguments if not argument.startswith("-")]
    folder = next((path for path in named if (path / "audit.toml").is_file()), Path())
    path = folder / LOG
    now = datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds")
    text = "".join(traceback.format_exception(error))
    try:
        with path.open("a", encoding="utf-8") as log:
            log.write(f"{now} likewise {__version__}\n{text}\n")
    except OSError:
        return None
    return path
