"""Everything that likewise raises or warns of, in one tree.

LikewiseError                  exit code 1
├── InputError                 2   something that was given breaks a rule
│   ├── TableError                 rows or columns of a table
│   ├── VectorError                vectors, or vectors for the wrong images
│   ├── ContrastError              a level that does not occur
│   ├── ImageError                 a file that is missing, leaves its folder or does not decode
│   ├── SpecError                  an option that is unknown, contradictory or without effect
│   ├── PlanError                  audit.toml
│   │   └── StudyError             study.toml, or a frozen study that is to be changed
│   ├── PluginError                a slot's occupant that is unknown or breaks its contract
│   └── CostError                  money that nobody agreed to spend
├── StoreError                 3   the audit folder
│   ├── StageError                 a stage that lacks what an earlier one makes
│   ├── VersionError               the folder was made by a newer likewise
│   ├── SpaceError                 no space left, or a quota is reached
│   └── ReadOnlyError              the folder cannot be written to
├── BusyError                  4   another run holds the folder
├── EngineError                5   work that failed after its retries
│   └── ServiceError               a service under audit that fails, or is no longer the same
└── WeightsError               6   pretrained weights: unknown, not fetched, not convertible
    ├── OfflineError               the index cannot be reached
    ├── ChecksumError              bytes that are not the ones that were promised
    ├── ArchiveError               an archive that is damaged, or that reaches out of its folder
    ├── TermsError                 terms that have to be accepted first
    └── UnsafeFileError            a file that would run code, or ask for more memory than it can fill

LikewiseWarning
└── WordingWarning                 a column that does not say whose word it is

A message names the rule, what was got and the way out, in that order.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable


def some(items: Iterable[object], most: int = 5) -> str:
    """Quote a handful of culprits and count the rest: ``'a', 'b' and 12 more``."""
    shown = [repr(str(item)) for item in items]
    rest = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {rest} more" if rest > 0 else "")


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``Did you mean 'x'?`` when a known word is close to this one, else an empty string."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"Did you mean {close[0]!r}?" if close else ""


class LikewiseError(Exception):
    """The root: a rule that was broken, what was got, and the way out."""

    exit_code = 1

    def __init__(self, rule: str, *, got: str = "", fix: str = "") -> None:
        super().__init__(f"{rule}{'; got ' + got if got else ''}.{' ' + fix if fix else ''}")

    def __reduce__(self) -> tuple[Callable[..., LikewiseError], tuple[type[LikewiseError], str]]:
        return _restore, (type(self), str(self))  # so that it survives the way home from a worker process


def _restore(kind: type[LikewiseError], message: str) -> LikewiseError:
    error = kind.__new__(kind)
    error.args = (message,)
    return error


class InputError(LikewiseError, ValueError):
    """Something that was given breaks a rule."""

    exit_code = 2


class TableError(InputError):
    """Rows or columns of a table break its contract."""


class VectorError(InputError):
    """Vectors are not finite, not aligned, or belong to other images."""


class ContrastError(InputError):
    """A contrast names a column or a level that does not occur."""


class ImageError(InputError):
    """An image file is missing, leaves its folder or does not decode."""


class SpecError(InputError):
    """An option is unknown, contradicts another or has no effect here."""


class PlanError(InputError):
    """The plan in audit.toml cannot be read or names something unknown."""


class StudyError(PlanError):
    """The plan of a study breaks a rule; ``where`` leads to the place, so that its line can be named."""

    def __init__(self, rule: str, *, got: str = "", fix: str = "", where: tuple[str | int, ...] = ()) -> None:
        super().__init__(rule, got=got, fix=fix)
        self.rule, self.got, self.fix, self.where = rule, got, fix, where


class PluginError(InputError):
    """A slot has no such occupant, or the occupant breaks the slot's contract."""


class CostError(InputError):
    """A paid service would cost more than was agreed to."""


class StoreError(LikewiseError):
    """The audit folder is not in the state that the command needs."""

    exit_code = 3


class StageError(StoreError):
    """A stage lacks what an earlier stage makes."""


class VersionError(StoreError):
    """The folder was made by a newer version of likewise."""


class SpaceError(StoreError):
    """No space is left where an artefact should go."""


class ReadOnlyError(StoreError):
    """The folder cannot be written to."""


class BusyError(LikewiseError):
    """Another run holds the folder."""

    exit_code = 4


class EngineError(LikewiseError):
    """A chunk of work failed, also after its retries."""

    exit_code = 5


class ServiceError(EngineError):
    """A service under audit fails for good, refuses the key, or has changed its model."""


class WeightsError(LikewiseError):
    """Pretrained weights are unknown, not fetched, or cannot be converted."""

    exit_code = 6


class OfflineError(WeightsError):
    """The index cannot be reached."""


class ChecksumError(WeightsError):
    """The bytes are not the ones that were promised."""


class ArchiveError(WeightsError):
    """An archive is damaged, or reaches out of its folder."""


class TermsError(WeightsError):
    """The terms of a weight have to be accepted first."""


class UnsafeFileError(WeightsError):
    """A file would run code, or asks for more memory than it can fill."""


class LikewiseWarning(UserWarning):
    """The root of the warnings: the result stands, but read this."""


class WordingWarning(LikewiseWarning):
    """A column does not say whose word it is."""
