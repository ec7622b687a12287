"""Study: a validated plan of a human study."""

from __future__ import annotations

from dataclasses import dataclass

from likewise.study.config.sections import StudyPlan
from likewise.study.config.validate import check_study
from likewise.tables.field_docs import documented


@documented
@dataclass(frozen=True, kw_only=True)
class Study(StudyPlan):
    """The plan of a human study. Its file is study.toml (``likewise.study.config.load.read_study``).

    The constructor validates, so a Study that exists can be served: every unit can reach its quota with different
    raters, every gold and training item has its correct answer, and every image file can be read.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from likewise.cli.study.example import make_example
    >>> from likewise.study.config.load import read_study
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = make_example(folder, "skin-tone")  # or: likewise study init DIR --kind skin-tone
    >>> study = read_study(folder / "study.toml")
    >>> print(study.kind, study.raters_per_unit)
    skin-tone 3
    """

    def __post_init__(self) -> None:
        check_study(self)

    def __str__(self) -> str:
        gold, attention = self.gold.per_rater, self.attention.per_rater
        return "\n".join(
            [
                f"Study: {self.title(self.languages[0])} ({self.kind})",
                f"  {len(self.units)} units x {self.raters_per_unit} raters = {self.responses} responses",
                f"  {self.raters} raters expected, {self.tasks_per_rater} units each at most",
                f"  training: {len(self.training.items)} items, {self.training.qualify:.0%} to qualify",
                f"  controls for each rater: {gold} gold, {attention} attention; arms: {len(self.arms) or 1}",
                f"  questions: {', '.join(question.name for question in self.questions)}; seed {self.seed}",
            ]
        )
