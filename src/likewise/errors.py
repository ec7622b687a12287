"""The exceptions and warnings of likewise, in one tree.

LikewiseError                  exit code 1
├── InputError                 2   invalid input
│   ├── TableError                 rows or columns of a table
│   ├── VectorError                embeddings or latents
│   ├── ContrastError              a column or a factor level that does not occur
│   ├── ImageError                 an image file that is missing, outside its folder or not decodable
│   ├── SpecError                  an option that is unknown, contradictory or without effect
│   │   └── SeparatedError         a number tells the groups apart exactly: nothing is balanced in it
│   ├── PlanError                  audit.toml
│   │   └── StudyError             study.toml, or a change to a frozen study
│   │       └── StudyProblemsError several problems of one study.toml
│   ├── PluginError                a component that is unknown, not loadable or breaks its contract
│   └── CostError                  costs of a paid service that were not approved
├── StoreError                 3   state of the audit folder
│   ├── StageError                 an artifact of an earlier stage is missing
│   ├── VersionError               a folder or file that a newer version of likewise wrote
│   ├── SpaceError                 disk full, or quota exceeded
│   └── ReadOnlyError              no permission to write
├── BusyError                  4   another run has locked the folder
├── ExecutorError              5   work that failed after all retries
│   └── ServiceError               a service under audit failed or changed its model
├── WeightsError               6   pretrained weights: unknown, not fetched, not convertible
│   ├── WeightFileError            a weight file that is damaged or of an unsupported layout
│   ├── OfflineError               package index unreachable
│   ├── ChecksumError              checksum mismatch
│   ├── ArchiveError               an archive that is damaged or writes outside its folder
│   ├── TermsError                 license terms that must be accepted first
│   └── UnsafeFileError            a file that would run code or exhaust memory
├── GateError                  7   a condition of --fail-if holds, or cannot be decided
└── PdfError                   1   the report could not be printed

LikewiseWarning
└── ColumnNameWarning              an attribute column whose name lacks the source of the label

A message states what is wrong, where, and what to do, in that order::

    Column 'gender' not found in people.csv (columns: 'image', 'perceived_gender'). Did you mean 'perceived_gender'?
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

_LONGEST = 120  # characters of one value that a message quotes
_WORD = re.compile(r"\S{500,}")  # longer than any path or name that is not an attack
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MESSAGE = 20_000


def some(items: Iterable[object], most: int = 5) -> str:
    """Quote the first few items and count the rest.

    Long items are shortened, so that a value from a file cannot fill the screen.

    >>> some(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    shown = [_shortened(str(item)) for item in items]
    rest = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {rest} more" if rest > 0 else "")


def _shortened(text: str) -> str:
    return repr(text if len(text) <= _LONGEST else text[:_LONGEST] + "...")


def _printable(text: str) -> str:
    """Return a message in which nothing from a file fills the screen or controls the terminal."""
    short = _WORD.sub(lambda word: word[0][:_LONGEST] + "...", text)
    short = short if len(short) <= _MESSAGE else short[:_MESSAGE] + "..."
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), short)


def nearest(word: str, known: Iterable[str]) -> str:
    """Suggest the closest known word, or return an empty string.

    >>> nearest("calliper", ["caliper", "exact"])
    "Did you mean 'caliper'?"
    """
    close = difflib.get_close_matches(word[:_LONGEST], list(known), n=1, cutoff=0.5)
    return f"Did you mean {close[0]!r}?" if close else ""


class LikewiseError(Exception):
    """Base class of all errors: what is wrong and where, then what to do.

    Parameters
    ----------
    problem
        What is wrong and where, as one sentence.
    fix
        What to do about it.

    Examples
    --------
    >>> str(TableError("people.csv has no rows", fix="Check that the export finished"))
    'people.csv has no rows. Check that the export finished'
    """

    exit_code = 1
    advice: ClassVar[str] = ""
    """What to do about every error of this kind that names no fix of its own."""

    def __init__(self, problem: str, *, fix: str = "") -> None:
        end = "" if problem.endswith((".", "?", "!")) else "."
        fix = fix or self.advice
        super().__init__(_printable(f"{problem}{end}{' ' + fix if fix else ''}"))

    def __reduce__(self) -> tuple[Callable[..., LikewiseError], tuple[type[LikewiseError], str]]:
        return _restore, (type(self), str(self))  # worker processes send their errors pickled


def _restore(kind: type[LikewiseError], message: str) -> LikewiseError:
    error = kind.__new__(kind)
    error.args = (message,)
    return error


class InputError(LikewiseError, ValueError):
    """Invalid input: a table, file, option or plan."""

    exit_code = 2


class TableError(InputError):
    """A table lacks a column, or its rows are invalid."""


class VectorError(InputError):
    """Vectors are not finite, not aligned with the images, or missing."""


class ContrastError(InputError):
    """A contrast names a column or a factor level that does not occur."""


class ImageError(InputError):
    """An image file is missing, outside its folder or cannot be decoded."""


class SpecError(InputError):
    """An option is unknown, contradicts another or has no effect."""


class SeparatedError(SpecError):
    """A number tells the groups apart exactly, so that no sample is balanced in it."""


class PlanError(InputError):
    """audit.toml is invalid."""


class StudyError(PlanError):
    """study.toml is invalid, or a frozen study would change."""


class PluginError(InputError):
    """A component is unknown, cannot be loaded or breaks the contract of its kind."""


class CostError(InputError):
    """A paid service would cost more than was approved."""


class StoreError(LikewiseError):
    """The audit folder is not in the state that the command needs."""

    exit_code = 3


class StageError(StoreError):
    """A stage needs an artifact that an earlier stage has not written."""


class VersionError(StoreError):
    """A newer version of likewise wrote this folder or file."""


class SpaceError(StoreError):
    """The disk is full, or a quota is exceeded."""


class ReadOnlyError(StoreError):
    """The folder or file is not writable."""


class BusyError(LikewiseError):
    """Another run has locked the folder."""

    exit_code = 4


class ExecutorError(LikewiseError):
    """A chunk of work failed after all retries."""

    exit_code = 5


class ServiceError(ExecutorError):
    """A service under audit failed permanently, rejected the credentials or changed its model."""


class WeightsError(LikewiseError):
    """Pretrained weights are unknown, not fetched, or cannot be converted."""

    exit_code = 6


class WeightFileError(WeightsError):
    """A weight file is damaged, or its layout is not supported."""

    advice = "Get the file again from its publisher; docs/weights.md lists the layouts that can be read."


class OfflineError(WeightsError):
    """The package index is unreachable."""

    advice = "Try again; with several package indexes, check the settings of pip."


class ChecksumError(WeightsError):
    """A file's checksum differs from the expected one."""


class ArchiveError(WeightsError):
    """An archive is damaged, or writes outside its folder."""

    advice = "Do not unpack it by hand; get the archive again from its publisher."


class TermsError(WeightsError):
    """The license terms of a weight must be accepted first."""


class UnsafeFileError(WeightsError):
    """A file would run code, or declares more data than it contains."""

    advice = "Do not use the file; get it again from its publisher, as safetensors if there is a choice."


class GateError(LikewiseError):
    """A condition of --fail-if holds, or cannot be decided."""

    exit_code = 7


class PdfError(LikewiseError):
    """The report could not be printed."""


class LikewiseWarning(UserWarning):
    """Base class of all warnings: the result is valid, with a caveat."""


class ColumnNameWarning(LikewiseWarning):
    """The name of an attribute column lacks the source of the label (``perceived_``, ``self_``, ...)."""


_RENAMED = {"EngineError": "ExecutorError", "WordingWarning": "ColumnNameWarning"}


if not TYPE_CHECKING:  # a type checker still reports unknown names

    def __getattr__(name: str) -> Any:
        """Return a renamed class under its old name, with a deprecation warning; removed in the next release."""
        if name not in _RENAMED:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        warnings.warn(f"likewise.errors.{name} is now {_RENAMED[name]}", DeprecationWarning, stacklevel=2)
        return globals()[_RENAMED[name]]
