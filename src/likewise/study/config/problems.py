"""Problems of a study plan: what is wrong, where it stands, what to do; all of them in one error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from likewise.errors import LikewiseError, StudyError

Where = tuple[str | int, ...]
_MOST = 12  # problems that one message lists


@dataclass(frozen=True)
class Problem:
    """One problem; ``where`` is the path of the key in study.toml, e.g. ``("gold", "item", 2)``."""

    text: str
    fix: str = ""
    where: Where = ()

    def line(self, place: str = "") -> str:
        """Return the problem as one line, with the file and line it stands in."""
        text = f"{self.text}{f' ({place})' if place else ''}."
        return f"{text} {self.fix}".strip()


class StudyProblemsError(StudyError):
    """A plan with problems that are known by their place in the plan."""

    def __init__(self, problems: Sequence[Problem], place: Callable[[Where], str] = lambda where: "") -> None:
        self.problems = tuple(problems)
        super().__init__(_message([problem.line(place(problem.where)) for problem in problems]))


def _message(lines: list[str]) -> str:
    lines = list(dict.fromkeys(lines))
    if len(lines) == 1:
        return lines[0]
    more = f"\n  and {len(lines) - _MOST} more" if len(lines) > _MOST else ""
    return f"{len(lines)} problems in the study plan:\n  " + "\n  ".join(lines[:_MOST]) + more


@dataclass
class Problems:
    """Collects problems, so that one error reports all of them."""

    found: list[Problem] = field(default_factory=list)

    def need(self, good: bool, text: str, *where: str | int, fix: str = "") -> bool:
        """Note a problem unless the condition holds; return whether it holds."""
        if not good:
            self.found.append(Problem(text, fix, where))
        return good

    def stop(self) -> None:
        """Raise what was found so far, if anything."""
        if self.found:
            raise StudyProblemsError(self.found)


def fail(text: str, *where: str | int, fix: str = "") -> StudyProblemsError:
    """Return the error for a single problem."""
    return StudyProblemsError([Problem(text, fix, where)])


def placed(where: Where, error: LikewiseError) -> StudyProblemsError:
    """Return an error of another package as a problem at this place."""
    return StudyProblemsError([Problem(str(error).removesuffix("."), "", where)])
