"""Study: who is asked what about which pictures, how often, and by which rules answers count."""

from __future__ import annotations

from dataclasses import dataclass

from likewise.study.parts import Parts
from likewise.study.rules import check_study


@dataclass(frozen=True, kw_only=True)
class Study(Parts):
    """The plan of a crowd study. Its file is study.toml (``likewise.study.reading.read_study``).

    The constructor is the checker, so a Study that exists can be run: every unit can get its quota from different
    raters, every gold and training item has its answer, and every picture is there.
    """

    def __post_init__(self) -> None:
        check_study(self)

    def __str__(self) -> str:
        gold, attention = self.gold.per_rater, self.attention.per_rater
        return "\n".join(
            [
                f"Study: {self.title(self.languages[0])} ({self.kind})",
                f"  {len(self.units)} units x {self.raters_per_unit} raters = {self.answers} answers",
                f"  {self.raters} raters expected, {self.tasks_per_rater} units each at most",
                f"  training: {len(self.training.items)} items, {self.training.qualify:.0%} to qualify",
                f"  controls for each rater: {gold} gold, {attention} attention; arms: {len(self.arms) or 1}",
                f"  questions: {', '.join(question.name for question in self.questions)}; seed {self.seed}",
            ]
        )
