"""Check: everything that a preflight found, and the problems that a run would fail by."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from likewise.errors import InputError, LikewiseError, WeightsError


@dataclass(frozen=True)
class Problem:
    """What is wrong and where, what to do, and the error that a run would raise."""

    text: str
    fix: str = ""
    error: type[LikewiseError] = InputError

    def __str__(self) -> str:
        stop = "" if self.text.endswith((".", "?", "!")) else "."
        return f"{self.text}{stop} {self.fix}".strip()


@dataclass
class Check:
    """What a check found."""

    title: str
    stages: list[str]
    groups: list[dict[str, Any]] = field(default_factory=list)
    images: dict[str, Any] = field(default_factory=dict)
    components: list[dict[str, str]] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    weights: list[str] = field(default_factory=list)
    """Weights that are needed and missing."""
    costs: list[str] = field(default_factory=list)
    times: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def problem(self, text: str, fix: str = "", *, kind: type[LikewiseError] = InputError) -> None:
        """Add a problem; the same one is listed once."""
        found = Problem(text, fix, kind)
        if found not in self.problems:
            self.problems.append(found)

    def add(self, error: LikewiseError, where: str = "") -> None:
        """Add an error as a problem."""
        self.problem(f"{where}: {error}" if where else str(error), kind=type(error))

    @property
    def ready(self) -> bool:
        """Whether a run would find everything that it needs."""
        return not self.problems

    def raise_problems(self) -> None:
        """Raise all problems as one error; its class is that of the problems, where they have one in common."""
        if not self.problems:
            return
        kinds = {problem.error for problem in self.problems}
        kind = kinds.pop() if len(kinds) == 1 else InputError
        if len(self.problems) == 1:
            raise kind(str(self.problems[0]))
        lines = "\n  ".join(str(problem) for problem in self.problems)
        raise kind(f"{len(self.problems)} problems:\n  {lines}")

    def plain(self) -> dict[str, Any]:
        """Return everything for machines."""
        plain = asdict(self)
        return {**plain, "problems": [{"problem": each.text, "fix": each.fix} for each in self.problems]}

    def __str__(self) -> str:
        if self.ready:
            return f"{self.title}: ready ({' > '.join(self.stages)})"
        return "\n".join([f"{self.title}: a run would fail", *(f"  {problem}" for problem in self.problems)])


def missing_weight(found: Check, names: list[str], folder: str) -> None:
    """Add the weights that are missing as one problem, with the one command that fetches them."""
    if names:
        found.weights = sorted({*found.weights, *names})
        text = f"Weights not fetched: {', '.join(found.weights)}"
        found.problem(text, f"Fetch them with: likewise weights fetch --for {folder}", kind=WeightsError)
